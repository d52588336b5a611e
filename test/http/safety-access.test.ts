// Who may come in, and which role each endpoint needs.
import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import OpenAI, { AzureOpenAI } from "openai";
import type { Role } from "../../src/contracts/access.ts";
import { parseDomainInput } from "../kinds.ts";
import { ask, type Reply } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

const ADMIN_KEY = "5d0f3a9c1be84772a6f1c0d98e3b7a42";

describe("who may come in", () => {
  let served: Served;
  const keys: Record<Role, string> = { read: "", operate: "", admin: "" };
  before(async () => {
    served = await serveScripted({ settings: { RATE_LIMIT_PER_SECOND: "0" } });
    await served.app.domains.create(parseDomainInput({ domain_id: "DEMO", name: "Demo" }));
    for (const role of ["admin", "operate", "read"] as const) {
      keys[role] = (await served.app.access.keys.create({ name: `the ${role}`, role, expiresAt: "" })).key;
    }
  });
  after(() => served.close());

  const by = (role: Role): { headers: Record<string, string> } => ({
    headers: { authorization: `Bearer ${keys[role]}` },
  });

  const CLOSED = [
    "GET /v2",
    "GET /openapi.json",
    "GET /v2/domains",
    "GET /v2/domains?format=json",
    "GET /v2/jobs?format=json",
    "GET /v2/nothing",
    "POST /v2/domains/create",
    "GET /query2?query=x",
    "POST /query",
    "GET /describe2",
    "POST /describe",
    "GET /openai/v1/files",
    "POST /openai/v1/files",
    "GET /openai/models",
    "GET /v2/keys?format=json",
    "GET /v2/audit?format=json",
  ];
  for (const what of CLOSED) {
    it(`strangers get 401 in the words of the address: ${what}`, async () => {
      for (const headers of [{}, { authorization: "Bearer lk_0123456789ab_wrong" }] as Record<string, string>[]) {
        const { status, json, headers: given, text } = await ask(served.url, what, { headers });
        assert.equal(status, 401);
        assert.match(given.get("www-authenticate") ?? "", /^Bearer realm="lockstep"/);
        if (what.includes("/openai")) assert.equal(json["error"]?.["code"], "invalid_api_key");
        else if (/\/(query|describe)/.test(what)) assert.deepEqual(Object.keys(json), ["error"]);
        else assert.deepEqual([json["ok"], json["data"]], [false, {}]);
        assert.doesNotMatch(text, /lk_0123456789ab_wrong/);
      }
    });
  }

  it("health and assets are open, and health tells strangers nothing more", async () => {
    assert.deepEqual((await ask(served.url, "GET /health")).json, { ok: true });
    assert.equal((await ask(served.url, "GET /health", by("read"))).json["backend"], "embedded");
    assert.equal((await ask(served.url, "GET /assets/lockstep.css")).status, 200);
  });

  it("pages lead people to the sign-in page, and back", async () => {
    const html = { accept: "text/html,application/xhtml+xml" };
    const cases = [
      ["GET /", {}, "/sign-in"],
      ["GET /?query=x", {}, "/sign-in?next=%2F%3Fquery%3Dx"],
      ["GET /v2/jobs?format=html", {}, "/sign-in?next=%2Fv2%2Fjobs%3Fformat%3Dhtml"],
      ["GET /v2/domains", html, "/sign-in?next=%2Fv2%2Fdomains"],
    ] as const;
    for (const [what, headers, location] of cases) {
      const reply = await ask(served.url, what, { headers });
      assert.deepEqual([reply.status, reply.headers.get("location")], [303, location], what);
    }
    assert.equal((await ask(served.url, "POST /v2/domains/create", { headers: html })).status, 401);
  });

  const NEEDED: readonly [what: string, role: Role][] = [
    ["GET /v2/domains?format=json", "read"],
    ["GET /query2?query=x", "read"],
    ["GET /v2/crawler/crawl?domain_id=DEMO&dry_run=true", "operate"],
    ["GET /v2/domains/delete?domain_id=DEMO&dry_run=true", "admin"],
    ["GET /v2/domains/check_source?source_type=web_sources&start_urls=https://x.example/", "operate"],
    ["GET /v2/jobs/delete?job_id=jb_1&dry_run=true", "admin"],
    ["DELETE /v2/jobs/delete?job_id=jb_1", "admin"],
    ["DELETE /v2/reports/delete?report_id=crawls/2026-01-15_14-25-00_DEMO_all_full", "admin"],
    ["POST /openai/v1/files", "operate"],
    ["DELETE /openai/v1/files/file-1", "admin"],
    ["GET /v2/keys?format=json", "admin"],
    ["GET /v2/audit?format=json", "admin"],
  ];
  for (const [what, needed] of NEEDED) {
    it(`${what} needs ${needed}`, async () => {
      const ranks: Role[] = ["read", "operate", "admin"];
      for (const role of ranks) {
        const { status, text } = await ask(served.url, what, by(role));
        const enough = ranks.indexOf(role) >= ranks.indexOf(needed);
        assert.equal(status === 403, !enough, `${role}: ${status} ${text}`);
        if (!enough) assert.match(text, new RegExp(`needs the role '${needed}'; 'the ${role}' has '${role}'`));
      }
    });
  }

  it("a folder of the machine, and a container, are looked at for administrators alone", async () => {
    const container = "blob_sources&container_url=https://x.blob.core.windows.net/abc&credential=PATH";
    for (const source of ["folder_sources&root=/srv", container]) {
      const look = (role: Role): Promise<Reply> =>
        ask(served.url, `GET /v2/domains/check_source?source_type=${source}`, by(role));
      assert.deepEqual([(await look("operate")).status, (await look("admin")).status], [403, 200], source);
      assert.match((await look("operate")).text, /needs the role 'admin'/);
    }
  });

  it("the official clients of OpenAI and Azure come in with a key of ours", async () => {
    served.script.wire = async (request) =>
      Response.json({ object: "list", data: [{ id: new URL(request.url).pathname }], has_more: false });
    const openai = new OpenAI({ baseURL: `${served.url}/openai/v1`, apiKey: keys.read, maxRetries: 0 });
    assert.equal((await openai.files.list()).data[0]?.id, "/files");
    const azure = new AzureOpenAI({
      baseURL: `${served.url}/openai`,
      apiKey: keys.read,
      apiVersion: "2025-04-01-preview",
      maxRetries: 0,
    });
    assert.equal((await azure.files.list()).data[0]?.id, "/files");
    const stranger = new OpenAI({ baseURL: `${served.url}/openai/v1`, apiKey: "sk-other", maxRetries: 0 });
    await assert.rejects(stranger.files.list(), OpenAI.AuthenticationError);
  });

  it("keys are made and removed over HTTP, shown once, and stop working at once", async () => {
    const wanted = { ...by("admin"), json: { name: "made", role: "read" } };
    const tried = await ask(served.url, "POST /v2/keys/create?dry_run=true", wanted);
    assert.equal(tried.json["data"]?.["key"], "");
    const made = await ask(served.url, "POST /v2/keys/create", wanted);
    assert.equal((await ask(served.url, "POST /v2/keys/create?dry_run=true", wanted)).status, 400);
    const key = String(made.json["data"]?.["key"]);
    assert.match(key, /^lk_[0-9a-f]{12}_[\w-]{43}$/);
    const headers = { "x-api-key": key };
    assert.equal((await ask(served.url, "GET /v2/domains?format=json", { headers })).status, 200);
    const list = await ask(served.url, "GET /v2/keys?format=json", by("admin"));
    assert.doesNotMatch(list.text, new RegExp(key.slice(20)));
    const address = `DELETE /v2/keys/delete?key_id=${made.json["data"]?.["key_id"]}`;
    assert.equal((await ask(served.url, `${address}&dry_run=true`, by("admin"))).json["data"]?.["name"], "made");
    assert.equal((await ask(served.url, "GET /v2/domains?format=json", { headers })).status, 200);
    const gone = await ask(served.url, address, by("admin"));
    assert.equal(gone.status, 200);
    assert.equal((await ask(served.url, "GET /v2/domains?format=json", { headers })).status, 401);
    const refused = await ask(served.url, "POST /v2/keys/create", {
      ...by("admin"),
      json: { name: "x", role: "root" },
    });
    assert.deepEqual(
      [refused.status, refused.json["error"]],
      [400, "'role' must be read or operate or admin; got 'root'."],
    );
    assert.equal(
      (await ask(served.url, "POST /v2/keys/create", { ...by("operate"), json: { name: "x", role: "admin" } })).status,
      403,
    );
  });

  it("a file of keys that cannot be read lets nobody in", async () => {
    const path = join(served.folder, "security", "keys.json");
    const before = await readFile(path);
    await writeFile(path, "{");
    try {
      assert.equal((await ask(served.url, "GET /v2/domains?format=json", by("admin"))).status, 409);
      assert.equal((await ask(served.url, "GET /v2/domains?format=json")).status, 401);
      assert.equal((await ask(served.url, "GET /health")).status, 200);
    } finally {
      await writeFile(path, before);
    }
  });
});

describe("signing in", () => {
  let served: Served;
  let key: string;
  beforeEach(async () => {
    served = await serveScripted({ settings: { BEHIND_PROXY: "true", ADMIN_API_KEY: ADMIN_KEY } });
    await served.app.domains.create(parseDomainInput({ domain_id: "DEMO", name: "Demo" }));
    key = (await served.app.access.keys.create({ name: "ada", role: "admin", expiresAt: "" })).key;
  });
  afterEach(() => served.close());

  const own = (): Record<string, string> => ({ origin: served.url });
  const signIn = (form: Record<string, string>, headers: Record<string, string> = own()): Promise<Reply> =>
    ask(served.url, "POST /sign-in", { form, headers });
  const cookieOf = (reply: Reply): string => (reply.headers.get("set-cookie") ?? "").split(";")[0] ?? "";

  it("asks for a key, and says who sees what", async () => {
    const { status, text, headers } = await ask(served.url, "GET /sign-in");
    assert.equal(status, 200);
    assert.match(text, /Everyone who may query sees everything that was crawled/);
    assert.equal(headers.get("cache-control"), "no-store");
  });

  it("leaves a cookie that only this server gets and no script reads", async () => {
    const reply = await signIn({ key, next: "/v2/domains?format=html" });
    assert.deepEqual([reply.status, reply.headers.get("location")], [303, "/v2/domains?format=html"]);
    const cookie = reply.headers.get("set-cookie") ?? "";
    assert.match(cookie, /^lockstep_session=[\w-]{43}; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict$/);
    const page = await ask(served.url, "GET /", { headers: { cookie: cookieOf(reply) } });
    assert.equal(page.status, 200);
    assert.match(page.text, /Sign out/);
  });

  it("the cookie is Secure when the proxy says that the browser came by https", async () => {
    const reply = await signIn({ key }, { ...own(), "x-forwarded-proto": "https", "x-forwarded-for": "203.0.113.7" });
    assert.match(reply.headers.get("set-cookie") ?? "", /; Secure/);
    const [entry] = (await served.app.audit.list({ limit: 1, offset: 0, filter: "" })).entries;
    assert.deepEqual([entry?.action, entry?.from, entry?.who.name, entry?.ok], ["sign in", "203.0.113.7", "ada", true]);
  });

  const NEXT: readonly [string, string][] = [
    ["/v2/jobs?format=ui", "/v2/jobs?format=ui"],
    ["/v2/jobs/?format=ui", "/v2/jobs/?format=ui"],
    ["https://evil.example/", "/"],
    ["//evil.example/", "/"],
    ["/\\evil.example/", "/"],
    ["/\t/evil.example/", "/"],
    ["\\\\evil.example", "/"],
    ["javascript:alert(1)", "/"],
    ["/v2/../..//evil.example", "/"],
    ["/v2/domains/delete?domain_id=DEMO", "/"],
    ["/v2/jobs/../domains/delete?domain_id=DEMO", "/"],
    ["/v2/crawler/crawl?domain_id=DEMO", "/"],
    ["/sign-out", "/"],
    ["/v2/jobs\r\nset-cookie: x=1", "/"],
    ["", "/"],
  ];
  for (const [next, location] of NEXT) {
    it(`leads only to pages of this server that change nothing: ${JSON.stringify(next)}`, async () => {
      const reply = await signIn({ key, next });
      assert.deepEqual([reply.status, reply.headers.get("location")], [303, location]);
      assert.equal(reply.headers.getSetCookie().length, 1);
    });
  }

  it("a wrong key is told, written down without the key, and not tried without end", async () => {
    const wrong = key.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    const first = await signIn({ key: wrong, next: "/" });
    assert.equal(first.status, 401);
    assert.match(first.text, /This key is not known here/);
    assert.equal(first.headers.get("set-cookie"), null);
    assert.doesNotMatch(first.text, new RegExp(wrong));
    let last = first;
    for (let i = 0; i < 12 && last.status === 401; i++) last = await signIn({ key: wrong });
    assert.equal(last.status, 429);
    assert.ok(Number(last.headers.get("retry-after")) >= 1);
    assert.equal((await signIn({ key })).status, 303, "whoever shares the address is not held up");
    const elsewhere = { ...own(), "x-forwarded-for": "203.0.113.9" };
    assert.equal((await signIn({ key: wrong }, elsewhere)).status, 401, "each address has its own attempts");
    const { entries } = await served.app.audit.list({ limit: 100, offset: 0, filter: "sign in" });
    assert.equal(entries.filter(({ ok, who }) => !ok && who.kind === "stranger").length, 11);
    assert.doesNotMatch(JSON.stringify(entries), /lk_/);
  });

  it("is refused from another site, and from nowhere", async () => {
    const foreign: Record<string, string>[] = [
      { origin: "https://evil.example" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "none" },
      {},
    ];
    for (const headers of foreign) {
      assert.equal((await signIn({ key }, headers)).status, 403, JSON.stringify(headers));
      assert.equal((await ask(served.url, "POST /sign-out", { headers })).status, 403, JSON.stringify(headers));
    }
  });

  it("ends by signing out", async () => {
    const cookie = cookieOf(await signIn({ key }));
    const out = await ask(served.url, "POST /sign-out", { headers: { ...own(), cookie } });
    assert.deepEqual([out.status, out.headers.get("location")], [303, "/sign-in"]);
    assert.match(out.headers.get("set-cookie") ?? "", /^lockstep_session=; Max-Age=0/);
    assert.equal((await ask(served.url, "GET /v2/domains?format=json", { headers: { cookie } })).status, 401);
  });

  it("ends when the key is removed", async () => {
    const cookie = cookieOf(await signIn({ key }));
    await served.app.access.keys.remove("ada");
    assert.equal((await ask(served.url, "GET /v2/domains?format=json", { headers: { cookie } })).status, 401);
  });

  it("what changes something is taken from a signed-in browser only if it says that it comes from here", async () => {
    const cookie = cookieOf(await signIn({ key }));
    const what = "DELETE /v2/domains/delete?domain_id=DEMO&dry_run=true";
    const passes: Record<string, string>[] = [
      { origin: served.url },
      { "sec-fetch-site": "same-origin" },
      { referer: `${served.url}/v2/domains?format=ui` },
    ];
    for (const headers of passes) {
      assert.equal(
        (await ask(served.url, what, { headers: { ...headers, cookie } })).status,
        200,
        JSON.stringify(headers),
      );
    }
    const refused: Record<string, string>[] = [
      {},
      { referer: "https://evil.example/" },
      { referer: `https://evil.example/${served.url}` },
      { authorization: "Basic dTpw" },
      { authorization: "Basic dTpw", referer: "http://evil.example/" },
      { origin: "null" },
      { "sec-fetch-site": "same-site" },
    ];
    for (const headers of refused) {
      assert.equal(
        (await ask(served.url, what, { headers: { ...headers, cookie } })).status,
        403,
        JSON.stringify(headers),
      );
    }
    assert.equal((await ask(served.url, what, { headers: { "x-api-key": key } })).status, 200, "a key needs no cookie");
  });
});

describe("how much somebody may ask", () => {
  it("each key has its own rate, told in the words of the address; whoever needs none has none", async () => {
    const served = await serveScripted({ settings: { RATE_LIMIT_PER_SECOND: "1" } });
    try {
      for (let i = 0; i < 10; i++) assert.equal((await ask(served.url, "GET /v2/domains?format=json")).status, 200);
      const headersOf = async (name: string): Promise<{ headers: Record<string, string> }> => ({
        headers: { "api-key": (await served.app.access.keys.create({ name, role: "admin", expiresAt: "" })).key },
      });
      const [one, two] = [await headersOf("one"), await headersOf("two")];
      const statuses: number[] = [];
      for (let i = 0; i < 4; i++) statuses.push((await ask(served.url, "GET /v2/domains?format=json", one)).status);
      assert.deepEqual(statuses.slice(0, 2), [200, 200]);
      const refused = await untilRefused(() => ask(served.url, "GET /openai/files", one));
      assert.equal(refused.json["error"]?.["code"], "rate_limit_exceeded");
      assert.ok(Number(refused.headers.get("retry-after")) >= 1);
      const plain = await untilRefused(() => ask(served.url, "GET /query2?query=x", one));
      assert.match(String(plain.json["error"]), /^More than 1 requests a second\. Try again in \d+ seconds?\.$/);
      assert.equal((await ask(served.url, "GET /v2/domains?format=json", two)).status, 200);
      assert.equal((await ask(served.url, "GET /health", one)).status, 200);
    } finally {
      await served.close();
    }
  });

  it("an address that keeps failing is slowed, but nobody there who brings what is right", async () => {
    const served = await serveScripted({ settings: { ADMIN_API_KEY: ADMIN_KEY } });
    try {
      const right = { headers: { authorization: `Bearer ${ADMIN_KEY}` } };
      const wrong = { headers: { authorization: "Bearer wrong" } };
      const refused = await untilRefused(() => ask(served.url, "GET /v2/domains?format=json", wrong));
      assert.match(String(refused.json["error"]), /^Too many requests from this address could not be authenticated\./);
      assert.equal((await ask(served.url, "GET /v2/domains?format=json", right)).status, 200);
      const fresh = (await served.app.access.keys.create({ name: "fresh", role: "read", expiresAt: "" })).key;
      const unheard = { headers: { authorization: `Bearer ${fresh}` } };
      assert.equal((await ask(served.url, "GET /v2/domains?format=json", unheard)).status, 200);
    } finally {
      await served.close();
    }
  });

  async function untilRefused(send: () => Promise<Reply>): Promise<Reply> {
    for (let i = 0; i < 200; i++) {
      const reply = await send();
      if (reply.status === 429) return reply;
    }
    return assert.fail("never refused");
  }
});

describe("starting where others can reach it", () => {
  const start = async (settings: Record<string, string>): Promise<void> => (await serveScripted({ settings })).close();

  it("is refused without any key, with the way out", async () => {
    const cases = [
      [{ HOST: "0.0.0.0" }, "HOST is 0.0.0.0"],
      [{ ALLOWED_HOSTS: "kb.example.com" }, "ALLOWED_HOSTS is kb.example.com"],
      [{ BEHIND_PROXY: "true" }, "BEHIND_PROXY is true"],
    ] as const;
    for (const [settings, why] of cases) {
      await assert.rejects(start(settings), ({ message }: Error) => {
        assert.ok(message.includes(`(${why})`), message);
        assert.match(message, /no authentication yet\. Make a key with 'lockstep keys add NAME --role admin'/);
        return true;
      });
    }
  });

  it("is fine with one, or when told in so many words", async () => {
    await start({ HOST: "0.0.0.0", ADMIN_API_KEY: ADMIN_KEY });
    await start({ HOST: "0.0.0.0", ALLOW_UNAUTHENTICATED_NETWORK_ACCESS: "true" });
    await start({ BEHIND_PROXY: "true", ADMIN_API_KEY: ADMIN_KEY });
  });

  it("answers to the names it was told, and to no other", async () => {
    const served = await serveScripted({ settings: { ALLOWED_HOSTS: "kb.example.com", ADMIN_API_KEY: ADMIN_KEY } });
    try {
      const { request } = await import("node:http");
      const status = (host: string): Promise<number> =>
        new Promise((resolve, reject) => {
          const sent = request(`${served.url}/health`, { headers: { host } }, (answer) => {
            answer.resume();
            resolve(answer.statusCode ?? 0);
          });
          sent.on("error", reject).end();
        });
      assert.deepEqual(
        [await status("kb.example.com"), await status("KB.example.com:443"), await status("evil.example")],
        [200, 200, 403],
      );
      await rm(join(served.folder, "security"), { recursive: true, force: true });
    } finally {
      await served.close();
    }
  });
});

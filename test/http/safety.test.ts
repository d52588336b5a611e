// Requests from other sites, wrong hosts and oversized bodies are refused.
import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, describe, it } from "node:test";
import { parseDomainInput } from "../kinds.ts";
import { ask } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

const CHANGING = [
  "GET /v2/crawler/crawl?domain_id=DEMO",
  "GET /v2/crawler/crawl?domain_id=DEMO&dry_run=true&format=stream",
  "GET /v2/jobs/control?job_id=jb_1&action=cancel",
  "GET /v2/jobs/delete?job_id=jb_1",
  "GET /v2/domains/delete?domain_id=DEMO",
  "DELETE /v2/domains/delete?domain_id=DEMO",
  "POST /v2/domains/create",
  "PUT /v2/domains/update?domain_id=DEMO",
  "POST /openai/v1/files",
  "DELETE /openai/files/file-1",
];

const FOREIGN: readonly [title: string, headers: Record<string, string>][] = [
  ["cross-site", { "sec-fetch-site": "cross-site" }],
  ["same-site, another port", { "sec-fetch-site": "same-site" }],
  ["cross-site by a navigation", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }],
  ["another origin, from a browser that says no more", { origin: "https://evil.example" }],
  ["an opaque origin", { origin: "null" }],
  ["prefetch", { "sec-purpose": "prefetch" }],
  ["prerender", { "sec-purpose": "prefetch;prerender", "sec-fetch-site": "none" }],
  ["prefetch, older", { purpose: "prefetch" }],
];

describe("safety", () => {
  let served: Served;
  before(async () => {
    served = await serveScripted();
    await served.app.domains.create(parseDomainInput({ domain_id: "DEMO", name: "Demo" }));
  });
  after(() => served.close());

  for (const [title, headers] of FOREIGN) {
    it(`what changes something is refused: ${title}`, async () => {
      for (const what of CHANGING) {
        const reply = await askRaw(served.url, what, headers);
        assert.equal(reply.status, 403, what);
      }
      assert.deepEqual(await served.app.jobs.list(), []);
      assert.equal((await served.app.domains.list()).domains.length, 1);
    });
  }

  it("what only reads is not", async () => {
    const headers = { "sec-fetch-site": "cross-site" };
    for (const what of ["GET /", "GET /v2/jobs?format=json", "GET /v2/domains/delete", "GET /query2?query=x"]) {
      assert.equal((await askRaw(served.url, what, headers)).status, 200, what);
    }
  });

  it("our own pages, typed addresses and scripts pass", async () => {
    const own: Record<string, string>[] = [
      { "sec-fetch-site": "same-origin" },
      { "sec-fetch-site": "none" },
      { origin: served.url },
      {},
    ];
    for (const headers of own) {
      const reply = await askRaw(served.url, "GET /v2/domains/delete?domain_id=DEMO&dry_run=true", headers);
      assert.equal(reply.status, 200, JSON.stringify(headers));
    }
  });

  const port = 8000;
  const HOSTS: readonly [host: string, status: number][] = [
    ["localhost", 200],
    [`LOCALHOST:${port}`, 200],
    [`127.0.0.1:${port}`, 200],
    [`[::1]:${port}`, 200],
    ["evil.example", 403],
    [`evil.example:${port}`, 403],
    ["localhost.evil.example", 403],
    ["127.0.0.1.evil.example", 403],
    ["evil.example@localhost", 400],
    ["localhost/evil", 400],
  ];
  for (const [host, status] of HOSTS) {
    it(`Host '${host}': ${status}`, async () => {
      for (const path of [
        "/",
        "/health",
        "/v2/domains?format=json",
        "/openai/v1/files",
        "/assets/lockstep.css",
        "/x",
      ]) {
        const reply = await askRaw(served.url, `GET ${path}`, { host });
        assert.equal(reply.status, path === "/x" && status === 200 ? 404 : status, path);
      }
    });
  }

  it("every answer carries the headers that keep text from becoming script", async () => {
    const paths = [
      "/",
      "/v2",
      "/v2/jobs",
      "/v2/jobs?format=html",
      "/v2/nothing",
      "/assets/lockstep.js",
      "/health",
      "/openai/v1/files",
    ];
    for (const path of paths) {
      const { headers } = await ask(served.url, `GET ${path}`);
      const policy = headers.get("content-security-policy") ?? "";
      assert.match(policy, /default-src 'none'/, path);
      assert.match(policy, /script-src 'self'(;|$)/, path);
      assert.match(policy, /style-src 'self'(;|$)/, path);
      assert.equal(headers.get("x-content-type-options"), "nosniff", path);
      assert.equal(headers.get("referrer-policy"), "same-origin", path);
    }
  });

  it("a body over 1 MB is refused, except on its way to /openai", async () => {
    const big = "x".repeat(1024 * 1024 + 1);
    const refused = await ask(served.url, "POST /v2/domains/create", { json: { domain_id: "BIG", name: big } });
    assert.equal(refused.status, 413);
    assert.equal(refused.json["ok"], false);
    const passed = await ask(served.url, "POST /openai/v1/files?x=1", { body: big.repeat(3) });
    assert.deepEqual(passed.json, { method: "POST", path: "/files?x=1", bytes: 3 * big.length });
  });

  it("/openai passes streams through as they come", async () => {
    const firstSeen = Promise.withResolvers<void>();
    served.script.wire = async (incoming) => {
      const chunks: string[] = [];
      for await (const chunk of incoming.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        chunks.push(chunk);
        firstSeen.resolve();
      }
      return new Response(chunks.join(""));
    };
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode("first "));
        await firstSeen.promise;
        controller.enqueue(new TextEncoder().encode("second"));
        controller.close();
      },
    });
    const response = await fetch(`${served.url}/openai/files`, { method: "POST", body, duplex: "half" });
    assert.equal(await response.text(), "first second");
  });

  const PREFIXES = [
    ["/openai/v1/vector_stores/vs_1/search", "/vector_stores/vs_1/search"],
    ["/openai/vector_stores", "/vector_stores"],
    ["/openai/v1x", "/v1x"],
  ] as const;
  for (const [path, expected] of PREFIXES) {
    it(`${path} reaches the backend as ${expected}`, async () => {
      served.script.wire = async (incoming) => new Response(new URL(incoming.url).pathname);
      assert.equal((await ask(served.url, `GET ${path}`)).text, expected);
    });
  }

  it("a failure behind /openai is told in OpenAI's shape, without the reason", async () => {
    served.script.wire = async () => {
      throw new Error("secret internals");
    };
    const { status, json, text } = await ask(served.url, "GET /openai/v1/files");
    assert.equal(status, 500);
    assert.equal(json["error"]?.["type"], "server_error");
    assert.doesNotMatch(text, /secret/);
    assert.ok(served.logged.some((line) => line.includes("secret internals")));
  });
});

/** Sends exactly these headers, Host included, which fetch would not. */
function askRaw(url: string, what: string, headers: Record<string, string>): Promise<{ readonly status: number }> {
  const [method = "GET", path = "/"] = what.split(" ");
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: "127.0.0.1", port, method, path, headers }, (response) => {
      response.resume();
      response.on("end", () => resolve({ status: response.statusCode ?? 0 }));
      response.on("error", reject);
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}

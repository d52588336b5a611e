// The audit log says who changed what; a change that cannot be logged is not made.
import assert from "node:assert/strict";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { AuditRow } from "../../src/contracts/audit.ts";
import { parseDomainInput } from "../kinds.ts";
import { ask } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

describe("the audit log over HTTP", () => {
  let served: Served;
  let admin: { headers: Record<string, string> };
  let reader: { headers: Record<string, string> };
  beforeEach(async () => {
    served = await serveScripted();
    await served.app.domains.create(parseDomainInput({ domain_id: "DEMO", name: "Demo" }));
    const headersOf = async (name: string, role: "read" | "admin"): Promise<{ headers: Record<string, string> }> => ({
      headers: { authorization: `Bearer ${(await served.app.access.keys.create({ name, role, expiresAt: "" })).key}` },
    });
    admin = await headersOf("ada", "admin");
    reader = await headersOf("bob", "read");
  });
  afterEach(() => served.close());

  const entries = async (): Promise<readonly AuditRow[]> =>
    (await served.app.audit.list({ limit: 100, offset: 0, filter: "" })).entries;
  const summary = async (): Promise<unknown[]> =>
    (await entries()).map(({ who, action, ok, error }) => [who.name, action, ok, error]);

  it("says who changed what, and how it went", async () => {
    await ask(served.url, "POST /v2/domains/create", { ...admin, json: { domain_id: "NEW", name: "New" } });
    await ask(served.url, "POST /v2/domains/create", { ...admin, json: { domain_id: "NEW", name: "New" } });
    const [second, first] = await entries();
    assert.deepEqual(
      [first?.who, first?.action, first?.what, first?.ok, first?.from],
      [
        { kind: "key", id: first?.who.id, name: "ada", role: "admin" },
        "POST /v2/domains/create",
        { dry_run: false, domain_id: "NEW", name: "New" },
        true,
        "127.0.0.1",
      ],
    );
    assert.deepEqual([second?.ok, second?.error], [false, "Domain 'NEW' already exists."]);
    const text = await readFile(join(served.folder, "audit", `${new Date().toISOString().slice(0, 7)}.jsonl`), "utf8");
    assert.equal(text.trimEnd().split("\n").length, 4, "each was written down before it was tried, too");
  });

  it("holds jobs, whether they are waited for or watched, and changes over the OpenAI protocol", async () => {
    await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&format=json", admin);
    await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&format=stream", admin);
    await ask(served.url, "DELETE /openai/v1/files/file-1", admin);
    assert.deepEqual((await summary()).reverse(), [
      ["ada", "GET /v2/crawler/crawl", true, ""],
      ["ada", "GET /v2/crawler/crawl", true, ""],
      ["ada", "DELETE /openai/files/file-1", true, ""],
    ]);
  });

  it("tells people in words what was changed over the OpenAI protocol", async () => {
    for (const [call, words] of [
      ["DELETE /openai/v1/files/file-1", "deleted a file"],
      ["POST /openai/v1/vector_stores/vs_1/files", "created a file of a vector store"],
      ["POST /openai/v1/vector_stores/vs_1", "changed a vector store"],
      ["POST /openai/v1/vector_stores/vs_1/file_batches/b_1/cancel", "cancelled a file batch of a vector store"],
    ] as const) {
      await ask(served.url, call, { ...admin, json: {} });
      const { text } = await ask(served.url, "GET /v2/audit?format=ui", admin);
      assert.ok(text.includes(`<bdi>ada</bdi> ${words}`), `${call}: ${/<bdi>ada<\/bdi>[^<]*/.exec(text)?.[0]}`);
    }
  });

  it("holds what was refused to somebody who is known, and nothing of strangers, readers and dry runs", async () => {
    await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO", reader);
    await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&mode=wrong", admin);
    await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO", {
      headers: { ...admin.headers, origin: "https://evil.example" },
    });
    const expected = [
      ["ada", "GET /v2/crawler/crawl", false, "Request refused: it comes from another site."],
      ["ada", "GET /v2/crawler/crawl", false, "'mode' must be full or incremental; got 'wrong'."],
      ["bob", "GET /v2/crawler/crawl", false, "This needs the role 'operate'; 'bob' has 'read'."],
    ];
    assert.deepEqual(await summary(), expected);
    await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO");
    await ask(served.url, "GET /v2/crawler/crawl?domain_id=DEMO&dry_run=true", admin);
    await ask(served.url, "GET /v2/domains?format=json", admin);
    await ask(served.url, "GET /v2/domains/delete", admin);
    assert.deepEqual(await summary(), expected);
  });

  it("says what somebody tried to change who was refused before anything was read", async () => {
    await ask(served.url, "DELETE /v2/domains/delete?domain_id=DEMO&format=json", reader);
    await ask(served.url, `DELETE /v2/keys/delete?key_id=${"x".repeat(2000)}&api_key=hunter2`, reader);
    await ask(served.url, "DELETE /v2/domains/delete?domain_id=DEMO&mode=wrong", admin);
    const whats = (await entries()).map(({ what }) => what);
    assert.deepEqual(whats[0], { domain_id: "DEMO", mode: "wrong" });
    assert.deepEqual(whats[1], { key_id: `${"x".repeat(500)}…`, api_key: "(left out)" });
    assert.deepEqual(whats[2], { domain_id: "DEMO" });
  });

  it("what cannot be written down is not done", async () => {
    await writeFile(join(served.folder, "audit"), "a file where the folder should be");
    const attempts = [
      ["POST /v2/domains/create", { ...admin, json: { domain_id: "NEW", name: "New" } }],
      ["DELETE /v2/domains/delete?domain_id=DEMO", admin],
      ["GET /v2/crawler/crawl?domain_id=DEMO", admin],
      ["GET /v2/crawler/crawl?domain_id=DEMO&format=stream", admin],
      ["POST /v2/keys/create", { ...admin, json: { name: "new", role: "read" } }],
    ] as const;
    for (const [what, init] of attempts) {
      const { status, json } = await ask(served.url, what, init);
      assert.equal(status, 503, what);
      assert.match(String(json["error"]), /^Nothing was changed, because the audit log cannot be written/);
    }
    assert.equal((await ask(served.url, "POST /openai/v1/files", { ...admin, body: "x" })).status, 503);
    assert.deepEqual(
      (await served.app.domains.list()).domains.map(({ domainId }) => domainId),
      ["DEMO"],
    );
    assert.deepEqual(await served.app.jobs.list(), []);
    assert.equal((await served.app.access.keys.list()).length, 2);
    assert.equal((await ask(served.url, "GET /v2/domains?format=json", admin)).status, 200, "reading goes on");
    await rm(join(served.folder, "audit"));
    assert.equal((await ask(served.url, "DELETE /v2/domains/delete?domain_id=DEMO", admin)).status, 200);
  });

  it("a full disk stops changes, but not deletions and signing in, which the server's log then tells", async () => {
    const month = `${new Date().toISOString().slice(0, 7)}.jsonl`;
    await mkdir(join(served.folder, "audit"), { recursive: true });
    // Every write to it is answered as by a disk without room.
    await symlink("/dev/full", join(served.folder, "audit", month));
    const created = { ...admin, json: { domain_id: "NEW", name: "New" } };
    assert.equal((await ask(served.url, "POST /v2/domains/create", created)).status, 503);
    assert.equal((await ask(served.url, "POST /openai/v1/files", { ...admin, body: "x" })).status, 503);
    served.logged.length = 0;
    assert.equal((await ask(served.url, "DELETE /v2/domains/delete?domain_id=DEMO", admin)).status, 200);
    assert.equal((await ask(served.url, "DELETE /openai/v1/files/file-1", admin)).status, 200);
    const key = admin.headers["authorization"]?.replace("Bearer ", "") ?? "";
    const signIn = await ask(served.url, "POST /sign-in", { form: { key }, headers: { origin: served.url } });
    assert.equal(signIn.status, 303);
    const told = served.logged.join("\n");
    for (const action of ["DELETE /v2/domains/delete", "DELETE /openai/files/file-1", "sign in"])
      assert.match(
        told,
        new RegExp(`not in the audit log, because the disk is full: .*"name":"ada".*"action":"${action}"`),
      );
    assert.match(told, /"domain_id":"DEMO"/);
    assert.doesNotMatch(told, new RegExp(key.slice(16, 40)));
  });

  it("is listed for administrators, page by page, in every format", async () => {
    for (const id of ["ONE", "TWO", "THREE"]) {
      const name = `<script>alert("${id}")</script>`;
      await ask(served.url, "POST /v2/domains/create", { ...admin, json: { domain_id: id, name } });
    }
    const page = await ask(served.url, "GET /v2/audit?limit=2", admin);
    assert.deepEqual(
      [page.json["data"]?.["0"]?.["what"]?.["domain_id"], page.json["data"]?.["1"]?.["what"]?.["domain_id"]],
      ["THREE", "TWO"],
    );
    assert.deepEqual(page.json["page"], { offset: 0, limit: 2, more: true });
    const found = await ask(served.url, "GET /v2/audit?filter=one", admin);
    assert.deepEqual([found.json["data"]?.length, found.json["data"]?.["0"]?.["outcome"]], [1, "done"]);
    for (const format of ["html", "ui"]) {
      const { status, type, text } = await ask(served.url, `GET /v2/audit?format=${format}`, admin);
      assert.deepEqual([status, type], [200, "text/html"], format);
      assert.match(text, /&lt;script&gt;alert\(/);
      assert.doesNotMatch(text, /<script>alert/);
    }
    assert.equal((await ask(served.url, "GET /v2/audit?format=json", reader)).status, 403);
  });

  it("never holds a key, however it was sent", async () => {
    const key = admin.headers["authorization"]?.replace("Bearer ", "") ?? "";
    await ask(served.url, "POST /v2/keys/create", { ...admin, json: { name: "made", role: "read" } });
    await ask(served.url, "POST /v2/domains/create", { ...admin, json: { domain_id: "NEW", name: `pasted ${key}` } });
    await ask(served.url, `DELETE /v2/keys/delete?key_id=${key}`, admin);
    await ask(served.url, "POST /sign-in", { form: { key }, headers: { origin: served.url } });
    await ask(served.url, "POST /sign-in", { form: { key: `${key}x` }, headers: { origin: served.url } });
    assert.equal((await entries()).length, 5);
    const text = await readFile(join(served.folder, "audit", `${new Date().toISOString().slice(0, 7)}.jsonl`), "utf8");
    assert.doesNotMatch(text, new RegExp(key.slice(16, 40)));
    assert.doesNotMatch(text, /lk_[0-9a-f]{12}_\w/);
  });
});

// Each call of the wire protocol needs its role, and changes are audited.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import OpenAI, { AuthenticationError, PermissionDeniedError } from "openai";
import type { Role } from "../../src/contracts/access.ts";
import { ask } from "./ask.ts";
import { type Served, serveScripted } from "./scripted-app.ts";

type Case = readonly [route: string, role: Role, audited: boolean];

const CASES: readonly Case[] = [
  ["GET /files/file-1/content", "read", false],
  ["GET /vector_stores", "read", false],
  ["GET /models/gpt-4o", "read", false],
  ["GET /deployments/gpt/models", "read", false],
  ["GET /vector_stores/vs_1/files/file-1/content", "read", false],
  ["GET /responses/resp_1/input_items", "read", false],
  ["GET /organization/admin_api_keys", "admin", false],
  ["GET /fine_tuning/jobs", "admin", false],
  ["GET /containers/c/files/f/content", "admin", false],
  ["GET /batches", "admin", false],
  ["POST /batches", "admin", true],
  ["POST /evals/eval_1/runs", "admin", true],
  ["POST /audio/speech", "operate", true],
  ["GET /models/ft%3Agpt", "operate", false],
  ["GET /threads/t/messages", "operate", false],
  ["GET /files/file-1%2Fcontent", "admin", false],
  ["GET /something/new", "admin", false],
  ["HEAD /something/new", "admin", false],
  ["GET /chat/completions", "admin", false],
  ["GET /chat/completions/chatcmpl_1/messages", "admin", false],
  ["POST /vector_stores/vs_1/search", "read", false],
  ["POST /responses", "read", false],
  ["POST /responses/input_tokens", "read", false],
  ["POST /responses/resp_1/cancel", "operate", true],
  ["POST /chat/completions/chatcmpl_1", "operate", true],
  ["POST /chat/completions", "read", false],
  ["POST /deployments/gpt/chat/completions", "read", false],
  ["POST /completions", "read", false],
  ["POST /embeddings", "read", false],
  ["POST /moderations", "read", false],
  ["POST /deployments/gpt%2Ffiles%3F/chat/completions", "admin", true],
  ["GET /conversations/conv_1/items", "read", false],
  ["POST /conversations", "operate", true],
  ["POST /conversations/conv_1", "operate", true],
  ["POST /conversations/conv_1/items", "operate", true],
  ["DELETE /conversations/conv_1", "admin", true],
  ["POST /files", "operate", true],
  ["POST /uploads/upload_1/parts", "operate", true],
  ["POST /vector_stores", "operate", true],
  ["POST /vector_stores/vs_1/files", "operate", true],
  ["POST /vector_stores/vs_1%2Ffiles%2Ff/search", "admin", true],
  ["POST /assistants", "operate", true],
  ["POST /threads/t/runs", "operate", true],
  ["POST /something/new", "admin", true],
  ["PUT /files/file-1", "operate", true],
  ["DELETE /vector_stores/vs_1/files/file-1", "operate", true],
  ["DELETE /vector_stores/vs_1", "admin", true],
  ["DELETE /files/file-1", "admin", true],
  ["DELETE /responses/resp_1", "admin", true],
];
const ROLES: readonly Role[] = ["read", "operate", "admin"];

describe("who may do what over the wire protocol", () => {
  let at: Served;
  const keys = new Map<Role, string>();
  before(async () => {
    at = await serveScripted({ settings: { RATE_LIMIT_PER_SECOND: "0" } });
    for (const role of ROLES.toReversed()) {
      const { key } = await at.app.access.keys.create({ name: `the ${role} key`, role, expiresAt: "" });
      keys.set(role, key);
    }
  });
  after(() => at.close());

  for (const [route, role, audited] of CASES) {
    test(`${route}: ${role}${audited ? ", and it is written down" : ""}`, async () => {
      const [method, path = ""] = route.split(" ");
      for (const one of ROLES) {
        const before = (await at.app.audit.list({ limit: 1000, offset: 0, filter: "" })).entries.length;
        const headers = { authorization: `Bearer ${keys.get(one)}` };
        const { status } = await ask(at.url, `${method} /openai/v1${path}`, { headers });
        const may = ROLES.indexOf(one) >= ROLES.indexOf(role);
        assert.equal(status, may ? 200 : 403, one);
        const { entries } = await at.app.audit.list({ limit: 1000, offset: 0, filter: "" });
        assert.equal(entries.length - before, audited ? 1 : 0);
        if (!audited) continue;
        const [entry] = entries;
        assert.equal(entry?.action, `${method} /openai${path}`);
        assert.deepEqual([entry?.who.name, entry?.ok, entry?.unfinished], [`the ${one} key`, may, false]);
      }
    });
  }

  test("what the service refuses is written down as refused", async () => {
    at.script.wire = async () => Response.json({ error: { message: "no" } }, { status: 409 });
    const headers = { authorization: `Bearer ${keys.get("admin")}` };
    assert.equal((await ask(at.url, "POST /openai/v1/files", { headers })).status, 409);
    const { entries } = await at.app.audit.list({ limit: 1, offset: 0, filter: "" });
    assert.deepEqual([entries[0]?.ok, entries[0]?.error], [false, "HTTP 409"]);
    at.script.wire = async () => Response.json({});
  });

  test("the official client understands why", async () => {
    const client = (apiKey: string): OpenAI => new OpenAI({ baseURL: `${at.url}/openai/v1`, apiKey, maxRetries: 0 });
    await assert.rejects(client("sk-wrong").models.list(), AuthenticationError);
    await assert.rejects(client(keys.get("read") ?? "").vectorStores.delete("vs_1"), (error) => {
      assert.ok(error instanceof PermissionDeniedError);
      assert.deepEqual([error.code, error.param], ["insufficient_permissions", null]);
      assert.match(error.message, /needs the role 'admin'; 'the read key' has 'read'/);
      return true;
    });
  });

  test("another site changes nothing, and no document becomes a page of ours", async () => {
    const headers = { authorization: `Bearer ${keys.get("admin")}`, "sec-fetch-site": "cross-site" };
    const refused = await ask(at.url, "POST /openai/v1/files", { headers });
    assert.equal(refused.status, 403);
    assert.equal(refused.json["error"]?.["type"], "invalid_request_error");
    for (const type of [
      "text/html; charset=utf-8",
      "image/svg+xml",
      "application/xml",
      "application/rss+xml",
      "application/json",
    ]) {
      at.script.wire = async () => new Response("<script>", { headers: { "content-type": type } });
      const content = await ask(at.url, "GET /openai/v1/files/file-1/content", {
        headers: { authorization: headers.authorization },
      });
      assert.equal(content.headers.get("content-disposition"), type.includes("json") ? null : "attachment");
    }
  });
});

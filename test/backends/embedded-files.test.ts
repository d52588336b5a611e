import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { getRequestListener } from "@hono/node-server";
import OpenAI, { NotFoundError, toFile } from "openai";
import { type EmbeddedFixture, embeddedFixture } from "../index/embedded-fixture.ts";
import { ask, clientOf, upload } from "./embedded-client.ts";

describe("files over the wire", () => {
  let at: EmbeddedFixture;
  let client: OpenAI;
  before(async () => {
    at = await embeddedFixture();
    client = clientOf(at.backend);
  });
  after(() => at.close());

  test("an empty list has no ids and no more pages", async () => {
    const { json } = await ask(at.backend, "GET", "/files");
    assert.deepEqual(json, { object: "list", data: [], first_id: null, last_id: null, has_more: false });
  });

  test("upload, look, read, delete; afterwards it is unknown", async () => {
    const created = await client.files.create({
      file: await toFile(Buffer.from("Grüße"), "Grüße 日本.md"),
      purpose: "user_data",
    });
    assert.match(created.id, /^file-[0-9A-Za-z]{24}$/);
    assert.deepEqual(
      {
        object: created.object,
        bytes: created.bytes,
        filename: created.filename,
        purpose: created.purpose,
        status: created.status,
      },
      { object: "file", bytes: 7, filename: "Grüße 日本.md", purpose: "user_data", status: "processed" },
    );
    assert.ok(!("expires_at" in created) && !("status_details" in created));
    assert.deepEqual(await client.files.retrieve(created.id), created);
    assert.equal(await (await client.files.content(created.id)).text(), "Grüße");
    assert.deepEqual(await client.files.delete(created.id), { id: created.id, object: "file", deleted: true });
    await assert.rejects(client.files.retrieve(created.id), NotFoundError);
    await assert.rejects(client.files.content(created.id), NotFoundError);
    await assert.rejects(client.files.delete(created.id), NotFoundError);
    assert.deepEqual((await client.files.list()).data, []);
    assert.deepEqual(await readdir(join(at.folder, "index", "files")), []);
  });

  test("lists go by time, page by page, both ways, and by purpose", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await upload(client, `f${i}.md`, `text ${i}`));
    const all = async (query: OpenAI.FileListParams): Promise<string[]> => {
      const seen: string[] = [];
      for await (const file of client.files.list(query)) seen.push(file.id);
      return seen;
    };
    assert.deepEqual(await all({ order: "asc", limit: 2 }), ids);
    assert.deepEqual(await all({ limit: 2 }), ids.toReversed());
    assert.deepEqual(await all({ purpose: "assistants", limit: 5 }), ids.toReversed());
    assert.deepEqual(await all({ purpose: "batch" }), []);
    const last = await client.files.list({ order: "asc", limit: 2, after: ids[2] as string });
    assert.deepEqual([last.data.map((file) => file.id), last.has_more], [ids.slice(3), false]);
    const beyond = await client.files.list({ order: "asc", after: ids[4] as string });
    assert.deepEqual([beyond.data, beyond.has_more], [[], false]);
    for (const id of ids) await client.files.delete(id);
  });

  test("wrong uploads are refused and leave nothing behind", async () => {
    const form = (...entries: readonly (readonly [string, string | File])[]): FormData => {
      const made = new FormData();
      for (const [name, value] of entries) {
        if (typeof value === "string") made.append(name, value);
        else made.append(name, value, value.name);
      }
      return made;
    };
    const file = new File(["x"], "a.md");
    const purpose = ["purpose", "assistants"] as const;
    const cases: readonly (readonly [FormData | string, string | null])[] = [
      [form(["file", file]), "purpose"],
      [form(purpose), "file"],
      [form(["purpose", "world domination"], ["file", file]), "purpose"],
      [form(purpose, ["file", new File([], "empty.md")]), "file"],
      [form(purpose, ["file", file], ["expires_after[seconds]", "3600"]), "expires_after[seconds]"],
      ['{"file":"x"}', null],
    ];
    for (const [body, param] of cases) {
      const response = await at.backend.wire(new Request("http://x.invalid/files", { method: "POST", body }));
      const { error } = (await response.json()) as { error: { param: string | null; message: string } };
      assert.equal(response.status, 400, error.message);
      assert.equal(error.param, param, error.message);
    }
    assert.deepEqual((await client.files.list()).data, []);
    assert.deepEqual(await readdir(join(at.folder, "index", "files")), []);
  });

  test("an upload that breaks off is refused and leaves nothing behind", async () => {
    const boundary = "xxx";
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\nhalf`;
    const request = new Request("http://x.invalid/files", {
      method: "POST",
      headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
      body: head,
    });
    assert.equal((await at.backend.wire(request)).status, 400);
    assert.deepEqual(await readdir(join(at.folder, "index", "files")), []);
  });

  test("errors have the protocol's shape and headers", async () => {
    const { status, headers, json } = await ask(at.backend, "GET", "/files/file-nope");
    assert.equal(status, 404);
    const { error } = json as { error: Record<string, unknown> };
    assert.deepEqual(Object.keys(error).sort(), ["code", "message", "param", "type"]);
    assert.equal(error["type"], "invalid_request_error");
    assert.match(headers.get("x-request-id") ?? "", /^req_/);
    for (const query of ["limit=0", "limit=10001", "limit=x", "order=up", "after=file-nope"]) {
      assert.equal((await ask(at.backend, "GET", `/files?${query}`)).status, 400, query);
    }
    const other = await ask(at.backend, "GET", "/v1/assistants");
    assert.equal(other.status, 404);
    assert.match(
      String((other.json["error"] as { message: string }).message),
      /not served by the embedded backend yet/,
    );
  });

  test("with and without /v1", async () => {
    assert.equal((await ask(at.backend, "GET", "/v1/files")).status, 200);
    const bare = clientOf(at.backend, "http://backend.invalid");
    assert.deepEqual((await bare.files.list()).data, []);
  });

  test("a large upload over a real connection arrives whole", async (t) => {
    const server = createServer(getRequestListener((request) => at.backend.wire(request)));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => server.close());
    const address = server.address();
    assert.ok(address && typeof address === "object");
    const remote = new OpenAI({ apiKey: "x", baseURL: `http://127.0.0.1:${address.port}/v1`, maxRetries: 0 });
    const line = `${"0123456789abcdef".repeat(64)}\n`;
    const lines = 8 * 1024;
    const body = Readable.from(
      (function* () {
        for (let i = 0; i < lines; i++) yield Buffer.from(line);
      })(),
    );
    const created = await remote.files.create({ file: await toFile(body, "größe.txt"), purpose: "assistants" });
    assert.equal(created.bytes, line.length * lines);
    assert.equal(created.filename, "größe.txt");
    const content = Buffer.from(await (await remote.files.content(created.id)).arrayBuffer());
    const hash = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
    assert.equal(hash(content), hash(Buffer.from(line.repeat(lines))));
    await remote.files.delete(created.id);
  });
});

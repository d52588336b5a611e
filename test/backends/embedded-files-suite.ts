import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import OpenAI, { BadRequestError, NotFoundError, toFile } from "openai";
import { type EmbeddedFixture, embeddedFixture, type OpenHouse } from "./embedded-fixture.ts";

/** What files promise over the wire, wherever the catalog lives. */
export function filesSuite(name: string, open: OpenHouse): void {
  describe(`files over the wire: ${name}`, () => {
    let at: EmbeddedFixture;
    let client: OpenAI;
    before(async () => {
      at = await embeddedFixture(open);
      client = at.client;
    });
    after(() => at.close());

    const onDisk = (): Promise<string[]> => readdir(join(at.folder, "index", "files")).catch(() => []);
    const idsOf = async (query: OpenAI.FileListParams): Promise<string[]> => {
      const seen: string[] = [];
      for await (const file of client.files.list(query)) seen.push(file.id);
      return seen;
    };

    test("an empty list has no ids and no more pages", async () => {
      const { json } = await at.ask("GET", "/v1/files");
      assert.deepEqual(json, { object: "list", data: [], first_id: null, last_id: null, has_more: false });
    });

    test("upload, look, read, delete; afterwards it is unknown", async () => {
      const file = await toFile(Buffer.from("Grüße"), "Grüße 日本.md");
      const created = await client.files.create({ file, purpose: "user_data" });
      assert.match(created.id, /^file-[0-9A-Za-z]{24}$/);
      const { object, bytes, filename, purpose, status } = created;
      assert.deepEqual(
        { object, bytes, filename, purpose, status },
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
      assert.deepEqual(await onDisk(), []);
    });

    test("lists go by time, page by page, both ways, and by purpose", async () => {
      const ids: string[] = [];
      for (let i = 0; i < 5; i++) ids.push(await at.upload(`f${i}.md`, `text ${i}`));
      assert.deepEqual(await idsOf({ order: "asc", limit: 2 }), ids);
      assert.deepEqual(await idsOf({ limit: 2 }), ids.toReversed());
      assert.deepEqual(await idsOf({ purpose: "assistants", limit: 5 }), ids.toReversed());
      assert.deepEqual(await idsOf({ purpose: "batch" }), []);
      const last = await client.files.list({ order: "asc", limit: 2, after: ids[2] as string });
      assert.deepEqual([last.data.map((file) => file.id), last.has_more], [ids.slice(3), false]);
      const beyond = await client.files.list({ order: "asc", after: ids[4] as string });
      assert.deepEqual([beyond.data, beyond.has_more], [[], false]);
      for (const id of ids) await client.files.delete(id);
    });

    test("a file that expires says when, and then is gone from lists, stores and search", async () => {
      const lasting = await at.upload("lasting.md", "The zyzzomat hums.");
      const expiring = await client.files.create({
        file: await toFile(Buffer.from("The zyzzomat sings."), "expiring.md"),
        purpose: "assistants",
        expires_after: { anchor: "created_at", seconds: 3600 },
      });
      assert.equal(expiring.expires_at, expiring.created_at + 3600);
      assert.deepEqual(await client.files.retrieve(expiring.id), expiring);
      for (const id of [lasting, expiring.id]) await client.vectorStores.files.createAndPoll(at.store, { file_id: id });
      assert.deepEqual((await at.search(at.store, { query: "zyzzomat" })).sort(), ["expiring.md", "lasting.md"]);
      at.advance(3601);
      assert.deepEqual(await at.index.search({ text: "zyzzomat sings", limit: 5 }).then((hits) => hits.length), 1);
      assert.deepEqual(await at.search(at.store, { query: "zyzzomat" }), ["lasting.md"]);
      assert.deepEqual(await idsOf({}), [lasting]);
      const held = await client.vectorStores.files.list(at.store);
      assert.deepEqual(
        held.data.map((file) => file.id),
        [lasting],
      );
      assert.equal((await client.vectorStores.retrieve(at.store)).file_counts.total, 1);
      await assert.rejects(client.files.retrieve(expiring.id), NotFoundError);
      await assert.rejects(client.files.content(expiring.id), NotFoundError);
      assert.deepEqual(await onDisk(), [lasting]);
      await client.files.delete(lasting);
    });

    test("wrong uploads are refused by the field that is wrong, and leave nothing behind", async () => {
      const file = new File(["x"], "a.md");
      const purpose = ["purpose", "assistants"] as const;
      const expiry = (anchor: string, seconds: string): readonly (readonly [string, string])[] => [
        ["expires_after[anchor]", anchor],
        ["expires_after[seconds]", seconds],
      ];
      const cases: readonly (readonly [body: FormData | string, param: string | null])[] = [
        [form(["file", file]), "purpose"],
        [form(purpose), "file"],
        [form(["purpose", "world domination"], ["file", file]), "purpose"],
        [form(purpose, ["file", new File([], "empty.md")]), "file"],
        [form(purpose, ["file", file], ["expires_after[seconds]", "3600"]), "expires_after[anchor]"],
        [form(purpose, ["file", file], ["expires_after[anchor]", "created_at"]), "expires_after[seconds]"],
        [form(purpose, ["file", file], ...expiry("created_at", "3599")), "expires_after[seconds]"],
        [form(purpose, ["file", file], ...expiry("created_at", "2592001")), "expires_after[seconds]"],
        [form(purpose, ["file", file], ...expiry("created_at", "")), "expires_after[seconds]"],
        [form(purpose, ["file", file], ...expiry("last_active_at", "3600")), "expires_after[anchor]"],
        [form(purpose, ["file", file], ["colour", "blue"]), "colour"],
        [form(purpose, ["data", file]), "data"],
        ['{"file":"x"}', null],
      ];
      for (const [body, param] of cases) {
        const response = await fetch(`${at.url}/v1/files`, { method: "POST", body });
        const { error } = (await response.json()) as { error: { param: string | null; message: string } };
        assert.equal(response.status, 400, error.message);
        assert.equal(error.param, param, error.message);
      }
      assert.deepEqual((await client.files.list()).data, []);
      assert.deepEqual(await onDisk(), []);
      await assert.rejects(
        client.files.create({ file: await toFile(Buffer.from(""), "empty.md"), purpose: "assistants" }),
        BadRequestError,
      );
    });

    test("an upload that breaks off is refused and leaves nothing behind", async () => {
      const head = '--xxx\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\nhalf';
      const headers = { "content-type": "multipart/form-data; boundary=xxx" };
      const response = await fetch(`${at.url}/v1/files`, { method: "POST", headers, body: head });
      assert.equal(response.status, 400);
      assert.deepEqual(await onDisk(), []);
    });

    test("errors have the protocol's shape and headers", async () => {
      const { status, headers, json } = await at.ask("GET", "/v1/files/file-nope");
      assert.equal(status, 404);
      assert.equal((json["error"] as Record<string, unknown>)["type"], "invalid_request_error");
      assert.match(headers.get("x-request-id") ?? "", /^req_/);
      assert.ok(Number(headers.get("openai-poll-after-ms")) <= 100);
      for (const query of ["limit=0", "limit=10001", "limit=x", "order=up", "after=file-nope"]) {
        const refused = await at.ask("GET", `/v1/files?${query}`);
        const error = refused.json["error"] as { param: string };
        assert.deepEqual([refused.status, error.param], [400, query.split("=")[0]], query);
      }
      const other = await at.ask("GET", "/v1/fine_tuning/jobs");
      assert.equal(other.status, 404);
      assert.match(String((other.json["error"] as { message: string }).message), /not served by the embedded backend/);
    });

    test("with and without /v1", async () => {
      assert.equal((await at.ask("GET", "/files")).status, 200);
      const bare = new OpenAI({ apiKey: "x", baseURL: at.url, maxRetries: 0 });
      assert.deepEqual((await bare.files.list()).data, []);
    });

    test("a larger upload arrives whole", async () => {
      const line = `${"0123456789abcdef".repeat(64)}\n`;
      const lines = 8 * 1024;
      const body = Readable.from(
        (function* () {
          for (let i = 0; i < lines; i++) yield Buffer.from(line);
        })(),
      );
      const created = await client.files.create({ file: await toFile(body, "größe.txt"), purpose: "assistants" });
      assert.deepEqual([created.bytes, created.filename], [line.length * lines, "größe.txt"]);
      const content = Buffer.from(await (await client.files.content(created.id)).arrayBuffer());
      const hash = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
      assert.equal(hash(content), hash(Buffer.from(line.repeat(lines))));
      await client.files.delete(created.id);
    });
  });
}

function form(...entries: readonly (readonly [string, string | File])[]): FormData {
  const made = new FormData();
  for (const [name, value] of entries) {
    if (typeof value === "string") made.append(name, value);
    else made.append(name, value, value.name);
  }
  return made;
}

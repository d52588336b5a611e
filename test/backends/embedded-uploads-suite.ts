import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type OpenAI from "openai";
import { BadRequestError, NotFoundError, toFile } from "openai";
import { type EmbeddedFixture, embeddedFixture, type OpenHouse } from "./embedded-fixture.ts";

/** What uploads in parts promise, wherever the catalog lives. */
export function uploadsSuite(name: string, open: OpenHouse): void {
  describe(`uploads in parts: ${name}`, () => {
    let at: EmbeddedFixture;
    let client: OpenAI;
    before(async () => {
      at = await embeddedFixture(open);
      client = at.client;
    });
    after(() => at.close());

    const begin = (text: string, filename = "big.md"): Promise<OpenAI.Upload> =>
      client.uploads.create({ filename, purpose: "assistants", mime_type: "text/markdown", bytes: text.length });
    const addPart = async (upload: string, text: string): Promise<string> => {
      const part = await client.uploads.parts.create(upload, { data: await toFile(Buffer.from(text), "data") });
      assert.equal(part.upload_id, upload);
      return part.id;
    };
    const partsOnDisk = (): Promise<string[]> => readdir(join(at.folder, "index", "uploads")).catch(() => []);
    const md5 = (text: string): string => createHash("md5").update(text).digest("hex");

    test("folders in a file name are left out", async () => {
      for (const path of ["a/b/plan.md", "C:\\docs\\plan.md", "../../plan.md"]) {
        assert.equal((await begin("x", path)).filename, "plan.md", path);
      }
    });

    test("parts sent side by side become one file in the order given at the end", async () => {
      const text = "The zyzzomat hums. The quibblet sings.";
      const upload = await begin(text);
      assert.match(upload.id, /^upload_/);
      assert.deepEqual([upload.status, upload.bytes, upload.expires_at - upload.created_at], ["pending", 38, 3600]);
      const [b, a] = await Promise.all([addPart(upload.id, text.slice(19)), addPart(upload.id, text.slice(0, 19))]);
      const done = await client.uploads.complete(upload.id, { part_ids: [a as string, b as string], md5: md5(text) });
      assert.deepEqual([done.status, done.file?.filename, done.file?.bytes], ["completed", "big.md", 38]);
      const id = done.file?.id ?? "";
      assert.equal(await (await client.files.content(id)).text(), text);
      assert.equal((await client.vectorStores.files.createAndPoll(at.store, { file_id: id })).status, "completed");
      assert.deepEqual(await at.search(at.store, { query: "quibblet" }), ["big.md"]);
      assert.deepEqual(await partsOnDisk(), []);
      await assert.rejects(client.uploads.complete(upload.id, { part_ids: [a as string] }), BadRequestError);
      await assert.rejects(client.uploads.cancel(upload.id), BadRequestError);
      await assert.rejects(addPart(upload.id, "more"), BadRequestError);
    });

    test("bytes or checksum that do not fit are refused, and can be put right", async () => {
      const upload = await begin("abcdef");
      const [abc, xyz, def] = [
        await addPart(upload.id, "abc"),
        await addPart(upload.id, "xyz"),
        await addPart(upload.id, "def"),
      ];
      const complete = (part_ids: string[], sum?: string): Promise<OpenAI.Upload> =>
        client.uploads.complete(upload.id, { part_ids, ...(sum && { md5: sum }) });
      const refused = async (work: Promise<unknown>, param: string): Promise<void> =>
        assert.rejects(work, (error) => error instanceof BadRequestError && error.param === param);
      await refused(complete([abc]), "part_ids");
      await refused(complete([abc, xyz, def]), "part_ids");
      await refused(complete([abc, abc]), "part_ids");
      await refused(complete([abc, "part_nope"]), "part_ids");
      await refused(complete([abc, def], md5("abcxyz")), "md5");
      assert.deepEqual(
        (await client.files.list()).data.filter(({ bytes }) => bytes === 6),
        [],
      );
      const done = await complete([abc, def], md5("abcdef").toUpperCase());
      assert.equal(await (await client.files.content(done.file?.id ?? "")).text(), "abcdef");
    });

    test("of two that complete at the same moment one does, and there is one file", async () => {
      const upload = await begin("same moment");
      const part = await addPart(upload.id, "same moment");
      const both = await Promise.allSettled([1, 2].map(() => client.uploads.complete(upload.id, { part_ids: [part] })));
      assert.deepEqual(both.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
      assert.equal((await client.files.list()).data.filter(({ bytes }) => bytes === 11).length, 1);
    });

    test("cancelled is cancelled", async () => {
      const upload = await begin("abc");
      const part = await addPart(upload.id, "abc");
      assert.equal((await client.uploads.cancel(upload.id)).status, "cancelled");
      await assert.rejects(client.uploads.complete(upload.id, { part_ids: [part] }), BadRequestError);
      await assert.rejects(client.uploads.cancel(upload.id), BadRequestError);
      assert.deepEqual(await partsOnDisk(), []);
    });

    test("an hour after its creation an upload has expired, and its parts go", async () => {
      const upload = await begin("abc");
      const part = await addPart(upload.id, "abc");
      at.advance(3600);
      await assert.rejects(client.uploads.complete(upload.id, { part_ids: [part] }), BadRequestError);
      await assert.rejects(addPart(upload.id, "abc"), BadRequestError);
      await begin("next");
      assert.deepEqual(await partsOnDisk(), []);
    });

    test("what it becomes may expire too", async () => {
      const upload = await client.uploads.create({
        filename: "a.md",
        purpose: "user_data",
        mime_type: "text/markdown",
        bytes: 3,
        expires_after: { anchor: "created_at", seconds: 7200 },
      });
      const { file } = await client.uploads.complete(upload.id, { part_ids: [await addPart(upload.id, "abc")] });
      assert.equal(file?.expires_at, (file?.created_at ?? 0) + 7200);
    });

    test("wrong requests are refused by the field that is wrong", async () => {
      const good = { filename: "a", purpose: "assistants", mime_type: "text/plain", bytes: 1 };
      const cases: readonly (readonly [body: unknown, param: string | null])[] = [
        [{ ...good, filename: undefined }, "filename"],
        [{ ...good, purpose: "fun" }, "purpose"],
        [{ ...good, mime_type: undefined }, "mime_type"],
        [{ ...good, bytes: undefined }, "bytes"],
        [{ ...good, bytes: 0 }, "bytes"],
        [{ ...good, bytes: 8 * 1024 ** 3 + 1 }, "bytes"],
        [{ ...good, bytes: "1" }, "bytes"],
        [{ ...good, expires_after: { anchor: "created_at", seconds: 1 } }, "expires_after.seconds"],
        [{ ...good, size: 1 }, "size"],
      ];
      for (const [body, param] of cases) {
        const { status, json } = await at.ask("POST", "/v1/uploads", body);
        const error = json["error"] as { message: string; param: string | null };
        assert.deepEqual([status, error.param], [400, param], error.message);
      }
      await assert.rejects(client.uploads.cancel("upload_nope"), NotFoundError);
      await assert.rejects(client.uploads.complete("upload_nope", { part_ids: [] }), NotFoundError);
      await assert.rejects(addPart("upload_nope", "x"), NotFoundError);
      const upload = await begin("abc");
      const missing = await at.ask("POST", `/v1/uploads/${upload.id}/complete`, {});
      assert.equal(missing.status, 400);
      await assert.rejects(addPart(upload.id, ""), BadRequestError);
    });
  });
}

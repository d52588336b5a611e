import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { FailedRef, Index, IndexedRef } from "../../src/contracts/search-index.ts";
import { dropLooseBodies } from "../../src/index/retention.ts";
import { countingEmbedder, DEMO, found, LIBRARY, never, OTHER, writeDocument } from "../index/index-fixture.ts";
import { defaultParts, type OwnStoreUnderTest, type Parts } from "./store-under-test.ts";

/** What an index of ours promises about documents that are to be made anew, in whatever database it is. */
export function forceSuite(name: string, openStore: (parts: Parts) => Promise<OwnStoreUnderTest>): void {
  describe(`force in ${name}`, () => {
    let folder = "";
    let under: OwnStoreUnderTest;
    let index: Index;
    let now = 1_800_000_000;
    let embedded: string[] = [];
    let refuse = "";

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), "force-"));
      const { embedder, extractor } = defaultParts();
      refuse = "";
      now = 1_800_000_000;
      const counting = countingEmbedder(embedder, (texts) => {
        if (refuse && texts.some((text) => text.includes(refuse))) throw new Error("embed: the service is down");
        embedded.push(...texts);
      });
      under = await openStore({ embedder: counting, extractor, nowSeconds: () => now });
      index = await under.openIndex(DEMO);
      embedded = [];
    });
    afterEach(async () => {
      await under.close();
      await rm(folder, { recursive: true, force: true });
    });

    const put = async (
      texts: Readonly<Record<string, string>>,
      { isAnew = false, source = LIBRARY } = {},
    ): Promise<{ readonly ready: readonly IndexedRef[]; readonly failed: readonly FailedRef[] }> => {
      const draft = await index.draft(source);
      for (const [item, text] of Object.entries(texts)) {
        await draft.put({ ...(await writeDocument(folder, item, text)), isAnew }, never);
      }
      return await draft.commit(never);
    };
    const run = async (text: string): Promise<void> =>
      void (await (await under.store()).db.write((sql) => sql.run(text)));
    const count = async (sql: string): Promise<number> =>
      Number((await (await under.store()).db.get<{ n: number }>(`SELECT count(*) AS n FROM ${sql}`))?.n);
    const damageText = (): Promise<void> => run("UPDATE chunks SET text = replace(text, 'shy', 'damaged')");

    const SHY = "The shyword stands in the garden.";

    test("a damaged passage is made anew wherever it is shown: in copies, retained, and in earlier generations", async () => {
      await put({ a: SHY, gone: SHY, copy: SHY });
      await put({ other: SHY }, { source: OTHER });
      const draft = await index.draft(LIBRARY);
      await draft.remove("gone" as ItemId, { mayReturn: true });
      await draft.commit(never);
      await damageText();
      embedded = [];
      await put({ a: SHY });
      assert.deepEqual(embedded, [], "without force nothing is made");
      assert.deepEqual(await found(index, "shyword"), []);

      now += 60;
      embedded = [];
      const { ready } = await put({ a: SHY }, { isAnew: true });
      assert.equal(embedded.length, 1);
      assert.match(embedded[0] ?? "", /shyword/);
      assert.equal(ready[0]?.embeddedAt, new Date(now * 1000).toISOString().replace("Z", "000Z"));
      assert.deepEqual((await found(index, "shyword")).sort(), ["a.md", "copy.md", "other.md"]);
      assert.deepEqual((await found(index, "shyword", 1)).sort(), ["a.md", "copy.md", "gone.md"]);
      assert.deepEqual(await found(index, "damagedword", 1), []);
      assert.equal(
        (await index.generations?.list())?.length,
        3,
        "what readers are shown is the same: no new generation",
      );
      embedded = [];
      await put({ gone: SHY });
      assert.deepEqual(embedded, []);
      assert.equal((await found(index, "shyword")).length, 4);
    });

    test("documents keep their file ids and generations, and nothing of the damaged text stays in any table", async () => {
      await put({ a: SHY, copy: SHY });
      const [before] = (await index.shown?.of(LIBRARY, ["a" as ItemId])) ?? [];
      await damageText();
      await put({ a: SHY, copy: SHY }, { isAnew: true });
      const [after] = (await index.shown?.of(LIBRARY, ["a" as ItemId])) ?? [];
      assert.deepEqual([after?.fileId, after?.uploadedAt], [before?.fileId, before?.uploadedAt]);
      assert.equal(embedded.length, 2, "once at first, and once for both documents");
      await dropLooseBodies(await under.store());
      for (const table of ["bodies", "sections", "chunks", "vectors"]) assert.equal(await count(table), 1, table);
      assert.equal(await count("loose_bodies"), 0);
    });

    test("a damaged vector is made anew, and a search by vectors has it", async () => {
      await put({ a: SHY, b: "A quite different sentence about trains." });
      const { db } = await under.store();
      const [first, second] = await db.all<{ id: number }>("SELECT id FROM chunks ORDER BY id");
      await run(
        `UPDATE vectors SET vector = (SELECT vector FROM vectors v WHERE v.chunk_id = ${second?.id}) WHERE chunk_id = ${first?.id}`,
      );
      await put({ a: SHY }, { isAnew: true });
      const [hit] = await index.search({ text: SHY, limit: 1, using: "vectors" });
      assert.equal(hit?.name, "a.md");
      assert.ok((hit?.details?.parts.vector ?? 0) > 0.9);
      assert.equal(await count("vectors WHERE checksum IS NULL"), 0);
    });

    test("missing passages and sections come back, also of a document too large for one transaction", async () => {
      const paragraph = (at: number): string => `## Part ${at}\n\n${`Sentence ${at} of many. `.repeat(60)}\n\n`;
      const large = Array.from({ length: 1100 }, (_, at) => paragraph(at)).join("");
      await put({ large });
      const counts = async (): Promise<number[]> => [
        await count("sections"),
        await count("chunks"),
        await count("vectors"),
      ];
      const before = await counts();
      const { db } = await under.store();
      const { id } = (await db.get<{ id: number }>("SELECT max(id) AS id FROM chunks")) ?? assert.fail();
      await run("DELETE FROM sections WHERE position > 3");
      await run(`DELETE FROM vectors WHERE chunk_id = ${id}`);
      await put({ large }, { isAnew: true });
      await dropLooseBodies(await under.store());
      assert.deepEqual(await counts(), before);
      assert.equal(await count("bodies"), 1);
    });

    test("what cannot be made anew now keeps what it has, and is told as failed; what shares its content waits with it", async () => {
      await put({ a: SHY, copy: SHY, b: "The boldword stands." });
      refuse = "shyword";
      const { ready, failed } = await put({ a: SHY, copy: SHY, b: "The boldword stands." }, { isAnew: true });
      assert.deepEqual(
        ready.map(({ itemId }) => itemId),
        ["b"],
      );
      assert.deepEqual(failed.map(({ itemId, permanent }) => [itemId, permanent]).sort(), [
        ["a", false],
        ["copy", false],
      ]);
      assert.deepEqual((await found(index, "shyword")).sort(), ["a.md", "copy.md"]);
      refuse = "";
      assert.equal((await put({ a: SHY, copy: SHY }, { isAnew: true })).ready.length, 2);
    });

    test("a draft that comes to nothing leaves what it made anew, and a new document by force is as any", async () => {
      await put({ a: SHY });
      await damageText();
      const draft = await index.draft(LIBRARY);
      await draft.put({ ...(await writeDocument(folder, "a", SHY)), isAnew: true }, never);
      // More than two batches, so that the put is on disk.
      for (let i = 0; i < 850; i++) await draft.remove(`none${i}` as ItemId);
      await draft.discard();
      assert.deepEqual(await found(index, "shyword"), ["a.md"]);
      await put({ fresh: "The freshword stands.", twin: "The freshword stands." }, { isAnew: true });
      assert.deepEqual((await found(index, "freshword")).sort(), ["fresh.md", "twin.md"]);
      await index.retained?.collectGarbage({ dryRun: false });
      assert.equal(await count("bodies"), 2);
    });
  });
}

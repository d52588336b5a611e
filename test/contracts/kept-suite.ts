import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { Index, IndexDraft } from "../../src/contracts/search-index.ts";
import { changeOwner } from "../../src/index/documents.ts";
import { listHiddenItems } from "../../src/index/retention.ts";
import { apply, countingEmbedder, DEMO, found, LIBRARY, never, OTHER, writeDocument } from "../index/index-fixture.ts";
import { defaultParts, type OwnStoreUnderTest, type Parts } from "./store-under-test.ts";

const DAY = 24 * 3600;
const SHY = "The shyword stands.";

/** What an index of ours promises about documents that may return, and about those that are forgotten. */
export function keptSuite(name: string, openStore: (parts: Parts) => Promise<OwnStoreUnderTest>): void {
  describe(`what is hidden in ${name}`, () => {
    let folder = "";
    let under: OwnStoreUnderTest;
    let index: Index;
    let now = 1_800_000_000;
    let embedded: string[] = [];

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), "kept-"));
      const { embedder, extractor } = defaultParts();
      const counting = countingEmbedder(embedder, (texts) => embedded.push(...texts));
      under = await openStore({ embedder: counting, extractor, nowSeconds: () => now });
      index = await under.openIndex(DEMO);
      await commit({ shy: SHY, a: "The firstword stands." });
      embedded = [];
    });
    afterEach(async () => {
      await under.close();
      await rm(folder, { recursive: true, force: true });
    });

    const commit = async (items: Record<string, string | null>, source = LIBRARY): Promise<void> => {
      const draft = await index.draft(source);
      await apply(draft, items, (item, text) => writeDocument(folder, item, text));
      await draft.commit(never, { allowEmpty: true });
    };
    const hide = async (item: string): Promise<void> => {
      const draft = await index.draft(LIBRARY);
      await draft.remove(item as ItemId, { mayReturn: true });
      await draft.commit(never, { allowEmpty: true });
    };
    /** More than two batches, so that what was put into the draft is on disk. */
    const flush = async (draft: IndexDraft): Promise<void> => {
      for (let i = 0; i < 850; i++) await draft.remove(`none${i}` as ItemId);
    };
    /** More generations and days than any is kept. */
    const pass = async (): Promise<void> => {
      for (const word of ["second", "third", "fourth", "fifth"]) {
        now += 2 * DAY;
        await commit({ a: `The ${word}word of ${now} stands.` });
      }
    };
    /** Returns what a kept generation shows. */
    const forget = async (...items: string[]): Promise<ItemId[]> => {
      return [...((await index.retained?.purge(LIBRARY, items as ItemId[])) ?? [])];
    };
    const count = async (sql: string): Promise<number> =>
      Number((await (await under.store()).db.get<{ n: number }>(`SELECT count(*) AS n FROM ${sql}`))?.n);
    /** Of the text alone: what it is called goes with its documents. */
    const parts = async (): Promise<number[]> => {
      const bodies = "(SELECT body_id FROM chunks WHERE text LIKE '%shyword%')";
      const its = ["sections", "chunks", "vectors"].map((table) => count(`${table} WHERE body_id IN ${bodies}`));
      return Promise.all([...its, count("kept_documents")]);
    };
    const KEPT = [1, 1, 1, 1];

    test("is not found, and returns after any number of generations without being embedded", async () => {
      await hide("shy");
      assert.deepEqual(await found(index, "shyword"), []);
      await pass();
      assert.equal(await count("documents WHERE item_id = 'shy'"), 0, "no generation shows it any more");
      assert.deepEqual(await parts(), KEPT);
      embedded = [];
      await commit({ shy: SHY });
      assert.deepEqual(embedded, []);
      assert.deepEqual(await found(index, "shyword"), ["shy.md"]);
      assert.equal(await count("kept_documents"), 0);
      await commit({ shy: null });
      await pass();
      assert.deepEqual(await parts(), [0, 0, 0, 0], "what is removed for good goes as ever");
    });

    test("is kept as it was last: an edited one that returns lets the old text go", async () => {
      await hide("shy");
      await commit({ shy: "The boldword stands." });
      await pass();
      assert.deepEqual(await parts(), [0, 0, 0, 0]);
      await hide("shy");
      await pass();
      embedded = [];
      await commit({ other: "The boldword stands." }, OTHER);
      assert.deepEqual(embedded, [], "a copy shares what is kept");
    });

    test("stays kept when the draft that brings it back comes to nothing, and is not when the one that hides it does", async () => {
      const draft = await index.draft(LIBRARY);
      await draft.remove("shy" as ItemId, { mayReturn: true });
      await flush(draft);
      assert.equal(await count("kept_documents"), 1);
      await draft.discard();
      assert.equal(await count("kept_documents"), 0);
      assert.deepEqual(await found(index, "shyword"), ["shy.md"]);

      await hide("shy");
      const back = await index.draft(LIBRARY);
      await back.put(await writeDocument(folder, "shy", SHY), never);
      await flush(back);
      await back.discard();
      await pass();
      assert.deepEqual(await parts(), KEPT);
    });

    test("hidden, rolled back and released, it is hidden and retained as before", async () => {
      await hide("shy");
      await index.generations?.rollback(1);
      assert.deepEqual(await found(index, "shyword"), ["shy.md"]);
      await index.generations?.release();
      assert.deepEqual(await found(index, "shyword"), []);
      assert.equal(await count("kept_documents"), 1, "a rollback shows it, and changes nothing");
      await commit({ shy: SHY });
      assert.equal(await count("kept_documents"), 0);
      await hide("shy");
      await pass();
      assert.deepEqual(await parts(), KEPT);
    });

    test("what a kept generation shows is not forgotten; when none does, others that share its text keep theirs", async () => {
      await commit({ twin: SHY }, OTHER);
      await hide("shy");
      await hide("a");
      assert.deepEqual((await forget("shy", "nobody", "twin")).sort(), ["shy"]);
      assert.deepEqual(await found(index, "shyword", 1), ["shy.md"]);
      await index.generations?.rollback(1);
      assert.deepEqual((await found(index, "shyword")).length, 1);
      assert.deepEqual(await forget("shy"), ["shy"], "rolled back to it, all the more");
      await index.generations?.release();
      await pass();
      assert.deepEqual(await forget("shy"), []);
      assert.equal(await count("documents WHERE item_id = 'shy'"), 0);
      assert.deepEqual(await found(index, "shyword"), ["twin.md"], "of another source");
      assert.deepEqual(await parts(), [1, 1, 1, 0], "the text of the twin");
    });

    test("forgotten after long, nothing of it is anywhere", async () => {
      await hide("shy");
      await pass();
      await forget("shy");
      assert.deepEqual(await parts(), [0, 0, 0, 0]);
      for (const table of ["chunks_text", "labels_text"]) {
        const of = table === "chunks_text" ? "chunks" : "documents";
        assert.equal(await count(table), await count(of), table);
      }
      await forget("shy");
      embedded = [];
      await commit({ shy: SHY });
      assert.equal(embedded.length, 1);
    });

    test("what is visible is not forgotten, nor what it was before, nor what is on its way", async () => {
      await commit({ a: "The newword stands." });
      await hide("shy");
      const back = await index.draft(LIBRARY);
      await back.put(await writeDocument(folder, "shy", SHY), never);
      await flush(back);
      assert.deepEqual((await forget("a", "shy")).sort(), ["a", "shy"]);
      await back.commit(never);
      assert.deepEqual([await found(index, "newword"), await found(index, "shyword")], [["a.md"], ["shy.md"]]);
      assert.deepEqual(await found(index, "firstword", 1), ["a.md"]);
      assert.deepEqual(await found(index, "shyword", 1), ["shy.md"]);
    });

    test("let go, it is seen as long as a generation shows it, and no longer", async () => {
      await hide("shy");
      await index.retained?.endGracePeriod(LIBRARY, ["shy"] as ItemId[]);
      assert.equal(await count("kept_documents"), 0);
      assert.deepEqual(await found(index, "shyword", 1), ["shy.md"]);
      await pass();
      assert.deepEqual(await parts(), [0, 0, 0, 0]);
    });

    test("is listed while something is kept of it, and not when it is visible or another source's", async () => {
      const listed = async (): Promise<ItemId[]> => {
        const items: ItemId[] = [];
        for await (const page of index.retained?.listHidden(LIBRARY) ?? []) items.push(...page);
        return items;
      };
      await commit({ gone: "The goneword stands.", back: "The backword stands.", twin: SHY });
      await commit({ x: "The xword stands." }, OTHER);
      assert.deepEqual(await listed(), []);
      await commit({ gone: null, back: null, twin: null });
      await commit({ x: null }, OTHER);
      await hide("shy");
      await commit({ back: "The newword stands." });
      assert.deepEqual(await listed(), ["gone", "shy", "twin"]);
      const { db } = await under.store();
      const page = (after: string) => listHiddenItems(db, { domainId: DEMO, sourceId: LIBRARY }, { after, limit: 2 });
      assert.deepEqual([await page(""), await page("shy")], [["gone", "shy"], ["twin"]]);
      await pass();
      assert.deepEqual(await listed(), ["shy"]);
      await forget("shy");
      assert.deepEqual(await listed(), []);
    });

    test("a cleanup takes at once what no generation shows, and tells beforehand what that is", async () => {
      const many = Array.from({ length: 450 }, (_, i) => [`m${i}`, `The word${i} stands.`] as const);
      await commit(Object.fromEntries(many));
      await hide("shy");
      await commit(Object.fromEntries(many.map(([item]) => [item, null])));
      for (const word of ["one", "two", "three", "four"]) await commit({ a: `The ${word} stands.` });
      now += 2 * DAY;
      const open = await index.draft(LIBRARY);
      await open.put(await writeDocument(folder, "draft", "The draftword stands."), never);
      await flush(open);
      const told = await index.retained?.collectGarbage({ dryRun: true });
      assert.deepEqual(told, await index.retained?.collectGarbage({ dryRun: true }), "asking changes nothing");
      const before = { documents: await count("documents"), texts: await count("bodies") };
      const checkpoint = async (): Promise<void> => {
        throw new Error("enough");
      };
      await assert.rejects(async () => await index.retained?.collectGarbage({ dryRun: false, checkpoint }), /enough/);
      const left = await index.retained?.collectGarbage({ dryRun: true });
      assert.ok((left?.documents ?? 0) > 0 && (left?.documents ?? 0) < (told?.documents ?? 0), "it stopped half-way");
      assert.deepEqual(await index.retained?.collectGarbage({ dryRun: false }), left);
      const [documents, texts] = [await count("documents"), await count("bodies")];
      assert.deepEqual([told?.documents, told?.texts], [before.documents - documents, before.texts - texts]);
      assert.ok((told?.texts ?? 0) >= 450 && (told?.bytes ?? 0) >= 450 * "The word0 stands.".length);
      assert.deepEqual(await index.retained?.collectGarbage({ dryRun: true }), { documents: 0, texts: 0, bytes: 0 });
      assert.deepEqual(await parts(), KEPT);
      await open.commit(never);
      assert.deepEqual(await found(index, "draftword"), ["draft.md"]);
    });

    test("goes along with a domain that is renamed", async () => {
      await hide("shy");
      const heir = "HEIR" as typeof DEMO;
      const store = await under.store();
      await changeOwner(store, { from: DEMO, to: heir, folders: { from: "/a", to: "/b" } }, never);
      index = await under.openIndex(heir);
      await pass();
      assert.deepEqual(await parts(), KEPT);
      await forget("shy");
      assert.deepEqual(await parts(), [0, 0, 0, 0]);
    });
  });
}

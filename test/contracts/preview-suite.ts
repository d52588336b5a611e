import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { CrawlDraft, Index, Preview } from "../../src/contracts/search-index.ts";
import { countingEmbedder, DEMO, LIBRARY, never, OTHER, writeDocument } from "../index/index-fixture.ts";
import { defaultParts, type OwnStoreUnderTest, type Parts } from "./store-under-test.ts";

/** What an index of ours promises about changes that nobody sees yet: they can be searched, and what they bring can be held. */
export function previewSuite(name: string, openStore: (parts: Parts) => Promise<OwnStoreUnderTest>): void {
  describe(`previews in ${name}`, () => {
    let folder = "";
    let under: OwnStoreUnderTest;
    let index: Index;
    let draft: CrawlDraft;
    let embedded: string[] = [];

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), "preview-"));
      const parts = defaultParts();
      const embedder = countingEmbedder(parts.embedder, (texts) => void embedded.push(...texts));
      under = await openStore({ ...parts, embedder });
      index = await under.openIndex(DEMO);
      const first = await index.draft(LIBRARY);
      for (const word of ["ibex", "vole", "okapi"]) {
        await first.put(await writeDocument(folder, word, `The ${word} rests.`), never);
      }
      await first.commit(never);
      draft = (await index.crawlDrafts?.open("crawl")) ?? assert.fail("an index of ours has drafts of crawls");
      embedded = [];
    });
    afterEach(async () => {
      await under.close();
      await rm(folder, { recursive: true, force: true });
    });

    /** Changes one document, removes one, and adds one from another source. */
    const stage = async (): Promise<void> => {
      const source = await draft.source(LIBRARY);
      await source.put(await writeDocument(folder, "ibex", "The ibex jumps."), never);
      await source.remove("vole" as ItemId);
      await source.stage(never);
      const other = await draft.source(OTHER);
      await other.put(await writeDocument(folder, "numbat", "The numbat is new."), never);
      await other.stage(never);
      embedded = [];
    };
    const texts = async (preview?: Preview): Promise<string[]> => {
      const query = { text: "the ibex vole okapi numbat rests jumps", limit: 20, using: "text" } as const;
      const hits = await index.search({ ...query, scope: { domainId: DEMO }, ...(preview && { preview }) });
      return hits.map(({ text }) => text).sort();
    };
    const BEFORE = ["The ibex rests.", "The okapi rests.", "The vole rests."];
    const AFTER = ["The ibex jumps.", "The numbat is new.", "The okapi rests."];

    test("a draft is searched as if it were committed, and readers see nothing of it", async () => {
      await stage();
      assert.deepEqual(await texts({ draft: draft.generationId }), AFTER);
      assert.deepEqual(await texts(), BEFORE);
      assert.deepEqual(await draft.changes(), { brought: 2, removed: 1 });
      await draft.commit(never);
      assert.deepEqual(await texts(), AFTER);
      await assert.rejects(texts({ draft: draft.generationId }), /was committed or swept/);
    });

    test("what a draft has of items is told before it is committed", async () => {
      await stage();
      const items = ["ibex", "vole", "okapi"] as ItemId[];
      const names = async (preview?: Preview): Promise<string[]> =>
        ((await index.shown?.newest(LIBRARY, items, preview)) ?? []).map(({ itemId }) => itemId).sort();
      assert.deepEqual(await names(), ["ibex", "okapi", "vole"]);
      assert.deepEqual(await names({ draft: draft.generationId }), ["ibex", "okapi"]);
      assert.deepEqual(
        (await index.shown?.called("okapi"))?.map(({ itemId }) => itemId),
        ["okapi"],
      );
    });

    test("additions and changes are held, removals are committed, and nothing is embedded again", async () => {
      await stage();
      const held = await draft.hold();
      assert.equal(held.documents, 2);
      assert.deepEqual(await draft.changes(), { brought: 0, removed: 1 });
      await draft.commit(never);
      assert.deepEqual(await texts(), ["The ibex rests.", "The okapi rests."]);
      assert.deepEqual(await texts({ draft: held.generationId }), AFTER, "the held draft can be searched");
      assert.deepEqual(await index.crawlDrafts?.listOpen(), [held.generationId]);

      const next = (await index.crawlDrafts?.open("next")) ?? assert.fail();
      const source = await next.source(LIBRARY);
      await source.put(await writeDocument(folder, "ibex", "The ibex jumps."), never);
      await source.stage(never);
      const other = await next.source(OTHER);
      await other.put(await writeDocument(folder, "numbat", "The numbat is new."), never);
      await other.stage(never);
      await next.commit(never);
      await index.crawlDrafts?.sweep([held.generationId]);
      assert.deepEqual(embedded, []);
      assert.deepEqual(await texts(), AFTER);
      assert.deepEqual(await index.crawlDrafts?.listOpen(), []);
    });

    test("a document that lost its text is held, one that moved to another source is not", async () => {
      const source = await draft.source(LIBRARY);
      await source.put(await writeDocument(folder, "ibex", ""), never);
      await source.remove("vole" as ItemId);
      const [failure] = await source.stage(never);
      assert.ok(failure?.permanent);
      const other = await draft.source(OTHER);
      await other.put(await writeDocument(folder, "vole-2", "The vole rests."), never);
      await other.put(await writeDocument(folder, "numbat", "The numbat is new."), never);
      await other.stage(never);
      embedded = [];
      const held = await draft.hold();
      assert.equal(held.documents, 2);
      assert.equal(await index.crawlDrafts?.count(held.generationId), 2);
      await draft.commit(never);
      assert.deepEqual(await texts(), BEFORE);
      const [moved] = (await index.shown?.newest(OTHER, ["vole-2" as ItemId])) ?? [];
      assert.equal(moved?.itemId, "vole-2");
      assert.deepEqual(await texts({ draft: held.generationId }), ["The numbat is new.", ...BEFORE.slice(1)].sort());
      await index.crawlDrafts?.sweep([held.generationId]);
      assert.equal(await index.crawlDrafts?.count(held.generationId), 0);
      assert.deepEqual(await texts(), BEFORE);
      assert.deepEqual(embedded, []);
    });

    test("a held draft that is swept leaves what readers have", async () => {
      await stage();
      const { generationId } = await draft.hold();
      await draft.commit(never);
      await index.crawlDrafts?.sweep([generationId]);
      assert.deepEqual(await texts(), ["The ibex rests.", "The okapi rests."]);
      const again = await index.draft(LIBRARY);
      await again.remove("ibex" as ItemId);
      await again.commit(never);
      assert.deepEqual(await texts(), ["The okapi rests."]);
    });

    test("a draft with nothing but additions leaves no generation when it is held", async () => {
      const source = await draft.source(LIBRARY);
      await source.put(await writeDocument(folder, "numbat", "The numbat is new."), never);
      await source.stage(never);
      await draft.hold();
      assert.equal(await draft.commit(never), null);
      assert.deepEqual(await texts(), BEFORE);
    });
  });
}

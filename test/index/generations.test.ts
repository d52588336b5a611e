// Generations in SQLite cost only what changed, and earlier formats are opened.
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { ItemId, SourceId } from "../../src/contracts/ids.ts";
import type { IndexedRef } from "../../src/contracts/search-index.ts";
import { createExtractor } from "../../src/extract/extractor.ts";
import { DEFAULT_CHUNKING } from "../../src/index/chunk-sections.ts";
import { createNgramEmbedder } from "../../src/index/embedding/ngram-embedder.ts";
import { packVector } from "../../src/index/embedding/vectors.ts";
import { bodyKey } from "../../src/index/prepare-body.ts";
import {
  countingEmbedder,
  DEMO,
  found,
  type IndexFixture,
  indexFixture,
  LIBRARY,
  never,
  OTHER,
  STORE,
} from "./index-fixture.ts";
import { makeFormat1, type OldDocument, WITHOUT_NEWEST_AND_SHOWN, writeOldStore } from "./old-store.ts";

describe("generations in a SQLite file", () => {
  let at: IndexFixture;
  let embedded: string[] = [];
  let path = "";

  beforeEach(async () => {
    embedded = [];
    const embedder = countingEmbedder(createNgramEmbedder(), (texts) => embedded.push(...texts));
    at = await indexFixture({ embedder });
    path = join(at.indexFolder, `${STORE}.sqlite`);
  });
  afterEach(() => at.close());

  const holdings = async (source = LIBRARY): Promise<IndexedRef[]> => {
    const held: IndexedRef[] = [];
    for await (const page of at.index.holdings(source)) held.push(...page);
    return held.sort((a, b) => (a.itemId < b.itemId ? -1 : 1));
  };
  /** Rows this process has ever written, by its writing connection. */
  const written = async (): Promise<number> => {
    const { db } = await at.provider.open(STORE);
    return db.write(async (sql) => Number((await sql.get<{ n: number }>("SELECT total_changes() AS n"))?.n));
  };

  test("a commit writes the same few rows however large the store", async () => {
    await at.commit(Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`a${i}`, `Text number ${i} stands.`])));
    const before = await written();
    await at.commit({ a0: "Text number 7 stands." });
    const small = (await written()) - before;
    assert.ok(small < 40, `${small} rows written for one changed document of 250`);
  });

  test("a draft that changes nothing writes nothing", async () => {
    await at.commit({ a: "The firstword stands." });
    const before = await written();
    await at.commit({});
    await at.commit({ a: "The firstword stands." });
    await at.commit({ unknown: null });
    assert.equal(await written(), before);
  });

  test("a move of 10,000 documents embeds nothing", async () => {
    const file = await at.makeFile("shared", "The firstword stands.");
    const label = (i: number, folder: string) => ({ ...file.label, name: `${i}.md`, path: `${folder}/${i}.md` });
    const first = await at.index.draft(LIBRARY);
    for (let i = 0; i < 10_000; i++) {
      await first.put({ ...file, itemId: `i${i}` as ItemId, label: label(i, "old") }, never);
    }
    await first.commit(never);
    assert.equal(embedded.length, 1);
    const fileIds = async (): Promise<string> => (await holdings()).map(({ fileId }) => fileId).join();
    const before = await fileIds();
    const move = await at.index.draft(LIBRARY);
    for (let i = 0; i < 10_000; i++) await move.relabel(`i${i}` as ItemId, label(i, "new"));
    assert.deepEqual(await move.commit(never), { ready: [], failed: [] });
    assert.equal(embedded.length, 1);
    assert.ok((await fileIds()) === before, "every document keeps its file id");
    assert.equal(await at.count("SELECT count(*) AS n FROM documents_active WHERE path LIKE 'new/%'"), 10_000);
    assert.equal(await at.count("SELECT count(*) AS n FROM documents_active"), 10_000);
  });

  test("a store of format 2 opens with everything in it", async () => {
    await writeFormat2();
    assert.deepEqual(
      (await holdings()).map(({ itemId, fileId, uploadedAt }) => [itemId, fileId, uploadedAt]),
      [
        ["a", "file-2", "1970-01-01T00:00:05.000000Z"],
        ["same", "file-3", "1970-01-01T00:00:05.000000Z"],
      ],
    );
    assert.deepEqual((await holdings(OTHER)).length, 0);
    for (const word of ["secondword", "wireword"]) assert.equal((await found(at.index, word)).length, 1, word);
    for (const word of ["firstword", "draftword"]) assert.deepEqual(await found(at.index, word), [], word);
    assert.deepEqual(await found(at.index, "firstword", 1), ["a.md"]);
    const [hit] = await at.index.search({ text: "secondword", limit: 1 });
    assert.equal(hit?.details?.modifiedAt, "2024-01-15T10:30:00Z");
    assert.ok((hit?.details?.parts.vector ?? 0) > 0.1, "the vectors of before answer");
    const { sections } = await at.index.shown.sections({ called: "a.md", offset: 0, limit: 9 });
    assert.deepEqual(
      sections.map(({ content }) => content),
      ["The secondword stands."],
    );
    assert.equal(await at.count("SELECT count(*) AS n FROM spaces WHERE model = 'lockstep-ngram' AND active = 1"), 1);
    // Two bodies of one text, embedded by two models, are one now; the draft's is left until it is swept.
    assert.equal(await at.count("SELECT count(*) AS n FROM bodies"), 5);
    assert.equal(await at.count("SELECT count(*) AS n FROM chunks"), 5);
  });

  test("a store of format 2 goes on: the same text is not embedded again, its draft is swept, it can be rolled back", async () => {
    await writeFormat2();
    await at.commit({ again: "The secondword stands.", a: null });
    assert.deepEqual(embedded, []);
    assert.deepEqual(await found(at.index, "secondword"), ["again.md"]);
    assert.equal(await at.count("SELECT count(*) AS n FROM generations WHERE number IS NULL"), 0);
    assert.deepEqual(
      (await at.index.generations.list()).map(({ number, added, removed }) => [number, added, removed]),
      [
        [3, 1, 1],
        [2, 2, 2],
        [1, 2, 0],
      ],
    );
    await at.index.generations.rollback(1);
    assert.deepEqual(await found(at.index, "firstword"), ["a.md"]);
    assert.deepEqual((await found(at.index, "wireword")).length, 1);
  });

  test("a store of format 1 gets its domains from the marks of its documents", async () => {
    await writeFormat2();
    await at.provider.close();
    makeFormat1(path);
    assert.deepEqual(
      (await holdings()).map(({ itemId }) => itemId),
      ["a"],
    );
    assert.deepEqual(await found(at.index, "secondword"), ["a.md"]);
    assert.deepEqual(await found(at.index, "wireword"), ["w.md"]);
    assert.equal(await at.count("SELECT count(*) AS n FROM generations WHERE number IS NULL"), 0);
    await at.commit({ a: null });
    assert.deepEqual(await found(at.index, "secondword"), []);
  });

  test("words of another revision of the analyzer are made anew when the store is opened", async () => {
    await at.commit({ a: "The firstword stands." });
    const { db } = await at.provider.open(STORE);
    await db.run("DELETE FROM chunks_text");
    await db.run("DELETE FROM labels_text");
    assert.deepEqual((await at.index.search({ text: "firstword", limit: 5, using: "text" })).length, 0);
    await db.run("UPDATE state SET analyzer = 'of before'");
    await at.provider.close();
    assert.deepEqual((await at.index.search({ text: "firstword", limit: 5, using: "text" })).length, 1);
    assert.deepEqual(await found(at.index, "a.md"), [], "a name is no text");
  });

  test("a store of format 3 goes on: each generation of before counts by itself", async () => {
    for (const word of ["first", "second", "third", "fourth"]) await at.commit({ a: `The ${word}word stands.` });
    await at.provider.close();
    const file = new DatabaseSync(path);
    file.exec(
      `${WITHOUT_NEWEST_AND_SHOWN} ALTER TABLE vectors DROP COLUMN checksum; DROP TABLE kept_documents; DROP INDEX generations_crawl; ALTER TABLE generations DROP COLUMN crawl; PRAGMA user_version = 3`,
    );
    file.close();
    const draft = await at.index.draft(LIBRARY, "jb_1");
    await draft.remove("a" as ItemId);
    await draft.commit(never, { allowEmpty: true });
    assert.deepEqual(
      (await at.index.generations.list()).map(({ number, crawl, intermediate }) => [number, crawl, intermediate]),
      [
        [5, "jb_1", false],
        [4, "", false],
        [3, "", false],
        [2, "", false],
        [1, "", false],
      ],
    );
    assert.deepEqual(await found(at.index, "secondword", 2), ["a.md"]);
  });

  test("a store of format 6 goes on: one that was rolled back stays so, and a release shows what it was taken back from", async () => {
    for (const word of ["first", "second", "third"]) await at.commit({ a: `The ${word}word stands.` });
    await at.provider.close();
    const file = new DatabaseSync(path);
    // As a rollback of that release left it.
    file.exec(`${WITHOUT_NEWEST_AND_SHOWN} UPDATE state SET active = 1, pinned = 1; PRAGMA user_version = 6`);
    file.close();
    assert.deepEqual(await found(at.index, "firstword"), ["a.md"]);
    const { shown, newest, pinned } = await at.index.generations.state();
    assert.deepEqual([shown, newest, pinned], [1, 3, true]);
    const kept = await at.index.generations.list();
    assert.equal(new Set(kept.map(({ generationId }) => generationId)).size, 3);
    for (const { generationId } of kept) assert.match(generationId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    await at.commit({ b: "The bword stands." });
    assert.deepEqual(await found(at.index, "bword"), []);
    await at.index.generations.release();
    assert.deepEqual([await found(at.index, "thirdword"), await found(at.index, "bword")], [["a.md"], ["b.md"]]);
    assert.deepEqual(
      (await at.index.generations.list()).map(({ number }) => number),
      [4, 3, 2, 1],
    );
  });

  test("a store of a newer format is refused with a sentence", async () => {
    await at.commit({ a: "The firstword stands." });
    await at.provider.close();
    const file = new DatabaseSync(path);
    file.exec("PRAGMA user_version = 99");
    file.close();
    await assert.rejects(at.index.search({ text: "firstword", limit: 1 }), /newer release .*format 99/);
  });

  test("the source id of wire files is reserved", async () => {
    await assert.rejects(at.index.draft("_direct" as SourceId), { name: "BadInputError" });
  });

  /** Two generations of one source, a draft of another, a wire file, and one text embedded by two models. */
  async function writeFormat2(): Promise<void> {
    const embedder = createNgramEmbedder();
    const marks = { domain_id: DEMO, last_modified: "2024-01-15T10:30:00Z" };
    const document = async (
      id: number,
      item: string,
      text: string,
      more: Partial<OldDocument>,
    ): Promise<OldDocument> => {
      const [vector = new Float32Array(256)] = await embedder.embed([`Head\n${text}`]);
      const embedding = `${embedder.model}@${embedder.revision}`;
      const source = "DEMO/library";
      return {
        ...{ id, source, item, text, embedding, vector: packVector(vector), born: 3, died: null, attributes: marks },
        ...more,
      };
    };
    writeOldStore(path, {
      revisions: bodyKey(createExtractor(), { sha256: "", fileType: "md", chunking: DEFAULT_CHUNKING }),
      active: 2,
      generations: [
        { id: 2, source: "DEMO/library", number: 1, committedAt: 1000 },
        { id: 3, source: "DEMO/library", number: 2, committedAt: 2000 },
        { id: 4, source: "DEMO/library", number: null, committedAt: null },
      ],
      documents: [
        await document(1, "a", "The firstword stands.", { born: 2, died: 3 }),
        await document(2, "a", "The secondword stands.", {}),
        await document(3, "same", "The sameword stands.", { embedding: "older@1", attributes: {} }),
        await document(4, "k", "The draftword stands.", { born: 4 }),
        await document(5, "w", "The wireword stands.", { source: "_direct", born: 1, attributes: {} }),
        await document(6, "gone", "The sameword stands.", { born: 2, died: 3 }),
      ],
    });
  }
});

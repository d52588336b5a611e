import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { Embedder } from "../../src/contracts/embedder.ts";
import type { ItemId, SourceId } from "../../src/contracts/ids.ts";
import { createExtractor } from "../../src/extract/extractor.ts";
import { createNgramEmbedder } from "../../src/index/embed/ngram-embedder.ts";
import { openStore, type Store } from "../../src/index/sqlite/open-store.ts";
import { SqliteIndex } from "../../src/index/sqlite/sqlite-index.ts";
import { apply, DEMO, found, LIBRARY, never, writeDocument } from "./embedded-fixture.ts";

const OTHER = "other" as SourceId;
const DAY = 24 * 3600;

describe("generations of the embedded index", () => {
  let folder = "";
  let store: Store;
  let index: SqliteIndex;
  let now = 1_800_000_000;
  let embedded: string[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "generations-"));
    const embedder = counting(createNgramEmbedder(), (texts) => embedded.push(...texts));
    store = openStore(join(folder, "store.sqlite"), embedder);
    const parts = { extractor: createExtractor(), embedder };
    index = new SqliteIndex({ parts, domain: DEMO, store: () => store, nowSeconds: () => now });
    embedded = [];
  });
  afterEach(async () => {
    store.db.close();
    await rm(folder, { recursive: true, force: true });
  });

  const makeFile = (item: string, text: string): ReturnType<typeof writeDocument> => writeDocument(folder, item, text);
  const commit = async (items: Record<string, string | null>, source = LIBRARY): Promise<void> => {
    const draft = await index.draft(source);
    await apply(draft, items, makeFile);
    await draft.commit(never);
  };
  const count = (sql: string): number => Number(store.db.statement(sql).get()?.["n"]);
  const many = (letter: string, texts: number): Record<string, string> =>
    Object.fromEntries(
      Array.from({ length: texts }, (_, i) => [`${letter}${i}`, `Text ${letter} number ${i} stands.`]),
    );

  test("a killed draft, another source, a rollback and a new commit: each step shows what it should", async () => {
    await commit({ a: "The firstword stands." });
    const killed = await index.draft(LIBRARY);
    // More than one batch, so that rows of the draft are on disk when it is left behind.
    await apply(killed, { ...many("k", 420), a: "The killedword stands." }, makeFile);
    assert.equal(count("SELECT count(*) AS n FROM generations WHERE number IS NULL"), 1);
    assert.deepEqual(await found(index, "firstword"), ["a.md"]);

    await commit({ b: "The otherword stands." }, OTHER);
    assert.deepEqual(await found(index, "firstword"), ["a.md"]);
    assert.deepEqual(await found(index, "otherword"), ["b.md"]);
    assert.deepEqual(await found(index, "killedword"), []);
    assert.equal(count("SELECT count(*) AS n FROM documents_active"), 2);

    await commit({ a: "The secondword stands." });
    assert.equal(count("SELECT count(*) AS n FROM generations WHERE number IS NULL"), 0);
    assert.deepEqual(await found(index, "firstword"), []);
    assert.deepEqual(await found(index, "secondword"), ["a.md"]);
    await assert.rejects(killed.commit(never), { name: "ConflictError" });
    assert.equal(count("SELECT count(*) AS n FROM documents_active"), 2);

    store.db.write(() =>
      store.db.statement("UPDATE state SET active = 1, visible_revision = visible_revision + 1").run(),
    );
    assert.deepEqual(await found(index, "firstword"), ["a.md"]);
    assert.deepEqual(await found(index, "secondword"), []);
    assert.deepEqual(await found(index, "otherword"), []);

    await commit({ c: "The thirdword stands." }, OTHER);
    assert.deepEqual(await found(index, "thirdword"), ["c.md"]);
    assert.deepEqual(await found(index, "firstword"), ["a.md"]);
    assert.deepEqual(await found(index, "secondword"), []);
    assert.deepEqual(await found(index, "otherword"), []);
  });

  test("a commit writes the same few rows however large the store", async () => {
    await commit(many("a", 250));
    const rowsBefore = count("SELECT total_changes() AS n");
    const draft = await index.draft(LIBRARY);
    await draft.put(await makeFile("a0", "A new text."), never);
    await draft.commit(never);
    const small = count("SELECT total_changes() AS n") - rowsBefore;
    assert.ok(small < 40, `${small} rows written for one changed document of 250`);
  });

  test("a draft that changes nothing makes no generation", async () => {
    await commit({ a: "The firstword stands." });
    const before = count("SELECT total_changes() AS n");
    await commit({});
    await commit({ a: "The firstword stands." });
    await commit({ unknown: null });
    assert.equal(count("SELECT total_changes() AS n"), before);
    assert.equal(count("SELECT count(*) AS n FROM generations WHERE number > 0"), 1);
  });

  test("move, copy, removal and return embed nothing", async () => {
    await commit({ a: "The firstword stands." });
    assert.equal(embedded.length, 1);
    await commit({ copy: "The firstword stands." });
    await commit({ copy: null });
    await commit({ back: "The firstword stands." });
    const label = { name: "z.md", path: "deep/z.md", url: "", fileType: "md", attributes: {} };
    const draft = await index.draft(LIBRARY);
    await draft.relabel("a" as ItemId, label);
    await draft.commit(never);
    assert.equal(embedded.length, 1);
    assert.deepEqual((await found(index, "firstword")).sort(), ["back.md", "z.md"]);
  });

  test("several operations on one item in one draft leave what the last one says", async () => {
    await commit({ a: "The firstword stands.", b: "The bword stands." });
    const draft = await index.draft(LIBRARY);
    await draft.put(await makeFile("a", "The secondword stands."), never);
    await draft.put(await makeFile("a", "The thirdword stands."), never);
    await draft.remove("b" as ItemId);
    await draft.put(await makeFile("b", "The bword stands."), never);
    await draft.put(await makeFile("c", "The cword stands."), never);
    await draft.remove("c" as ItemId);
    const { ready } = await draft.commit(never);
    assert.deepEqual(ready.map((ref) => ref.itemId).sort(), ["a", "b"]);
    assert.deepEqual(await found(index, "secondword"), []);
    assert.deepEqual(await found(index, "thirdword"), ["a.md"]);
    assert.deepEqual(await found(index, "bword"), ["b.md"]);
    assert.deepEqual(await found(index, "cword"), []);
    assert.equal(count("SELECT count(*) AS n FROM documents_active"), 2);
  });

  test("what no kept generation can see is cleaned up, bodies and generations with it", async () => {
    await commit({ a: "The firstword stands.", keep: "The keepword stands." });
    for (const word of ["second", "third", "fourth", "fifth"]) {
      await commit({ a: `The ${word}word stands.` });
    }
    assert.equal(count("SELECT count(*) AS n FROM bodies"), 6, "all are younger than a day");
    now += 2 * DAY;
    await commit({ a: "The sixthword stands." });
    // Kept: fourth, fifth, sixth (the last three generations), and what stood all the time.
    assert.equal(count("SELECT count(*) AS n FROM documents"), 4);
    assert.equal(count("SELECT count(*) AS n FROM bodies"), 4);
    assert.equal(count("SELECT count(*) AS n FROM chunks_text WHERE chunks_text MATCH 'firstword'"), 0);
    assert.equal(count("SELECT count(*) AS n FROM vectors"), 4);
    assert.equal(
      count("SELECT count(*) AS n FROM generations WHERE number > 0"),
      4,
      "the first one still has a document",
    );
    assert.deepEqual(await found(index, "sixthword"), ["a.md"]);
    assert.deepEqual(await found(index, "keepword"), ["keep.md"]);
  });

  test("cleanup is spread over commits, and ends", async () => {
    await commit(many("a", 900));
    await commit(Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`a${i}`, null])));
    for (const word of ["one", "two", "three"]) await commit({ w: `The ${word} stands.` });
    now += 2 * DAY;
    const left = [];
    for (const word of ["four", "five", "six", "seven", "eight", "nine"]) {
      await commit({ w: `The ${word} stands.` });
      left.push(count("SELECT count(*) AS n FROM documents WHERE item_id LIKE 'a%'"));
    }
    assert.ok((left[0] ?? 0) > 0, "one small commit does not pay for everything");
    assert.equal(left.at(-1), 0);
    assert.equal(count("SELECT count(*) AS n FROM bodies WHERE id NOT IN (SELECT body_id FROM documents)"), 0);
  });

  test("holdings list one moment, whatever is committed meanwhile", async () => {
    await commit(many("h", 1100));
    const items = new Set<string>();
    for await (const refs of index.holdings(LIBRARY)) {
      if (items.size === 0) await commit({ h1: null, h1090: null, h1095: "Changed.", extra: "The extra stands." });
      for (const { itemId } of refs) items.add(itemId);
    }
    assert.equal(items.size, 1100);
    assert.ok(items.has("h1") && items.has("h1090") && !items.has("extra"));
  });

  test("a store of format 1 gets its domains from the marks of its documents", async () => {
    const marked = async (item: string, text: string, marks: Record<string, string>) => {
      const file = await makeFile(item, text);
      return { ...file, label: { ...file.label, attributes: marks } };
    };
    const draft = await index.draft(LIBRARY);
    await draft.put(await marked("a", "The firstword stands.", { domain_id: DEMO }), never);
    await draft.put(await marked("b", "The lostword stands.", {}), never);
    await draft.commit(never);
    const left = await index.draft(LIBRARY);
    await apply(left, { ...many("k", 420), a: null }, makeFile);
    for (const table of ["documents", "generations"]) {
      store.db.statement(`UPDATE ${table} SET source_id = 'library' WHERE source_id <> '_direct'`).run();
    }
    store.db.statement("DROP INDEX documents_source").run();
    store.db.statement("PRAGMA user_version = 1").run();
    store.db.close();

    store = openStore(join(folder, "store.sqlite"), createNgramEmbedder());
    const held = [];
    for await (const page of index.holdings(LIBRARY)) held.push(...page.map((ref) => ref.itemId));
    assert.deepEqual(held, ["a"]);
    assert.deepEqual(await found(index, "firstword"), ["a.md"]);
    assert.deepEqual(await found(index, "lostword"), []);
    assert.equal(count("SELECT count(*) AS n FROM documents"), 1);
    assert.equal(count("SELECT count(*) AS n FROM generations WHERE number IS NULL"), 0);
    await commit({ a: null });
    assert.deepEqual(await found(index, "firstword"), []);
  });

  test("a store of a newer format is refused with a sentence", () => {
    store.db.statement("PRAGMA user_version = 99").run();
    assert.throws(() => openStore(join(folder, "store.sqlite"), createNgramEmbedder()), /newer release .*format 99/);
  });

  test("the source id of wire files is reserved", async () => {
    await assert.rejects(index.draft("_direct" as SourceId), { name: "BadInputError" });
  });
});

function counting(embedder: Embedder, seen: (texts: readonly string[]) => void): Embedder {
  return {
    model: embedder.model,
    revision: embedder.revision,
    dimensions: embedder.dimensions,
    embed(texts) {
      seen(texts);
      return embedder.embed(texts);
    },
  };
}

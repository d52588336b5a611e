// The full-text index of SQLite finds words, phrases and prefixes, and forgets what is removed.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createSqliteTextIndex } from "../../src/index/sqlite/sqlite-text-index.ts";
import { STORE_TABLES } from "../../src/index/sqlite/store-tables.ts";
import type { Phrase } from "../../src/index/store.ts";
import type { Sql, SqlDatabase } from "../../src/lib/sql/sql.ts";
import { openSqlite } from "../../src/lib/sql/sqlite-database.ts";

const phrase = (...words: string[]): Phrase => ({ words, beginning: false });

describe("the full-text index of SQLite", () => {
  let folder: string;
  let db: SqlDatabase;
  const texts = createSqliteTextIndex();
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "text-index-"));
    db = await openSqlite(join(folder, "store.db"), STORE_TABLES);
  });
  after(async () => {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });
  const add = async (sql: Sql, chunkId: number, text: string, headings = ""): Promise<void> => {
    await sql.insert("bodies (id, sha256, file_type, extractor, chunking, title, language)", [
      [chunkId, String(chunkId), "md", "", "", "", ""],
    ]);
    await sql.insert("chunks (id, body_id, position, section_path, page, text)", [[chunkId, chunkId, 0, "", 0, ""]]);
    await texts.addChunks(sql, [{ chunkId, headings: headings.split(" "), text: text.split(" ") }]);
  };
  const found = async (any: Phrase[], all: Phrase[] = []): Promise<number[]> =>
    (await texts.matchChunks(db, { any, all }, 10)).map(({ id }) => id);

  test("words, phrases, beginnings; what must occur and what may", async () => {
    await db.write(async (sql) => {
      await add(sql, 1, "alpha beta gamma");
      await add(sql, 2, "beta alpha delta", "gamma");
      await add(sql, 3, "epsilon err_404 err 404 日本 本語 語");
    });
    assert.deepEqual((await found([phrase("alpha")])).sort(), [1, 2]);
    assert.deepEqual(await found([phrase("alpha", "beta")]), [1]);
    assert.deepEqual(await found([phrase("gamma"), phrase("delta")], [phrase("alpha")]), [2, 1]);
    assert.deepEqual(await found([], [phrase("alpha"), phrase("epsilon")]), []);
    assert.deepEqual(await found([phrase("日本", "本語")]), [3]);
    assert.deepEqual(await found([{ words: ["eps"], beginning: true }]), [3]);
    assert.deepEqual(await found([phrase('" OR "alpha')]), []);
    const counts = await texts.countWords(db, ["alpha", "err_404", "nobody"]);
    assert.deepEqual(Object.fromEntries(counts), { alpha: 2, err_404: 1 });
  });

  test("words of a transaction that failed are not taken for known", async () => {
    const failed = db.write(async (sql) => {
      await add(sql, 10, "reisekostenabrechnung urlaubsantrag");
      throw new Error("disk full");
    });
    await assert.rejects(failed, /disk full/);
    assert.deepEqual(await texts.similarWords(db, "abrechnung", 5), []);
    await db.write((sql) => add(sql, 10, "reisekostenabrechnung urlaubsantrag"));
    assert.deepEqual(await texts.similarWords(db, "abrechnung", 5), ["reisekostenabrechnung"]);
    assert.deepEqual(await texts.similarWords(db, "urlaubsantrga", 5), ["urlaubsantrag"]);
  });

  test("removed chunks are not found", async () => {
    await db.write((sql) => texts.removeChunks(sql, [10]));
    assert.deepEqual(await found([phrase("urlaubsantrag")]), []);
  });

  test("frequent words are not ranked, but still find", async () => {
    await db.write(async (sql) => {
      const ids = Array.from({ length: 25_000 }, (_, at) => 1000 + at);
      await sql.insert(
        "bodies (id, sha256, file_type, extractor, chunking, title, language)",
        ids.map((id) => [id, String(id), "md", "", "", "", ""]),
      );
      await sql.insert(
        "chunks (id, body_id, position, section_path, page, text)",
        ids.map((id) => [id, id, 0, "", 0, ""]),
      );
      await texts.addChunks(
        sql,
        ids.map((chunkId) => ({
          chunkId,
          headings: chunkId === 20_000 ? ["often"] : [],
          text: chunkId === 9000 ? ["often", "seldom"] : ["often", `w${chunkId}`],
        })),
      );
    });
    assert.deepEqual(await found([phrase("often"), phrase("seldom")]), [9000], "the rare word decides");
    const often = await found([phrase("often")]);
    assert.deepEqual([often[0], often.length], [20_000, 10], "headings first");
    const among = { sql: "SELECT $1", values: [12_345] };
    const selected = await texts.matchChunks(db, { any: [phrase("often")], all: [] }, 10, among);
    assert.deepEqual(
      selected.map(({ id }) => id),
      [12_345],
    );
  });
});

// Full-text search in PostgreSQL finds the same with the same scores as in SQLite.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, type TestContext, test } from "node:test";
import { createPostgresTextIndex } from "../../src/index/postgres/postgres-text-index.ts";
import { STORE_TABLES as POSTGRES_TABLES } from "../../src/index/postgres/store-tables.ts";
import { createSqliteTextIndex } from "../../src/index/sqlite/sqlite-text-index.ts";
import { STORE_TABLES as SQLITE_TABLES } from "../../src/index/sqlite/store-tables.ts";
import type { Phrase, TextIndex, TextMatch, WordQuery } from "../../src/index/store.ts";
import { openPostgres, type Postgres } from "../../src/lib/sql/postgres-database.ts";
import type { Sql, SqlDatabase } from "../../src/lib/sql/sql.ts";
import { openSqlite } from "../../src/lib/sql/sqlite-database.ts";
import { Random } from "../stories/random.ts";
import { type PostgresServer, startPostgres } from "./start-postgres.ts";

interface Side {
  readonly db: SqlDatabase;
  readonly texts: TextIndex;
}

let server: PostgresServer;
let postgres: Postgres;
let folder = "";
let stores = 0;
before(async () => {
  server = await startPostgres();
  postgres = openPostgres(await server.createDatabase());
  folder = await mkdtemp(join(tmpdir(), "lockstep-text-"));
});
after(async () => {
  await postgres.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The same store twice, in SQLite and in PostgreSQL. */
async function openBoth(t: TestContext): Promise<readonly [Side, Side]> {
  const name = `store${++stores}`;
  const sqlite = await openSqlite(join(folder, `${name}.sqlite`), SQLITE_TABLES);
  t.after(() => sqlite.close());
  return [
    { db: sqlite, texts: createSqliteTextIndex() },
    { db: await postgres.openTables(name, POSTGRES_TABLES), texts: createPostgresTextIndex() },
  ];
}

const RARE = ["zyzzomat", "quibblet", "err_404", "übung", "日本", "本語", "x"];
const one = (...words: string[]): Phrase => ({ words, beginning: false });
const anyOf = (...phrases: Phrase[]): WordQuery => ({ any: phrases, all: [] });

/** 60 bodies with 5 passages each, whose words come from a small dictionary, so that everything repeats. */
async function fill(side: Side, seed: number): Promise<void> {
  const random = new Random(seed);
  const dictionary = [...RARE, ...Array.from({ length: 40 }, (_, at) => `w${at}`)];
  const words = (count: number): string[] =>
    Array.from({ length: count }, () => dictionary[Math.floor(random.next() ** 2 * dictionary.length)] ?? "x");
  await side.db.write(async (sql) => {
    const bodies = Array.from({ length: 60 }, (_, at) => at + 1);
    await sql.insert(
      "bodies (id, sha256, file_type, extractor, chunking, title, language)",
      bodies.map((id) => [id, `sha${id}`, "md", "", "", "", ""]),
    );
    const chunks = bodies.flatMap((bodyId) => Array.from({ length: 5 }, (_, at) => ({ bodyId, id: bodyId * 10 + at })));
    await sql.insert(
      "chunks (id, body_id, position, section_path, page, text)",
      chunks.map(({ id, bodyId }, at) => [id, bodyId, at, "", 0, ""]),
    );
    await side.texts.addChunks(
      sql,
      chunks.map(({ id }) => ({ chunkId: id, headings: words(2), text: words(5 + random.below(60)) })),
    );
    await side.texts.addLabels(
      sql,
      bodies.map((id) => ({ documentId: id, name: words(2), path: words(4), title: words(3) })),
    );
  });
}

function sameRanking(found: readonly TextMatch[], expected: readonly TextMatch[], about: string): void {
  const shown = (matches: readonly TextMatch[]): string[] =>
    matches.map(({ id, score }) => `${score.toPrecision(9)} ${id}`).sort();
  assert.deepEqual(shown(found), shown(expected), about);
}

const QUERIES: Readonly<Record<string, WordQuery>> = {
  "one word": anyOf(one("zyzzomat")),
  "several words": anyOf(one("quibblet"), one("w3"), one("w17"), one("übung")),
  "a word that most passages have": anyOf(one("zyzzomat"), one("w20")),
  "the same word twice": anyOf(one("w7"), one("w7"), one("w8")),
  "words one after the other": anyOf(one("quibblet", "err_404"), one("w1")),
  "three words one after the other, which repeat": anyOf(one("zyzzomat", "zyzzomat", "quibblet"), one("w1")),
  "the beginning of a word": anyOf({ words: ["w1"], beginning: true }),
  "words, the last of which goes on": anyOf({ words: ["zyzzomat", "w"], beginning: true }),
  "words that must occur": { any: [], all: [one("w5"), one("quibblet", "zyzzomat")] },
  "characters without blanks": anyOf(one("日本", "本語"), one("日本")),
  "a word nobody has": anyOf(one("nowhere"), one("w9")),
};

test("both databases find the same passages and documents with the same scores", async (t) => {
  const [sqlite, pg] = await openBoth(t);
  for (const side of [sqlite, pg]) await fill(side, 7);
  const ask = (side: Side, query: WordQuery): Promise<readonly [TextMatch[], TextMatch[]]> =>
    side.db.read(async (sql) => [
      await side.texts.matchChunks(sql, query, 1000),
      await side.texts.matchLabels(sql, query, 1000),
    ]);
  for (const [about, query] of Object.entries(QUERIES)) {
    const [expected, found] = [await ask(sqlite, query), await ask(pg, query)];
    assert.ok(expected[0].length > 0, `${about}: the test would show nothing`);
    sameRanking(found[0], expected[0], about);
    sameRanking(found[1], expected[1], `${about}, labels`);
    assert.deepEqual(
      found[0].map(({ score }) => score),
      found[0].map(({ score }) => score).sort((a, b) => b - a),
    );
  }
});

test("a required phrase leaves out what does not have it, however well the rest matches", async (t) => {
  const [, pg] = await openBoth(t);
  await fill(pg, 3);
  const query = { any: [one("w2"), one("w3")], all: [one("quibblet")] };
  const required = await pg.texts.matchChunks(pg.db, { any: [], all: query.all }, 1000);
  const both = await pg.texts.matchChunks(pg.db, query, 1000);
  const ids = (matches: readonly TextMatch[]): number[] => matches.map(({ id }) => id).sort((a, b) => a - b);
  assert.deepEqual(ids(both), ids(required));
  assert.notDeepEqual(
    both.map(({ id }) => id),
    required.map(({ id }) => id),
  );
});

test("a selection, a limit and a removal leave out the same in both", async (t) => {
  const [sqlite, pg] = await openBoth(t);
  for (const side of [sqlite, pg]) await fill(side, 11);
  const query = anyOf(one("zyzzomat"), one("w4"), one("w2", "w3"));
  const among = { sql: "SELECT id FROM bodies WHERE id > $1 AND id < $2", values: [20, 41] };
  const check = async (about: string): Promise<void> => {
    const ask = async (side: Side): Promise<TextMatch[]> => side.texts.matchChunks(side.db, query, 1000, among);
    const [expected, found] = [await ask(sqlite), await ask(pg)];
    // SQLite goes on counting the words of what is gone into the average length, so only what was found is compared.
    assert.deepEqual(found.map(({ id }) => id).sort(), expected.map(({ id }) => id).sort(), about);
    assert.ok(expected.every(({ id }) => id >= 210 && id < 410));
  };
  await check("a selection");
  assert.equal((await pg.texts.matchChunks(pg.db, query, 3)).length, 3);
  assert.deepEqual(
    (await pg.texts.matchLabels(pg.db, query, 1000, among)).filter(({ id }) => id <= 20 || id >= 41),
    [],
  );
  const gone = Array.from({ length: 60 }, (_, at) => 200 + at);
  for (const { db, texts } of [sqlite, pg]) await db.write((sql) => texts.removeChunks(sql, gone));
  await check("after a removal");
  await pg.db.write((sql) => pg.texts.removeLabels(sql, [21, 22, 23]));
  assert.ok((await pg.texts.matchLabels(pg.db, query, 1000)).every(({ id }) => id < 21 || id > 23));
  const left = await pg.db.all(
    "SELECT p.id FROM chunks_postings p LEFT JOIN chunks_text t ON t.id = p.id WHERE t.id IS NULL",
  );
  assert.deepEqual(left, []);
});

test("words are counted, and similar ones found by their spelling", async (t) => {
  const [, pg] = await openBoth(t);
  const add = (sql: Sql, id: number, ...text: string[]): Promise<void> =>
    pg.texts.addChunks(sql, [{ chunkId: id, headings: [], text }]);
  await pg.db.write(async (sql) => {
    for (let id = 1; id <= 120; id++) await add(sql, id, "often", ...(id <= 3 ? ["seldom"] : []));
    await add(sql, 200, "reisekostenabrechnung", "abrechnung", "reise", "kosten", "vacation", "vocation", "w123");
  });
  assert.deepEqual([...(await pg.texts.countWords(pg.db, ["often", "seldom", "never"]))].sort(), [
    ["often", 120],
    ["seldom", 3],
  ]);
  await pg.db.write(async (sql) => {
    for (let id = 300; id < 310; id++) await add(sql, id, "often", "never");
  });
  assert.deepEqual([...(await pg.texts.countWords(pg.db, ["often", "never"]))].sort(), [
    ["never", 10],
    ["often", 130],
  ]);
  assert.deepEqual(await pg.texts.similarWords(pg.db, "vacaton", 1), ["vacation"]);
  assert.deepEqual(await pg.texts.similarWords(pg.db, "kosten", 1), ["reisekostenabrechnung"]);
  assert.deepEqual(await pg.texts.similarWords(pg.db, "w124", 5), []);
});

test("a word as long as a file does no harm", async (t) => {
  const [, pg] = await openBoth(t);
  const blob = "abcdefghij".repeat(50_000);
  await pg.db.write((sql) => pg.texts.addChunks(sql, [{ chunkId: 1, headings: [blob], text: ["w1", blob] }]));
  assert.equal((await pg.texts.matchChunks(pg.db, anyOf(one(blob)), 5)).length, 1);
  await pg.db.write((sql) => pg.texts.removeChunks(sql, [1]));
  assert.deepEqual(await pg.db.all("SELECT * FROM chunks_postings"), []);
});

test("the tables of a store have the same names and columns in both databases", async (t) => {
  const [sqlite, pg] = await openBoth(t);
  const tables = await sqlite.db.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE '%text%' AND name NOT LIKE '%words%'",
  );
  assert.ok(tables.length > 8);
  for (const { name } of tables) {
    const expected = await sqlite.db.all<{ name: string }>(
      `SELECT name FROM pragma_table_info('${name}') ORDER BY name`,
    );
    const found = await pg.db.all<{ name: string }>(
      `SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 ORDER BY attname COLLATE "C"`,
      [name],
    );
    assert.deepEqual(
      found.map((column) => column.name),
      expected.map((column) => column.name),
      name,
    );
  }
  const state = "SELECT * FROM state";
  assert.deepEqual(await pg.db.get(state), { ...(await sqlite.db.get<object>(state)) });
});

// pgvector indexes large spaces, and finds what an exact search finds.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { VectorStoreId } from "../../src/contracts/ids.ts";
import { createNgramEmbedder } from "../../src/index/embedding/ngram-embedder.ts";
import { createScanVectorIndex } from "../../src/index/embedding/scan-vector-index.ts";
import { createFixedModel } from "../../src/index/embedding/vector-model.ts";
import { openPostgresStores, type PostgresStores } from "../../src/index/postgres/open-postgres-stores.ts";
import { preparePgvector } from "../../src/index/postgres/pgvector-index.ts";
import { STORE_TABLES } from "../../src/index/postgres/store-tables.ts";
import type { ChunkVector, Store, VectorMatch } from "../../src/index/store.ts";
import type { Sql, SqlDatabase } from "../../src/lib/sql/sql.ts";
import { Random } from "../stories/random.ts";
import { startPglite } from "./start-pglite.ts";

const DIMENSIONS = 24;
const SPACE = { id: 3, dimensions: DIMENSIONS };

let pglite: Awaited<ReturnType<typeof startPglite>>;
let provider: PostgresStores;
const open = (indexFrom: number): Promise<PostgresStores> =>
  openPostgresStores({
    url: pglite.url,
    model: createFixedModel(createNgramEmbedder()),
    storageFolder: "/",
    maxConnections: 1,
    indexFrom,
  });
before(async () => {
  pglite = await startPglite();
  provider = await open(300);
});
after(async () => {
  await provider.close();
  await pglite.stop();
});

function unit(random: Random): Float32Array {
  const vector = Float32Array.from({ length: DIMENSIONS }, () => random.next() - 0.5);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** Three chunks per body. */
function manyVectors(count: number, seed: number): ChunkVector[] {
  const random = new Random(seed);
  return Array.from({ length: count }, (_, at) => ({
    chunkId: at + 1,
    bodyId: Math.floor(at / 3) + 1,
    vector: unit(random),
  }));
}

async function filled(id: string, vectors: readonly ChunkVector[]): Promise<Store> {
  const store = await provider.open(id as VectorStoreId);
  await store.db.write(async (sql) => {
    await store.vectors.add(sql, SPACE.id, vectors.slice(0, 100));
    await store.vectors.add(sql, SPACE.id, vectors.slice(100));
  });
  return store;
}

/** Of so few rows the planner would rather sort them all. */
function throughTheIndex<T>(db: SqlDatabase, work: (sql: Sql) => Promise<T>): Promise<T> {
  return db.read(async (sql) => {
    await sql.run("SET LOCAL enable_sort = off");
    return work(sql);
  });
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
}

function exact(vectors: readonly ChunkVector[], query: Float32Array, limit: number): number[] {
  return vectors
    .map(({ chunkId, vector }) => ({ chunkId, similarity: dot(vector, query) }))
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, limit)
    .map(({ chunkId }) => chunkId);
}

function shared(found: readonly VectorMatch[], expected: readonly number[]): number {
  return found.filter(({ chunkId }) => expected.includes(chunkId)).length / expected.length;
}

test("with pgvector, a space that is large enough gets an HNSW index, and searches go through it", async () => {
  assert.equal(provider.vectorSearch, "pgvector");
  const vectors = manyVectors(900, 1);
  const { db, vectors: index } = await filled("vs_indexed", vectors);
  const query = unit(new Random(99));
  const found = await throughTheIndex(db, (sql) => index.nearest(sql, SPACE, query, 20));
  assert.ok(shared(found, exact(vectors, query, 20)) >= 0.9, "an approximate search finds nearly all of the nearest");
  for (const { chunkId, bodyId, similarity } of found) {
    const vector = vectors[chunkId - 1];
    assert.equal(bodyId, vector?.bodyId);
    assert.ok(Math.abs(similarity - dot(vector?.vector ?? query, query)) < 0.01);
  }
  assert.deepEqual(
    found.map(({ similarity }) => similarity),
    found.map(({ similarity }) => similarity).sort((a, b) => b - a),
  );
  const plan = await throughTheIndex(db, (sql) =>
    sql.all<Record<string, string>>(
      `EXPLAIN SELECT chunk_id FROM vectors WHERE space_id = 3
       ORDER BY near::halfvec(24) <=> '[${query.join(",")}]'::halfvec(24) LIMIT 20`,
    ),
  );
  assert.match(plan.map((row) => Object.values(row)[0]).join(), /Index Scan using vectors_near_3/);
});

test("a filter that lets few through still finds as many as were asked for", async () => {
  const vectors = manyVectors(900, 2);
  const { db, vectors: index } = await filled("vs_filtered", vectors);
  await db.insert(
    "bodies (id, sha256, file_type, extractor, chunking, title, language)",
    Array.from({ length: 300 }, (_, at) => [at + 1, `sha${at}`, "md", "", "", at % 30 === 0 ? "few" : "many", ""]),
  );
  const among = { sql: "SELECT id FROM bodies WHERE title = $1", values: ["few"] };
  const query = unit(new Random(5));
  const found = await throughTheIndex(db, (sql) => index.nearest(sql, SPACE, query, 10, among));
  const allowed = vectors.filter(({ bodyId }) => (bodyId - 1) % 30 === 0);
  const expected = exact(allowed, query, 10).filter((id) => dot(vectors[id - 1]?.vector ?? query, query) > 0);
  assert.ok(expected.length >= 8);
  assert.ok(shared(found, expected) >= 0.9, JSON.stringify(found));
  assert.ok(found.every(({ bodyId }) => (bodyId - 1) % 30 === 0));
});

test("a small space has no index, is searched exactly, and cosines of given passages come in their order", async () => {
  const vectors = manyVectors(120, 3);
  const { db, vectors: index } = await filled("vs_small", vectors);
  const query = unit(new Random(8));
  const found = await index.nearest(db, SPACE, query, 10);
  assert.deepEqual(
    found.map(({ chunkId }) => chunkId),
    exact(vectors, query, 10),
  );
  assert.deepEqual(await db.get("SELECT to_regclass('vectors_near_3') IS NULL AS none"), { none: 1 });
  const cosines = await index.similarities(db, SPACE, query, [7, 9999, 2]);
  for (const [at, id] of [7, 9999, 2].entries()) {
    const vector = vectors[id - 1];
    assert.ok(Math.abs((cosines[at] ?? 9) - (vector ? dot(vector.vector, query) : 0)) < 0.01);
  }
});

test("removed passages and dropped spaces are not found, and other spaces are not touched", async () => {
  const vectors = manyVectors(400, 4);
  const { db, vectors: index } = await filled("vs_removed", vectors);
  const other = { id: 4, dimensions: DIMENSIONS };
  const query = unit(new Random(6));
  const [best = 0] = exact(vectors, query, 1);
  await db.write((sql) => index.add(sql, other.id, vectors.slice(0, 50)));
  await db.write((sql) => index.remove(sql, [best]));
  assert.ok((await index.nearest(db, SPACE, query, 50)).every(({ chunkId }) => chunkId !== best));
  await db.write((sql) => index.drop(sql, SPACE.id));
  assert.deepEqual(await index.nearest(db, SPACE, query, 5), []);
  assert.equal((await index.nearest(db, other, query, 5)).length, 5);
  assert.deepEqual(await db.get("SELECT to_regclass('vectors_near_3') IS NULL AS none"), { none: 1 });
});

test("vectors written before the server had pgvector are taken along", async () => {
  const vectors = manyVectors(1500, 5);
  const name = "vs_earlier";
  const plain = await provider.openTables(name, () => STORE_TABLES);
  await plain.write((sql) => createScanVectorIndex().add(sql, SPACE.id, vectors));
  const { db, vectors: index } = await provider.open(name as VectorStoreId);
  const query = unit(new Random(7));
  assert.ok(shared(await index.nearest(db, SPACE, query, 20), exact(vectors, query, 20)) >= 0.9);
});

test("whatever has no near vector gets one when the store is opened, and when somebody adds to it", async () => {
  const vectors = manyVectors(1500, 6);
  const query = unit(new Random(9));
  const expected = exact(vectors, query, 20);
  const name = "vs_halfway" as VectorStoreId;
  const { db, vectors: index } = await filled(name, vectors.slice(0, 1498));
  const search = (): Promise<VectorMatch[]> => throughTheIndex(db, (sql) => index.nearest(sql, SPACE, query, 20));
  // As a kill in the middle leaves it, and a process that was started before the server had pgvector.
  await db.run("UPDATE vectors SET near = NULL WHERE chunk_id > 100");
  assert.ok(shared(await search(), expected) < 0.5, "the test would show nothing");
  await preparePgvector(db);
  assert.ok(shared(await search(), expected) >= 0.9);
  assert.deepEqual(await db.all("SELECT chunk_id FROM vectors WHERE near IS NULL"), []);

  await db.write((sql) => createScanVectorIndex().add(sql, SPACE.id, vectors.slice(1498, 1499)));
  await db.write((sql) => index.add(sql, SPACE.id, vectors.slice(1499)));
  assert.deepEqual(await db.all("SELECT chunk_id FROM vectors WHERE near IS NULL"), []);
});

test("a space that comes along with many vectors has its index before the first of them is filled in", async () => {
  const name = "vs_many";
  const plain = await provider.openTables(name, () => STORE_TABLES);
  await plain.write(async (sql) => {
    await createScanVectorIndex().add(sql, SPACE.id, manyVectors(400, 8));
    await sql.run(`INSERT INTO spaces VALUES (${SPACE.id}, 'm', '1', ${DIMENSIONS}, NULL, 400, 1, 0)`);
  });
  const { db } = await provider.open(name as VectorStoreId);
  assert.deepEqual(await db.get("SELECT to_regclass('vectors_near_3') IS NOT NULL AS there"), { there: 1 });
  assert.deepEqual(await db.all("SELECT chunk_id FROM vectors WHERE near IS NULL"), []);
});

test("text without any feature has a vector of length 0, which is close to nothing", async () => {
  const { db, vectors: index } = await provider.open("vs_empty" as VectorStoreId);
  const vector = new Float32Array(DIMENSIONS);
  await db.write((sql) => index.add(sql, SPACE.id, [{ chunkId: 1, bodyId: 1, vector }]));
  assert.deepEqual(await index.nearest(db, SPACE, unit(new Random(1)), 5), []);
  assert.deepEqual(await index.similarities(db, SPACE, unit(new Random(1)), [1]), [0]);
});

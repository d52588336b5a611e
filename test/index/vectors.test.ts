// Vector arithmetic is exact enough, and the search over vectors finds the nearest.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createDotProducts, plainDotProducts } from "../../src/index/embedding/dot-products.ts";
import { createScanVectorIndex, VectorTable } from "../../src/index/embedding/scan-vector-index.ts";
import { packVector } from "../../src/index/embedding/vectors.ts";
import { STORE_TABLES } from "../../src/index/sqlite/store-tables.ts";
import type { ChunkVector, VectorMatch } from "../../src/index/store.ts";
import type { SqlDatabase } from "../../src/lib/sql/sql.ts";
import { openSqlite } from "../../src/lib/sql/sqlite-database.ts";

/** Any numbers do, as long as they are the same each time. */
function pseudoRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function unitVector(random: () => number, dimensions: number): Float32Array {
  const vector = Float32Array.from({ length: dimensions }, () => random() - 0.5);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
}

describe("vectors in memory", () => {
  for (const dimensions of [3, 16, 100, 256]) {
    test(`the vector instructions and plain JavaScript agree, and with exact cosines nearly (${dimensions})`, () => {
      const random = pseudoRandom(dimensions);
      const vectors = Array.from({ length: 4099 }, () => unitVector(random, dimensions));
      const rows = vectors.map((vector, at) => ({ chunkId: at + 1, bodyId: at % 7, vector: packVector(vector) }));
      const query = unitVector(random, dimensions);
      const answers = [createDotProducts(), plainDotProducts()].map((dots): VectorMatch[] => {
        const table = new VectorTable(dimensions, dots);
        table.add(rows.slice(0, 10));
        table.add(rows.slice(10));
        return table.nearest(query, 20);
      });
      assert.deepEqual(answers[0], answers[1]);
      const exact = vectors.map((vector) => cosine(query, vector)).sort((a, b) => b - a);
      for (const [at, near] of (answers[0] ?? []).entries()) {
        assert.ok(Math.abs(near.similarity - (exact[at] ?? 0)) < 0.02, `${near.similarity} ${exact[at]}`);
      }
    });
  }

  test("similarities are those of the search, and 0 for chunks that are not there", () => {
    const random = pseudoRandom(5);
    const table = new VectorTable(32);
    const vectors = Array.from({ length: 50 }, () => unitVector(random, 32));
    table.add(vectors.map((vector, at) => ({ chunkId: at * 2, bodyId: 1, vector: packVector(vector) })));
    const query = unitVector(random, 32);
    const near = table.nearest(query, 5);
    const again = table.similarities(
      query,
      near.map(({ chunkId }) => chunkId),
    );
    for (const [at, { similarity }] of near.entries()) assert.ok(Math.abs(similarity - (again[at] ?? 0)) < 1e-6);
    assert.deepEqual(table.similarities(query, [1, 7, 1000]), [0, 0, 0]);
  });

  test("a question without any feature is close to nothing, and so is a vector of another length", () => {
    const table = new VectorTable(16);
    table.add([{ chunkId: 1, bodyId: 1, vector: packVector(new Float32Array(8).fill(0.3)) }]);
    assert.deepEqual(table.nearest(new Float32Array(16), 5), []);
    assert.deepEqual(table.nearest(new Float32Array(16).fill(0.25), 5), []);
  });
});

describe("exact search over the vectors of a store", () => {
  let folder: string;
  let db: SqlDatabase;
  const space = { id: 1, dimensions: 16 };
  const axis = (at: number): Float32Array => Float32Array.from({ length: 16 }, (_, i) => (i === at ? 1 : 0.01));
  const vector = (chunkId: number, at: number): ChunkVector => ({ chunkId, bodyId: chunkId + 100, vector: axis(at) });
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "vectors-"));
    db = await openSqlite(join(folder, "store.db"), STORE_TABLES);
  });
  after(async () => {
    await db.close();
    await rm(folder, { recursive: true, force: true });
  });

  test("takes in what others added, forgets what was removed, keeps to the selection", async () => {
    const [ours, theirs] = [createScanVectorIndex(), createScanVectorIndex()];
    const best = async (at: number): Promise<number | undefined> =>
      (await ours.nearest(db, space, axis(at), 1))[0]?.chunkId;
    await db.write((sql) => theirs.add(sql, 1, [vector(10, 0), vector(11, 1), vector(12, 2)]));
    assert.equal(await best(1), 11);
    await db.write((sql) => theirs.add(sql, 1, [vector(13, 3)]));
    assert.equal(await best(3), 13);
    await db.write((sql) => theirs.add(sql, 1, [vector(5, 4)]));
    assert.equal(await best(4), 5, "also one that came late with a lower id");

    const among = { sql: "SELECT $1 UNION ALL SELECT $2", values: [110, 112] };
    const near = await ours.nearest(db, space, axis(2), 10, among);
    assert.deepEqual(near.map(({ chunkId, bodyId }) => [chunkId, bodyId]).sort(), [
      [10, 110],
      [12, 112],
    ]);

    await db.write(async (sql) => {
      await theirs.remove(sql, [10, 11, 12]);
      await sql.run("UPDATE state SET dropped_chunks = dropped_chunks + 2000");
    });
    assert.deepEqual((await ours.nearest(db, space, axis(1), 10)).map(({ chunkId }) => chunkId).sort(), [13, 5]);
  });

  test("more vectors than one memory can hold are all found", async () => {
    const random = pseudoRandom(11);
    const large = { id: 7, dimensions: 64 };
    const maxBytes = 40 * 65_536;
    const vectors = Array.from({ length: 70_000 }, (_, at) => ({
      chunkId: at + 1,
      bodyId: at % 5,
      vector: unitVector(random, 64),
    }));
    await db.write((sql) => createScanVectorIndex().add(sql, large.id, vectors));
    const [small, roomy] = [createScanVectorIndex(() => createDotProducts(maxBytes)), createScanVectorIndex()];
    const query = unitVector(random, 64);
    const among = { sql: "SELECT $1", values: [3] };
    for (const selection of [undefined, among]) {
      const expected = await roomy.nearest(db, large, query, 30, selection);
      assert.equal(expected.length, 30);
      assert.deepEqual(await small.nearest(db, large, query, 30, selection), expected);
    }
    const asked = [1, 20_001, 69_999, 70_000, 80_000];
    assert.deepEqual(
      await small.similarities(db, large, query, asked),
      await roomy.similarities(db, large, query, asked),
    );
    await db.write((sql) => small.drop(sql, large.id));
    assert.deepEqual(await small.nearest(db, large, query, 30), []);
  });

  test("spaces do not mix, and a dropped one is gone", async () => {
    const index = createScanVectorIndex();
    const other = { id: 2, dimensions: 8 };
    await db.write((sql) => index.add(sql, 2, [{ chunkId: 10, bodyId: 110, vector: new Float32Array(8).fill(0.35) }]));
    assert.equal((await index.nearest(db, other, new Float32Array(8).fill(0.35), 10)).length, 1);
    assert.equal((await index.nearest(db, space, axis(3), 10)).length, 2);
    await db.write((sql) => index.drop(sql, 2));
    assert.equal((await index.nearest(db, other, new Float32Array(8).fill(0.35), 10)).length, 0);
  });
});

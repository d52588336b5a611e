import type { VectorStoreId } from "../src/contracts/ids.ts";
import { createLearntModel } from "../src/index/embedding/learnt-model.ts";
import { openPostgresStores } from "../src/index/postgres/open-postgres-stores.ts";
import type { ChunkVector, Store, VectorMatch } from "../src/index/store.ts";
import { startPglite } from "../test/postgres/start-pglite.ts";
import { Random } from "../test/stories/random.ts";
import { report } from "./measure.ts";

const COUNT = Number(process.env["BENCH_CHUNKS"] ?? 20_000);
const SPACE = { id: 1, dimensions: 256 };
const QUESTIONS = 50;
const BATCH = 1000;

const random = new Random(11);
/** Texts are about something, so their vectors are not all equally far from each other. */
const topics = Array.from({ length: 200 }, () =>
  Float32Array.from({ length: SPACE.dimensions }, () => random.next() - 0.5),
);

const pglite = await startPglite();
const provider = await openPostgresStores({
  url: pglite.url,
  model: createLearntModel(),
  storageFolder: "/",
  maxConnections: 1,
  indexFrom: COUNT,
});
try {
  await report(async () => measure(await provider.open("vs_bench" as VectorStoreId)));
} finally {
  await provider.close();
  await pglite.stop();
}

/** Without the index first, then the last batch makes it. */
async function measure(store: Store): Promise<Record<string, number>> {
  const vectors = Array.from({ length: COUNT }, (_, at) => ({ chunkId: at + 1, bodyId: at + 1, vector: near() }));
  const questions = Array.from({ length: QUESTIONS }, () => near());
  const fillMs = await timed(() => add(store, vectors.slice(0, -1)));
  const exact = await ask(store, questions);
  const indexMs = await timed(() => add(store, vectors.slice(-1)));
  const indexed = await ask(store, questions);
  const right = indexed.found.map((hits, at) => shared(hits, exact.found[at] ?? []));
  return {
    chunks: COUNT,
    vectorsPerSecond: Math.round((COUNT / fillMs) * 1000),
    indexSeconds: Math.round(indexMs / 1000),
    exactP50: exact.p50,
    indexedP50: indexed.p50,
    foundOfTheNearestTen: Math.round((right.reduce((sum, share) => sum + share, 0) / QUESTIONS) * 100) / 100,
  };
}

async function add(store: Store, vectors: readonly ChunkVector[]): Promise<void> {
  for (let from = 0; from < vectors.length; from += BATCH) {
    await store.db.write((sql) => store.vectors.add(sql, SPACE.id, vectors.slice(from, from + BATCH)));
  }
}

async function ask(store: Store, questions: readonly Float32Array[]): Promise<{ p50: number; found: VectorMatch[][] }> {
  const found: VectorMatch[][] = [];
  const times: number[] = [];
  for (const question of questions) {
    times.push(await timed(async () => found.push(await store.vectors.nearest(store.db, SPACE, question, 10))));
  }
  const p50 = times.sort((a, b) => a - b)[Math.floor(QUESTIONS / 2)] ?? Number.NaN;
  return { p50: Math.round(p50 * 10) / 10, found };
}

function near(): Float32Array {
  const topic = random.pick(topics) ?? new Float32Array(SPACE.dimensions);
  const vector = topic.map((value) => value + (random.next() - 0.5) * 0.8);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function shared(found: readonly VectorMatch[], expected: readonly VectorMatch[]): number {
  const ids = new Set(expected.map(({ chunkId }) => chunkId));
  return found.filter(({ chunkId }) => ids.has(chunkId)).length / Math.max(1, expected.length);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

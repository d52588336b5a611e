import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { VectorStoreId } from "../src/contracts/ids.ts";
import { analyze } from "../src/index/analyzer.ts";
import { DEFAULT_CHUNKING } from "../src/index/chunk-sections.ts";
import { createLearntModel } from "../src/index/embedding/learnt-model.ts";
import { type VectorRow, VectorTable } from "../src/index/embedding/scan-vector-index.ts";
import type { PreparedBody } from "../src/index/prepare-body.ts";
import { flattenSections } from "../src/index/prepare-body.ts";
import { parseQuery } from "../src/index/search/parse-query.ts";
import { searchStore } from "../src/index/search/search-store.ts";
import { openSqliteStores } from "../src/index/sqlite/open-sqlite-stores.ts";
import type { Store } from "../src/index/store.ts";
import { chunkSections, parseSections } from "../test/index/whole-sections.ts";
import { fillStore } from "./fill-store.ts";
import { report } from "./measure.ts";
import { questionOf, type ZipfText, zipfText } from "./zipf-text.ts";

const CHUNKS = Number(process.env["BENCH_CHUNKS"] ?? 100_000);
const QUESTIONS = Number(process.env["BENCH_QUESTIONS"] ?? 300);
const ROUNDS = 3;
const SECTIONS = 10;
const WORDS = Number(process.env["BENCH_WORDS"] ?? 110);
const STORE = "vs_bench" as VectorStoreId;
const never = new AbortController().signal;

const folder = await mkdtemp(join(tmpdir(), "lockstep-bench-"));
const provider = openSqliteStores(folder, { model: createLearntModel() });
try {
  const store = await provider.open(STORE);
  await report(() => measure(store));
} finally {
  await provider.close();
  await rm(folder, { recursive: true, force: true });
}

async function measure(store: Store): Promise<Record<string, number>> {
  const text = zipfText(Math.min(300_000, 20_000 + CHUNKS), 7);
  const fillMs = await timed(() =>
    fillStore(store, { chunks: CHUNKS, chunksPerBody: SECTIONS, bodyOf: (seed) => bodyOf(text, seed) }),
  );
  const learnMs = await timed(() => store.spaces.refresh(store, () => undefined, never));
  const rssBefore = process.memoryUsage.rss();
  const warmMs = await timed(() => searchStore(store, { text: "anything at all", limit: 10 }));
  // Before the floor takes vectors of its own into memory.
  const rss = process.memoryUsage.rss();
  const { floors, ours } = await compare(
    store,
    Array.from({ length: QUESTIONS }, () => questionOf(text)),
  );
  return {
    chunks: Number((await store.db.get<{ n: number }>("SELECT count(*) AS n FROM chunks"))?.n),
    chunksPerSecond: Math.round((CHUNKS / fillMs) * 1000),
    learnAndEmbedSeconds: Math.round(learnMs / 1000),
    firstSearchMs: Math.round(warmMs),
    floorP50: rounded(quantile(floors, 0.5)),
    floorP95: rounded(quantile(floors, 0.95)),
    searchP50: rounded(quantile(ours, 0.5)),
    searchP95: rounded(quantile(ours, 0.95)),
    vectorsMb: Math.round((rss - rssBefore) / 2 ** 20),
    rssMb: Math.round(rss / 2 ** 20),
  };
}

function bodyOf(text: ZipfText, seed: number): PreparedBody {
  const sections = Array.from(
    { length: SECTIONS },
    () => `## ${text.words(3).join(" ")}\n\n${text.words(WORDS).join(" ")}.`,
  );
  const markdown = `# ${text.words(4).join(" ")}\n\n${sections.join("\n\n")}`;
  const root = parseSections(markdown);
  const sha256 = createHash("sha256").update(`${seed} ${markdown}`).digest("hex");
  return {
    key: { sha256, fileType: "md", extractor: "bench", chunking: "bench" },
    title: markdown.slice(2, markdown.indexOf("\n")),
    language: "",
    sections: flattenSections(root),
    chunks: chunkSections(root, DEFAULT_CHUNKING).map(({ position, sectionPath, page, text: passage }) => ({
      position,
      sectionPath,
      page,
      text: passage,
      words: { headings: analyze(sectionPath), text: analyze(passage) },
    })),
  };
}

/** Each question in turn, so that whatever else the machine does meets both. The best of some rounds is what it takes. */
async function compare(store: Store, questions: readonly string[]): Promise<{ floors: number[]; ours: number[] }> {
  const floor = await openFloor(store, questions);
  const floors = questions.map(() => Number.POSITIVE_INFINITY);
  const ours = questions.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, text] of questions.entries()) {
      floors[at] = Math.min(floors[at] ?? 0, await timed(async () => floor.ask(at)));
      ours[at] = Math.min(ours[at] ?? 0, await timed(() => searchStore(store, { text, limit: 10 })));
    }
  }
  floor.close();
  return { floors, ours };
}

/** The same engine asked directly: one full-text query for the same words, one look at all vectors, nothing else. */
async function openFloor(
  store: Store,
  questions: readonly string[],
): Promise<{ ask(at: number): void; close(): void }> {
  const db = new DatabaseSync(join(folder, `${STORE}.sqlite`), { readOnly: true });
  db.exec("PRAGMA cache_size = -16000");
  const match = db.prepare("SELECT rowid, rank FROM chunks_text WHERE chunks_text MATCH ? ORDER BY rank LIMIT 200");
  const { id, embedder } = await store.spaces.active(store.db);
  const rows = db.prepare("SELECT chunk_id AS chunkId, body_id AS bodyId, vector FROM vectors WHERE space_id = ?");
  const table = new VectorTable(embedder.dimensions);
  for (const row of rows.iterate(id)) table.add([row as unknown as VectorRow]);
  const vectors = await embedder.embed(questions);
  const words = questions.map((question) => parseQuery(question).phrases.flatMap((phrase) => phrase.words));
  return {
    ask(at) {
      match.all(words[at]?.map((word) => `"${word}"`).join(" OR ") ?? "");
      table.nearest(vectors[at] ?? new Float32Array(embedder.dimensions), 100);
    },
    close: () => db.close(),
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

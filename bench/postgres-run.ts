import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import type { VectorStoreId } from "../src/contracts/ids.ts";
import { analyze } from "../src/index/analyzer.ts";
import { createLearntModel } from "../src/index/embedding/learnt-model.ts";
import { openPostgresStores } from "../src/index/postgres/open-postgres-stores.ts";
import type { PreparedBody } from "../src/index/prepare-body.ts";
import { searchStore } from "../src/index/search/search-store.ts";
import type { Store } from "../src/index/store.ts";
import { startPostgres } from "../test/postgres/start-postgres.ts";
import { fillStore } from "./fill-store.ts";
import { report } from "./measure.ts";
import { questionOf, type ZipfText, zipfText } from "./zipf-text.ts";

const CHUNKS = Number(process.env["BENCH_CHUNKS"] ?? 20_000);
const QUESTIONS = 200;
const CHUNKS_PER_BODY = 10;
const WORDS = 110;
const never = new AbortController().signal;

const server = await startPostgres(["-c", "shared_buffers=512MB"]);
const url = await server.createDatabase();
const provider = await openPostgresStores({ url, model: createLearntModel(), storageFolder: tmpdir() });
try {
  const store = await provider.open("vs_bench" as VectorStoreId);
  await report(() => measure(store));
} finally {
  await provider.close();
  await server.stop();
}

async function measure(store: Store): Promise<Record<string, number>> {
  const text = zipfText(Math.min(300_000, 20_000 + CHUNKS), 7);
  const fillMs = await timed(() =>
    fillStore(store, { chunks: CHUNKS, chunksPerBody: CHUNKS_PER_BODY, bodyOf: (seed) => bodyOf(text, seed) }),
  );
  const learnMs = await timed(() => store.spaces.refresh(store, () => undefined, never));
  for (const table of ["chunks_postings", "labels_postings", "chunks", "documents", "vectors"]) {
    await store.db.run(`VACUUM ANALYZE ${table}`);
  }
  const firstMs = await timed(() => searchStore(store, { text: "anything at all", limit: 10 }));
  const questions = Array.from({ length: QUESTIONS }, () => questionOf(text));
  const alone: number[] = [];
  for (const question of questions) alone.push(await timed(() => searchStore(store, { text: question, limit: 10 })));
  const togetherMs = await timed(() =>
    Promise.all(
      [0, 1, 2, 3].map(async (part) => {
        for (const question of questions.filter((_, at) => at % 4 === part))
          await searchStore(store, { text: question, limit: 10 });
      }),
    ),
  );
  const size = await store.db.get<{ mb: number }>("SELECT pg_database_size(current_database()) / 1048576 AS mb");
  return {
    chunks: CHUNKS,
    chunksPerSecond: Math.round((CHUNKS / fillMs) * 1000),
    learnAndEmbedSeconds: Math.round(learnMs / 1000),
    firstSearchMs: Math.round(firstMs),
    searchP50: rounded(quantile(alone, 0.5)),
    searchP95: rounded(quantile(alone, 0.95)),
    searchesPerSecondOfFourReaders: Math.round((QUESTIONS / togetherMs) * 1000),
    databaseMb: size?.mb ?? 0,
  };
}

function bodyOf(text: ZipfText, seed: number): PreparedBody {
  const title = text.words(4).join(" ");
  const chunks = Array.from({ length: CHUNKS_PER_BODY }, (_, position) => {
    const sectionPath = `${title} > ${text.words(3).join(" ")}`;
    const passage = `${text.words(WORDS).join(" ")}.`;
    const words = { headings: analyze(sectionPath), text: analyze(passage) };
    return { position, sectionPath, page: 0, text: passage, words };
  });
  const sha256 = createHash("sha256").update(`${seed} ${title}`).digest("hex");
  const key = { sha256, fileType: "md", extractor: "bench", chunking: "bench" };
  return { key, title, language: "", sections: [], chunks };
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

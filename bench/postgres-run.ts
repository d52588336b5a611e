import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import type { VectorStoreId } from "../src/contracts/ids.ts";
import { embedTogether } from "../src/index/draft/embed-bodies.ts";
import type { PreparedBody } from "../src/index/draft/prepare-body.ts";
import { createLearntModel } from "../src/index/embed/learnt-model.ts";
import { openPostgresHouse } from "../src/index/postgres/open-postgres-house.ts";
import { searchStore } from "../src/index/search/search-store.ts";
import { insertBodies } from "../src/index/storage/bodies.ts";
import { insertDocuments } from "../src/index/storage/documents.ts";
import { activateGeneration, insertGeneration } from "../src/index/storage/generations.ts";
import { writeInTurn } from "../src/index/storage/state.ts";
import type { Store } from "../src/index/storage/store.ts";
import { analyze } from "../src/index/text/analyze.ts";
import { startPostgres } from "../test/postgres/start-postgres.ts";
import { bulkDocument } from "./bulk-document.ts";
import { report } from "./measure.ts";
import { questionOf, type ZipfText, zipfText } from "./zipf-text.ts";

const CHUNKS = Number(process.env["BENCH_CHUNKS"] ?? 20_000);
const QUESTIONS = 200;
const CHUNKS_PER_BODY = 10;
const WORDS = 110;
/** Documents per transaction, as a draft writes them. */
const BATCH = 20;
const never = new AbortController().signal;

const server = await startPostgres(["-c", "shared_buffers=512MB"]);
const url = await server.createDatabase();
const house = await openPostgresHouse({ url, model: createLearntModel(), storageFolder: tmpdir() });
try {
  const store = await house.open("vs_bench" as VectorStoreId);
  await report(() => measure(store));
} finally {
  await house.close();
  await server.stop();
}

async function measure(store: Store): Promise<Record<string, number>> {
  const text = zipfText(Math.min(300_000, 20_000 + CHUNKS), 7);
  const fillMs = await timed(() => fill(store, text));
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

/** Analyse, embed and write, as the draft of a crawl does it. */
async function fill(store: Store, text: ZipfText): Promise<void> {
  const generation = await writeInTurn(store.db, (sql) =>
    insertGeneration(sql, { domainId: "BENCH", sourceId: "bulk" }, { crawl: "", createdAt: 1 }),
  );
  for (let done = 0; done < CHUNKS; done += CHUNKS_PER_BODY * BATCH) {
    const bodies = Array.from({ length: BATCH }, (_, at) => bodyOf(text, done + at));
    const space = await store.spaces.active(store.db);
    const embedded = await embedTogether(space, bodies, never);
    await writeInTurn(store.db, async (sql) => {
      const stored = await insertBodies(sql, store, embedded, space.id);
      await insertDocuments(
        sql,
        store,
        stored.map(({ id, title }, at) => bulkDocument(id, title, bodies[at]?.key.sha256 ?? "", generation)),
      );
    });
  }
  await writeInTurn(store.db, (sql) => activateGeneration(sql, generation, 2));
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

import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DomainId, FileId, ItemId, SourceId, VectorStoreId } from "../src/contracts/ids.ts";
import { createExtractor } from "../src/extract/extractor.ts";
import { labelWords } from "../src/index/analyzer.ts";
import { insertBodies } from "../src/index/bodies.ts";
import { insertDocuments, type NewDocument } from "../src/index/documents.ts";
import { commitGeneration } from "../src/index/embedded-draft.ts";
import { EmbeddedIndex } from "../src/index/embedded-index.ts";
import { createNgramEmbedder } from "../src/index/embedding/ngram-embedder.ts";
import { createFixedModel } from "../src/index/embedding/vector-model.ts";
import { countChanges, ensureDraft } from "../src/index/generations.ts";
import { openSqliteStores } from "../src/index/sqlite/open-sqlite-stores.ts";
import type { Store } from "../src/index/store.ts";
import { writeLocked } from "../src/index/store-state.ts";
import { median } from "./measure.ts";

const SIZES = (process.env["BENCH_DOCUMENTS"] ?? "1000,100000,1000000").split(",").map(Number);
const ROUNDS = 15;
const BATCH = 5000;
const SOURCE = { domainId: "BENCH", sourceId: "bulk" };

interface Times {
  readonly first: number;
  readonly activate: number[];
  readonly rollback: number[];
}

/**
 * How long readers would wait for the moment of a commit and of a rollback, by the size of the domain: the activation of a
 * draft that brings every document, of small ones after it, and going back and forth between them. 50 ms is the limit.
 */
export async function generationsBench(): Promise<void> {
  const measured: Times[] = [];
  for (const size of SIZES) {
    const folder = await mkdtemp(join(tmpdir(), "lockstep-bench-"));
    try {
      measured.push(await measure(join(folder, "index"), size));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  const [smallest, largest] = [measured[0], measured.at(-1)];
  if (!smallest || !largest) return;
  for (const what of ["activate", "rollback"] as const) {
    const ratio = median(largest[what]) / median(smallest[what]);
    process.stdout.write(
      `${what}: with ${SIZES.at(-1)} documents ${ratio.toFixed(2)} times as long as with ${SIZES[0]} ` +
        `(median ${median(largest[what]).toFixed(1)} ms, slowest ${Math.max(...largest[what]).toFixed(1)} ms; under 50 ms, and it must not grow)\n`,
    );
  }
}

async function measure(folder: string, size: number): Promise<Times> {
  const provider = openSqliteStores(folder, { model: createFixedModel(createNgramEmbedder()) });
  const id = "vs_bench" as VectorStoreId;
  try {
    const store = await provider.open(id);
    const index = new EmbeddedIndex({
      extractor: createExtractor(),
      domain: SOURCE.domainId as DomainId,
      store: () => provider.open(id),
    });
    const startedAt = performance.now();
    const all = await draftOf(store, size, 0);
    const builtMs = performance.now() - startedAt;
    const first = await timed(() => commit(store, all));
    const activate: number[] = [];
    const rollback: number[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      const draft = await draftOf(store, 10, round);
      activate.push(await timed(() => commit(store, draft)));
      rollback.push(await timed(() => index.generations.rollback(round)));
      rollback.push(await timed(() => index.generations.rollback(round + 1)));
      await index.generations.release();
    }
    const figures = [first, median(activate), Math.max(...activate), median(rollback), Math.max(...rollback)];
    const [all1, mid, max, back, backMax] = figures.map((ms) => `${ms.toFixed(1)} ms`);
    process.stdout.write(
      `${String(size).padStart(8)} documents (built in ${(builtMs / 1000).toFixed(0)} s): activating all of them ${all1}, ` +
        `a small draft ${mid} (slowest ${max}), rollback ${back} (slowest ${backMax})\n`,
    );
    return { first, activate: [first, ...activate], rollback };
  } finally {
    await provider.close();
  }
}

/** A draft with so many documents, written as a crawl would, except that they all have one body. */
async function draftOf(store: Store, size: number, round: number): Promise<number> {
  const space = await store.spaces.active(store.db);
  const key = { sha256: `shared ${round}`, fileType: "md", extractor: "1", chunking: "1:800/400" };
  const body = { key, title: "Shared", language: "en", sections: [], chunks: [] };
  const [stored, generation] = await writeLocked(store.db, async (sql) => [
    (await insertBodies(sql, store, [body], space.id))[0],
    await ensureDraft(sql, { ...SOURCE, generationId: randomUUID(), crawl: "", createdAt: 1 }),
  ]);
  for (let from = 0; from < size; from += BATCH) {
    const documents = Array.from({ length: Math.min(BATCH, size - from) }, (_, i) =>
      document(from + i, round, { born: generation, bodyId: stored?.id ?? null }),
    );
    await writeLocked(store.db, async (sql) => {
      await countChanges(sql, generation, documents.length, 0);
      await insertDocuments(sql, store, documents);
    });
  }
  return generation;
}

function document(i: number, round: number, life: Pick<NewDocument, "born" | "bodyId">): NewDocument {
  // In the order of the indexes, because how long the building takes is not the question here.
  const key = `${round}-${String(i).padStart(7, "0")}`;
  return {
    ...life,
    domainId: SOURCE.domainId as DomainId,
    sourceId: SOURCE.sourceId as SourceId,
    itemId: key as ItemId,
    fileId: `file-${key}` as FileId,
    name: "Report.md",
    path: `Archive/${key}.md`,
    url: `https://t.example/${i}`,
    fileType: "md",
    modifiedAt: "",
    attributes: "{}",
    file: "x.md",
    sha256: "0".repeat(64),
    bytes: 1,
    chunking: "800/400",
    status: "completed",
    errorCode: null,
    errorMessage: null,
    uploadedAt: 1,
    embeddedAt: 1,
    words: labelWords({ name: "Report.md", path: `Archive/${key}.md`, title: "" }),
  };
}

async function commit(store: Store, generation: number): Promise<void> {
  const nowSeconds = Math.floor(Date.now() / 1000);
  await commitGeneration(store, { id: generation, sourceId: SOURCE.sourceId, nowSeconds, allowEmpty: false });
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

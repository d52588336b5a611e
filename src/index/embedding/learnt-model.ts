import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Embedder } from "../../contracts/embedder.ts";
import { CancelledError } from "../../contracts/errors.ts";
import { sha256Of } from "../../lib/hash.ts";
import { moduleBeside } from "../../lib/module-beside.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import { ANALYZER_REVISION, analyze } from "../analyzer.ts";
import type { Store } from "../store.ts";
import { type LearnLimits, termWeight } from "./learn-vectors.ts";
import { HEADER_BYTES, type LearntModel, lastChunkOf, unpackLearnt } from "./learnt-codec.ts";
import { createNgramEmbedder } from "./ngram-embedder.ts";
import { learntHeadOf, type SpaceRow } from "./spaces.ts";
import type { Report, Successor, VectorModel } from "./vector-model.ts";
import { passageText } from "./vector-model.ts";
import { normalise } from "./vectors.ts";

/** Fewer passages are not enough to learn from. */
const MIN_PASSAGES = 100;
/** Limits for learning: some seconds and some hundred megabytes, however large the store. */
const MAX_PASSAGES = 20_000;
const MAX_WORDS = 30_000;
/** Share of new or deleted passages from which the model is learnt again. */
const DRIFT = 0.5;
const PAGE = 500;

/**
 * The built-in default: vectors learnt from the store's own passages, learnt again when the store has become another one.
 * A store too small to learn from compares parts of words.
 */
export function createLearntModel(): VectorModel {
  const small = createNgramEmbedder();
  const isSmall = ({ model, revision }: SpaceRow): boolean => model === small.model && revision === small.revision;
  return {
    first: async () => small,
    async embedderOf(space, learnt) {
      if (isSmall(space)) return small;
      if (!isReadable(space)) return undefined;
      const packed = await learnt();
      const vectors = packed ? unpackLearnt(packed) : undefined;
      return vectors && createLearntEmbedder(vectors, space.revision);
    },
    isOutgrown: async (sql, space, adding) => isSmall(space) && (await hasEnough(sql, MIN_PASSAGES - adding)),
    async successor(store, active, unfinished, report, signal) {
      const passages = await countChunks(store.db);
      if (passages < MIN_PASSAGES) {
        return isSmall(active) || isReadable(active) ? undefined : { embedder: small, learnt: null };
      }
      if (await fits(store.db, active, passages)) return undefined;
      if (unfinished && (await fits(store.db, unfinished, passages))) return unfinished;
      return learn(store, passages, report, signal);
    },
  };
}

/** Words of another analyzer would not be found in its vocabulary. */
function isReadable({ model, revision }: SpaceRow): boolean {
  return model === LEARNT_MODEL && revision.startsWith(`${ANALYZER_REVISION}-`);
}

async function fits(sql: Sql, space: SpaceRow, passages: number): Promise<boolean> {
  if (!isReadable(space)) return false;
  const head = await learntHeadOf(sql, space.id, HEADER_BYTES);
  if (!head) return false;
  const drift = space.chunks * DRIFT;
  return space.chunks - passages <= drift && (await countNewer(sql, lastChunkOf(head), drift)) <= drift;
}

/** Counting takes as long as there are chunks, so it is done only when ids do not already tell that there are few. */
async function countNewer(sql: Sql, lastChunkId: number, few: number): Promise<number> {
  const next = await sql.get<{ id: number }>("SELECT next_chunk AS id FROM state");
  const atMost = Number(next?.id ?? 1) - 1 - lastChunkId;
  if (atMost <= few) return atMost;
  return Number(
    (await sql.get<{ n: number }>("SELECT COUNT(*) AS n FROM chunks WHERE id > $1", [lastChunkId]))?.n ?? 0,
  );
}

async function learn(store: Store, passages: number, report: Report, signal: AbortSignal): Promise<Successor> {
  const learning = Math.min(passages, MAX_PASSAGES);
  report(`Learning vectors from ${learning} of ${passages} passages`);
  const last = await store.db.get<{ id: number }>("SELECT MAX(id) AS id FROM chunks");
  const lastChunkId = Number(last?.id ?? 0);
  const limits = { maxWords: MAX_WORDS, dimensions: dimensionsFor(learning) };
  const packed = await learnInThread(samplePassages(store.db, passages, lastChunkId), lastChunkId, limits, signal);
  const vectors = unpackLearnt(packed);
  if (!vectors) throw new Error("learn vectors: the thread that learns answered in another format");
  const hash = sha256Of(packed).slice(0, 16);
  return { embedder: createLearntEmbedder(vectors, `${ANALYZER_REVISION}-${hash}`), learnt: packed };
}

/** A few passages do not fill many directions with meaning; beyond 200 there is little to gain. */
function dimensionsFor(passages: number): number {
  return Math.min(200, Math.max(50, Math.round(passages / 8)));
}

/** Every so many passages one, in pages. Chosen by id, so that the same store gives the same sample. */
async function* samplePassages(sql: Sql, passages: number, lastChunkId: number): AsyncGenerator<string[]> {
  const step = Math.max(1, Math.ceil(passages / MAX_PASSAGES));
  for (let after = 0; after < lastChunkId; ) {
    const rows = await sql.all<{ id: number; sectionPath: string; text: string }>(
      `SELECT id, section_path AS "sectionPath", text FROM chunks
       WHERE id > $1 AND id <= $2 AND id % $3 = 0 ORDER BY id LIMIT ${PAGE}`,
      [after, lastChunkId, step],
    );
    if (rows.length > 0) yield rows.map(passageText);
    after = rows.length < PAGE ? lastChunkId : (rows.at(-1)?.id ?? lastChunkId);
  }
}

async function hasEnough(sql: Sql, wanted: number): Promise<boolean> {
  return wanted <= 0 || (await sql.all("SELECT 1 FROM chunks LIMIT $1", [wanted])).length === wanted;
}

async function countChunks(sql: Sql): Promise<number> {
  return Number((await sql.get<{ n: number }>("SELECT COUNT(*) AS n FROM chunks"))?.n ?? 0);
}

export const LEARNT_MODEL = "lockstep-learnt";

/** After this many texts, other work of the process gets a turn. */
const BATCH = 64;

/** Computes the vector of a text from those of its words; unknown words are ignored. */
export function createLearntEmbedder(learnt: LearntModel, revision: string): Embedder {
  const { words, idf, dimensions, scales, steps } = learnt;
  const positions = new Map(words.map((word, position) => [word, position]));
  const counts = new Uint32Array(words.length);
  const embed = (text: string): Float32Array => {
    const vector = new Float32Array(dimensions);
    const known: number[] = [];
    for (const word of analyze(text)) {
      const position = positions.get(word);
      if (position === undefined) continue;
      if (counts[position] === 0) known.push(position);
      counts[position] = (counts[position] as number) + 1;
    }
    for (const position of known) {
      const weight = termWeight(counts[position] as number, idf[position] as number);
      addSteps(vector, steps, position * dimensions, weight * (scales[position] as number));
      counts[position] = 0;
    }
    return normalise(vector);
  };
  return {
    model: LEARNT_MODEL,
    revision,
    dimensions,
    async embed(texts) {
      const vectors: Float32Array[] = [];
      for (const [at, text] of texts.entries()) {
        if (at % BATCH === BATCH - 1) await new Promise(setImmediate);
        vectors.push(embed(text));
      }
      return vectors;
    },
  };
}

/** Adds `factor` times the row at `from`. All the time goes here, hence four at a time. */
function addSteps(vector: Float32Array, steps: Int8Array, from: number, factor: number): void {
  const width = vector.length;
  let i = 0;
  for (; i + 3 < width; i += 4) {
    const at = from + i;
    vector[i] = (vector[i] as number) + factor * (steps[at] as number);
    vector[i + 1] = (vector[i + 1] as number) + factor * (steps[at + 1] as number);
    vector[i + 2] = (vector[i + 2] as number) + factor * (steps[at + 2] as number);
    vector[i + 3] = (vector[i + 3] as number) + factor * (steps[at + 3] as number);
  }
  for (; i < width; i++) vector[i] = (vector[i] as number) + factor * (steps[from + i] as number);
}

export interface LearnSettings {
  readonly limits: LearnLimits;
}

/** The last message has `lastChunkId`. */
export interface LearnMessage {
  readonly texts: readonly string[];
  readonly lastChunkId?: number;
}

/** Learns in a worker thread, because it takes seconds of CPU. Returns the result of packLearnt. */
async function learnInThread(
  pages: AsyncIterable<readonly string[]>,
  lastChunkId: number,
  limits: LearnLimits,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const worker = new Worker(moduleBeside(import.meta.url, "learn-worker"), {
    workerData: { limits } satisfies LearnSettings,
    resourceLimits: { maxOldGenerationSizeMb: 1024, maxYoungGenerationSizeMb: 8 },
  });
  const stop = (): void => void worker.terminate();
  signal.addEventListener("abort", stop, { once: true });
  const learnt = once(worker, "message", { signal });
  learnt.catch(() => undefined);
  try {
    for await (const texts of pages) worker.postMessage({ texts } satisfies LearnMessage);
    worker.postMessage({ texts: [], lastChunkId } satisfies LearnMessage);
    const [packed] = (await learnt) as [Uint8Array];
    return packed;
  } catch (error) {
    if (signal.aborted) throw new CancelledError("learn vectors: cancelled");
    throw new Error("learn vectors: the thread that learns failed", { cause: error });
  } finally {
    signal.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

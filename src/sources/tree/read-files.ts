import { createHash } from "node:crypto";
import { explain, NotFoundError } from "../../contracts/errors.ts";
import type { FileTree, TreeFile } from "../../contracts/file-tree.ts";
import type { Fetched } from "../../contracts/source.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { TimeSlice } from "../../lib/time-slice.ts";

/** Files hashed at the same time. */
const CONCURRENCY = 4;

export interface FailedFile {
  readonly file: TreeFile;
  readonly reason: string;
}

type ReadOutcome = { readonly file: TreeFile; readonly contentHash: string } | FailedFile;

interface ReadTools {
  readonly tree: FileTree;
  /** For small files that will be fetched. */
  readonly readCache?: ReadCache;
}

/** Hashes files; returns one outcome per file, in order. Throws only when aborted. */
export async function readFiles(
  files: readonly TreeFile[],
  tools: ReadTools,
  signal: AbortSignal,
): Promise<readonly ReadOutcome[]> {
  const outcomes: ReadOutcome[] = Array.from({ length: files.length });
  const timeSlice = new TimeSlice();
  await forEachConcurrent(files.entries(), CONCURRENCY, async ([i, file]) => {
    outcomes[i] = await readOne(file, tools, signal);
    if (timeSlice.isOver()) await timeSlice.next();
  });
  return outcomes;
}

async function readOne(file: TreeFile, tools: ReadTools, signal: AbortSignal): Promise<ReadOutcome> {
  try {
    return { file, contentHash: (await hashFile(file.path, file.stamp, tools, signal)).contentHash };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NotFoundError) return { file, reason: explain(error) };
  }
  try {
    // It changed since it was listed: its current content counts, and the next scan updates its stamp.
    const { contentHash, size } = await hashFile(file.path, "", tools, signal);
    return { file: { ...file, size, stamp: "" }, contentHash };
  } catch (error) {
    signal.throwIfAborted();
    return { file, reason: explain(error) };
  }
}

async function hashFile(
  path: string,
  stamp: string,
  { tree, readCache }: ReadTools,
  signal: AbortSignal,
): Promise<{ readonly contentHash: string; readonly size: number }> {
  const hash = createHash("sha256");
  let size = 0;
  let first: Uint8Array | undefined;
  for await (const chunk of tree.read(path, signal, stamp)) {
    hash.update(chunk);
    size += chunk.byteLength;
    first ??= chunk;
  }
  const contentHash = hash.digest("hex");
  if (first?.byteLength === size) readCache?.put(contentHash, first);
  return { contentHash, size };
}

interface FetchTools {
  readonly tree: FileTree;
  readonly readCache: ReadCache;
  /** Called when the content is another one although the stamp is the same. */
  readonly onOther: () => void;
}

/** Fetches the content that was hashed. `stamp`: the stamp of the file then, or "". */
export async function fetchFile(
  path: string,
  { stamp, contentHash }: { readonly stamp: string; readonly contentHash: string },
  { tree, readCache, onOther }: FetchTools,
  signal: AbortSignal,
): Promise<Fetched> {
  const bytes = readCache.take(contentHash);
  if (bytes) return { status: "fetched", body: asStream(bytes) };
  const chunks = tree.read(path, signal, stamp)[Symbol.asyncIterator]();
  try {
    const first = await chunks.next();
    return { status: "fetched", body: verifyHash(first, chunks, { contentHash, onOther }) };
  } catch (error) {
    if (error instanceof NotFoundError) return { status: "gone" };
    throw error;
  }
}

async function* asStream(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
}

async function* verifyHash(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
  { contentHash, onOther }: Pick<FetchTools, "onOther"> & { readonly contentHash: string },
): AsyncGenerator<Uint8Array, void> {
  const hash = createHash("sha256");
  try {
    for (let step = first; !step.done; step = await rest.next()) {
      hash.update(step.value);
      yield step.value;
    }
  } finally {
    await rest.return?.();
  }
  if (hash.digest("hex") === contentHash) return;
  onOther();
  throw new Error("it changed since it was listed; the next run fetches it");
}

/** Larger files are read again when they are fetched. */
const MAX_FILE_BYTES = 64 * 1024;
const MAX_BYTES = 8 * 1024 * 1024;
/** Memory per file besides its bytes, so that many tiny files are limited, too. */
const OVERHEAD_BYTES = 1024;

/** Caches small files that were read to be hashed, for the fetch that follows; each is returned once. */
export class ReadCache {
  readonly #byHash = new Map<string, Uint8Array>();
  #room = MAX_BYTES;

  put(contentHash: string, bytes: Uint8Array): void {
    const cost = costOf(bytes);
    if (bytes.byteLength > MAX_FILE_BYTES || cost > this.#room || this.#byHash.has(contentHash)) return;
    this.#byHash.set(contentHash, bytes);
    this.#room -= cost;
  }

  take(contentHash: string): Uint8Array | undefined {
    const bytes = this.#byHash.get(contentHash);
    if (bytes && this.#byHash.delete(contentHash)) this.#room += costOf(bytes);
    return bytes;
  }
}

function costOf({ byteLength }: Uint8Array): number {
  return byteLength + OVERHEAD_BYTES;
}

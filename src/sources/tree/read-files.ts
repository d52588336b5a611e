import { createHash } from "node:crypto";
import { explain, NotFoundError } from "../../contracts/errors.ts";
import type { FileTree, TreeFile } from "../../contracts/file-tree.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { Turn } from "../../lib/turn.ts";
import type { KeptBytes } from "./kept-bytes.ts";

/** Files on their way through the hash at the same time. */
const AT_ONCE = 4;

export interface FailedFile {
  readonly file: TreeFile;
  readonly reason: string;
}

export type ReadOutcome = { readonly file: TreeFile; readonly contentHash: string } | FailedFile;

interface ReadTools {
  readonly tree: FileTree;
  readonly kept: KeptBytes;
}

/** One outcome for each file, in their order. Only an abort throws. */
export async function readFiles(
  files: readonly TreeFile[],
  tools: ReadTools,
  signal: AbortSignal,
): Promise<readonly ReadOutcome[]> {
  const outcomes: ReadOutcome[] = Array.from({ length: files.length });
  const turn = new Turn();
  await forEachConcurrent(files.entries(), AT_ONCE, async ([i, file]) => {
    outcomes[i] = await readOne(file, tools, signal);
    if (turn.isOver()) await turn.next();
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
    // It changed since it was listed: what is there now counts, and the next look sees how it is listed then.
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
  { tree, kept }: ReadTools,
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
  if (first?.byteLength === size) kept.keep(contentHash, first);
  return { contentHash, size };
}

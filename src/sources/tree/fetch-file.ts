import { createHash } from "node:crypto";
import { NotFoundError } from "../../contracts/errors.ts";
import type { FileTree } from "../../contracts/file-tree.ts";
import type { Fetched } from "../../contracts/source.ts";
import type { KeptBytes } from "./kept-bytes.ts";

/** The bytes that were hashed. `stamp`: what the file had then, "" when nobody can tell. */
export async function fetchFile(
  path: string,
  { stamp, contentHash }: { readonly stamp: string; readonly contentHash: string },
  { tree, kept }: { readonly tree: FileTree; readonly kept: KeptBytes },
  signal: AbortSignal,
): Promise<Fetched> {
  const bytes = kept.take(contentHash);
  if (bytes) return { status: "fetched", body: oneChunk(bytes) };
  const chunks = tree.read(path, signal, stamp)[Symbol.asyncIterator]();
  try {
    const first = await chunks.next();
    return { status: "fetched", body: verified(first, chunks, contentHash) };
  } catch (error) {
    if (error instanceof NotFoundError) return { status: "gone" };
    throw error;
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield bytes;
}

async function* verified(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
  contentHash: string,
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
  if (hash.digest("hex") !== contentHash) throw new Error("it changed since it was listed; the next run fetches it");
}

import { passageText } from "../embed/passage-text.ts";
import type { NewBody } from "../storage/bodies.ts";
import type { NewChunk } from "../storage/chunks.ts";
import type { Space } from "../storage/store.ts";
import type { PreparedBody } from "./prepare-body.ts";

/** Passages that are embedded in one call: remote models take them together, and the process gets its turn in between. */
const SLICE_CHUNKS = 256;
/** After so many bodies in a row that fail alone, it is not the bodies. */
const MAX_FAILURES = 3;

/** The bodies with their vectors, in order; in place of one that could not be embedded, why not. Throws only when aborted. */
export async function embedBodies(
  space: Space,
  bodies: readonly PreparedBody[],
  signal: AbortSignal,
): Promise<(NewBody | EmbedFailure)[]> {
  const results: (NewBody | EmbedFailure)[] = [];
  let failures = 0;
  for (const slice of slicesOf(bodies)) {
    const together = failures < MAX_FAILURES ? await attempt(space, slice, signal) : undefined;
    if (together && !("failure" in together)) {
      results.push(...together);
      failures = 0;
      continue;
    }
    let last: EmbedFailure | undefined = together;
    for (const body of slice) {
      const alone = last && failures >= MAX_FAILURES ? last : await attempt(space, [body], signal);
      if ("failure" in alone) last = alone;
      failures = "failure" in alone ? failures + 1 : 0;
      results.push(...("failure" in alone ? [alone] : alone));
    }
  }
  return results;
}

export interface EmbedFailure {
  readonly failure: unknown;
}

async function attempt(
  space: Space,
  bodies: readonly PreparedBody[],
  signal: AbortSignal,
): Promise<NewBody[] | EmbedFailure> {
  try {
    return await embedTogether(space, bodies, signal);
  } catch (error) {
    signal.throwIfAborted();
    return { failure: error };
  }
}

/** Throws what the embedder throws. */
export async function embedTogether(
  space: Space,
  bodies: readonly PreparedBody[],
  signal: AbortSignal,
): Promise<NewBody[]> {
  const all = await embedChunks(
    space,
    bodies.flatMap(({ chunks }) => chunks),
    signal,
  );
  let next = 0;
  return bodies.map((body) => {
    const from = next;
    next += body.chunks.length;
    return { ...body, chunks: all.slice(from, next) };
  });
}

/** Throws what the embedder throws. */
export async function embedChunks(
  { embedder }: Space,
  chunks: PreparedBody["chunks"],
  signal: AbortSignal,
): Promise<NewChunk[]> {
  const vectors = chunks.length === 0 ? [] : await embedder.embed(chunks.map(passageText), signal);
  return chunks.map((chunk, at) => ({ ...chunk, vector: vectors[at] ?? null }));
}

function* slicesOf(bodies: readonly PreparedBody[]): Generator<PreparedBody[]> {
  let slice: PreparedBody[] = [];
  let chunks = 0;
  for (const body of bodies) {
    slice.push(body);
    chunks += body.chunks.length;
    if (chunks < SLICE_CHUNKS) continue;
    yield slice;
    slice = [];
    chunks = 0;
  }
  if (slice.length > 0) yield slice;
}

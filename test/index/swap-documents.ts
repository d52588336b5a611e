import type { Index } from "../../src/contracts/search-index.ts";

export const SWAPPED = 20;

/** Texts that share the word everybody asks for, bear the mark of their generation, and are otherwise unlike each other. */
export function swapText(i: number, generation: number): string {
  const own = Array.from({ length: 12 }, (_, k) => `w${i}x${k}`).join(" ");
  return `The hammerword of marker${generation}z and ${own}.`;
}

export interface Watched {
  answers: number;
  /** Answers with texts of two generations. */
  mixed: number;
  /** Answers that lack a document. */
  incomplete: number;
  last: number;
  readonly seen: Set<number>;
}

export function watched(): Watched {
  return { answers: 0, mixed: 0, incomplete: 0, last: 0, seen: new Set() };
}

/** Asks once, and notes what the answer is made of. */
export async function watchOnce(index: Index, into: Watched): Promise<void> {
  const hits = await index.search({ text: "hammerword", limit: 50 });
  const marks = new Set(hits.map((hit) => Number(/marker(\d+)z/.exec(hit.text)?.[1])));
  const documents = hits.reduce((sum, { details }) => sum + 1 + (details?.alsoIn.length ?? 0), 0);
  into.answers++;
  if (marks.size > 1) into.mixed++;
  if (documents !== SWAPPED) into.incomplete++;
  for (const mark of marks) into.seen.add(mark);
  into.last = Math.max(...marks);
}

/** How long chunks are, and how much of its predecessor each repeats. */
export interface Chunking {
  readonly maxTokens: number;
  readonly overlapTokens: number;
}

/** What the wire protocol calls `auto`. */
export const DEFAULT_CHUNKING: Chunking = { maxTokens: 800, overlapTokens: 400 };

/** As the column `chunking` of a document has it: `800/400`. */
export function chunkingKey({ maxTokens, overlapTokens }: Chunking): string {
  return `${maxTokens}/${overlapTokens}`;
}

export function parseChunkingKey(key: string): Chunking {
  const [maxTokens, overlapTokens] = key.split("/").map(Number);
  return { maxTokens: maxTokens ?? 0, overlapTokens: overlapTokens ?? 0 };
}

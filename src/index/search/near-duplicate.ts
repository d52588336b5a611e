/** Runs of four words, as numbers: what a passage has in common with another one shows in them, in whatever order. */
export type Shingles = ReadonlySet<number>;

const LENGTH = 4;
/** The share of shingles that two passages must have in common. */
const NEARLY_SAME = 0.8;

export function shinglesOf(words: readonly string[]): Shingles {
  const shingles = new Set<number>();
  const hashes = words.map(hash);
  for (let at = 0; at === 0 || at + LENGTH <= hashes.length; at++) {
    let value = 0;
    for (let i = at; i < at + LENGTH; i++) value = Math.imul(value, 31) + (hashes[i] ?? 0);
    shingles.add(value >>> 0);
  }
  return shingles;
}

export function isNearlySame(a: Shingles, b: Shingles): boolean {
  const [small, large] = a.size <= b.size ? [a, b] : [b, a];
  if (small.size < large.size * NEARLY_SAME) return false;
  let shared = 0;
  for (const shingle of small) if (large.has(shingle)) shared++;
  return shared >= NEARLY_SAME * (small.size + large.size - shared);
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value;
}

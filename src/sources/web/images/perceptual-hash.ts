/** Side of the picture that is hashed, and of the corner of its spectrum that counts. */
export const HASHED_SIDE = 32;
const CORNER = 8;

const COSINES = Array.from({ length: CORNER }, (_, frequency) =>
  Array.from({ length: HASHED_SIDE }, (_, at) => Math.cos((Math.PI * frequency * (2 * at + 1)) / (2 * HASHED_SIDE))),
);

/**
 * 64 bits, in hexadecimal, of what a picture looks like: which low frequencies of its cosine transform are above their median. Another size,
 * format or compression changes few of them. `grey` are 32 x 32 bytes.
 */
export function perceptualHash(grey: Uint8Array): string {
  const rows = lowFrequencies((line, at) => grey[line * HASHED_SIDE + at] ?? 0, HASHED_SIDE);
  const corner = lowFrequencies((column, at) => rows[at]?.[column] ?? 0, CORNER).flat();
  // The first is the brightness: so much larger than the others that it says nothing about them.
  const [, ...others] = corner;
  const median = others.toSorted((one, other) => one - other)[Math.floor(others.length / 2)] ?? 0;
  const bits = corner.map((value) => (value > median ? "1" : "0")).join("");
  return BigInt(`0b${bits}`).toString(16).padStart(16, "0");
}

function lowFrequencies(valueAt: (line: number, at: number) => number, lines: number): number[][] {
  return Array.from({ length: lines }, (_, line) =>
    COSINES.map((cosines) => cosines.reduce((sum, cosine, at) => sum + cosine * valueAt(line, at), 0)),
  );
}

/** Bits that differ. */
export function hammingDistance(one: string, other: string): number {
  let different = BigInt(`0x${one}`) ^ BigInt(`0x${other}`);
  let count = 0;
  for (; different > 0n; different &= different - 1n) count += 1;
  return count;
}

const HASH_BITS = 160;
const HASH_BYTES = HASH_BITS / 8;
/** Each byte lies this many bits further than the one before. */
const STEP_BITS = 11;

/** The hash Graph tells for files of a library: base64 of 20 bytes. */
export function quickXorHash(content: Uint8Array): string {
  const known = hashes.get(content);
  if (known !== undefined) return known;
  const hash = compute(content).toString("base64");
  hashes.set(content, hash);
  return hash;
}

const hashes = new WeakMap<Uint8Array, string>();

function compute(content: Uint8Array): Buffer {
  // After 160 bytes the positions repeat, so bytes of one position are folded into one first.
  const folded = new Uint8Array(HASH_BITS);
  content.forEach((byte, index) => {
    folded[index % HASH_BITS] = (folded[index % HASH_BITS] ?? 0) ^ byte;
  });
  const hash = Buffer.alloc(HASH_BYTES);
  folded.forEach((byte, index) => {
    const bit = (index * STEP_BITS) % HASH_BITS;
    const [at, shift] = [bit >> 3, bit & 7];
    const next = (at + 1) % HASH_BYTES;
    hash[at] = (hash[at] ?? 0) ^ ((byte << shift) & 0xff);
    hash[next] = (hash[next] ?? 0) ^ (byte >> (8 - shift));
  });
  const length = hash.readBigUInt64LE(HASH_BYTES - 8) ^ BigInt(content.length);
  hash.writeBigUInt64LE(length, HASH_BYTES - 8);
  return hash;
}

import { hash } from "node:crypto";

const LETTERS = "abcdefghijklmnopqrstuvwxyz234567";
const LENGTH = 26;

/** 130 bits of SHA-256 in lower-case base32: short, safe in file names and keys, and nobody meets two that are equal. */
export function shortHash(content: string | Uint8Array): string {
  const digest = hash("sha256", content, "buffer");
  let letters = "";
  let bits = 0;
  let held = 0;
  for (let i = 0; letters.length < LENGTH; i += 1) {
    bits = ((bits << 8) | digest.readUInt8(i)) & 0xfff;
    for (held += 8; held >= 5; held -= 5) letters += LETTERS.charAt((bits >> (held - 5)) & 31);
  }
  return letters.slice(0, LENGTH);
}

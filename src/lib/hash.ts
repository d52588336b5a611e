import { createHash, hash as hashOf } from "node:crypto";
import { open } from "node:fs/promises";
import { readSmallFile } from "./atomic-file.ts";
import { yieldIfDue } from "./time-slice.ts";

const PIECE_BYTES = 256 * 1024;

/** Returns the SHA-256 of the file, 64 lower-case hex digits. */
export async function hashFile(path: string): Promise<string> {
  await yieldIfDue();
  const small = readSmallFile(path);
  if (small) return sha256Of(small);
  const hash = createHash("sha256");
  const file = await open(path);
  try {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, piece.byteLength, null);
      if (bytesRead === 0) return hash.digest("hex");
      hash.update(piece.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

/** Returns the SHA-256 of the content, 64 lower-case hex digits. */
export function sha256Of(content: Uint8Array | string): string {
  return hashOf("sha256", content, "hex");
}

/** Returns `sha256:…`, in hexadecimal. */
export function contentDigest(content: Uint8Array | string): string {
  return `sha256:${sha256Of(content)}`;
}

/** The same for a text, ignoring how white space breaks it. */
export function textDigest(text: string): string {
  return contentDigest(text.replaceAll(/\s+/g, " ").trim());
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

interface HashRange {
  readonly from?: number;
  readonly to?: number;
  /** The hash of the preceding text: the result is that of both together. Another number gives another hash. */
  readonly start?: number;
}

/**
 * Returns a 32-bit hash of a text or part of it: FNV-1a over its UTF-16 units. Fast, and the same on every machine and in every release:
 * vectors depend on it. Only for tables and samples: collisions are easy to find.
 */
export function fastHash(text: string, { from = 0, to = text.length, start = FNV_OFFSET }: HashRange = {}): number {
  let hash = start;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  return hash >>> 0;
}

/** Spreads differences over all 32 bits, so that any of them are a fair sample (the last step of MurmurHash3). */
export function mixBits(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

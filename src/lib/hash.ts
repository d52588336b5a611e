import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { readSmallFile } from "./atomic-file.ts";
import { yieldIfDue } from "./time-slice.ts";

const PIECE_BYTES = 256 * 1024;

/** SHA-256 of the bytes on disk, 64 lower-case hex digits. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await yieldIfDue();
  const small = readSmallFile(path);
  if (small) return hash.update(small).digest("hex");
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

/** `sha256:…` of bytes, in hexadecimal. */
export function contentDigest(content: Uint8Array | string): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

/** The same of a text, however its lines are broken. */
export function textDigest(text: string): string {
  return contentDigest(text.replaceAll(/\s+/g, " ").trim());
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

interface HashRange {
  readonly from?: number;
  readonly to?: number;
  /** The hash of what precedes it: the result is that of both together. Another number gives another hash. */
  readonly start?: number;
}

/**
 * 32 bits of a text, or of a part of it: FNV-1a over its UTF-16 units. Fast, and the same on every machine and in every release: vectors are made
 * with it. For tables and samples only: it is easy to find two texts with the same hash.
 */
export function fastHash(text: string, { from = 0, to = text.length, start = FNV_OFFSET }: HashRange = {}): number {
  let hash = start;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  return hash >>> 0;
}

/** Spreads what differs anywhere over all 32 bits, so that some of them are a fair sample (the last step of MurmurHash3). */
export function mixBits(hash: number): number {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { readSmallFile } from "./atomic-file.ts";
import { breathe } from "./turn.ts";

const PIECE_BYTES = 256 * 1024;

/** SHA-256 of the bytes on disk, 64 lower-case hex digits. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  await breathe();
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

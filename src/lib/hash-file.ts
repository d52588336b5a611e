import { createHash } from "node:crypto";
import { open } from "node:fs/promises";

/** Most files end in the first piece; a larger one for each would cost more than to read them. */
const FIRST_BYTES = 16 * 1024;
const NEXT_BYTES = 256 * 1024;

/** SHA-256 of the bytes on disk, 64 lower-case hex digits. */
export async function hashFile(path: string): Promise<string> {
  const file = await open(path);
  try {
    const hash = createHash("sha256");
    let piece = Buffer.allocUnsafe(FIRST_BYTES);
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, piece.byteLength, null);
      if (bytesRead === 0) return hash.digest("hex");
      hash.update(piece.subarray(0, bytesRead));
      if (bytesRead === FIRST_BYTES) piece = Buffer.allocUnsafe(NEXT_BYTES);
    }
  } finally {
    await file.close();
  }
}

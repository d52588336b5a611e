import { rename } from "node:fs/promises";
import { isErrno } from "./atomic-file.ts";

/** A rename that may have been made before. */
export async function moveIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
}

import { stat } from "node:fs/promises";
import { isErrno } from "./atomic-file.ts";

/** Throws when nobody can say. */
export async function pathExists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false;
    throw error;
  }
}

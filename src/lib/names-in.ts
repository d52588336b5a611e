import { readdir } from "node:fs/promises";
import { isErrno } from "./atomic-file.ts";

/** What lies in a folder; nothing where there is no folder. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

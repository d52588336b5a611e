import { stat } from "node:fs/promises";
import { isErrno } from "./atomic-file.ts";

/** Changes whenever the file is replaced or rewritten: we replace by rename, so the inode tells. "" when there is none. */
export async function fileStamp(path: string): Promise<string> {
  try {
    const { ino, mtimeMs, size } = await stat(path);
    return `${ino}-${mtimeMs}-${size}`;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return "";
    throw error;
  }
}

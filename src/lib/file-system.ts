import { readdir, rename, stat } from "node:fs/promises";
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

/** What lies in a folder; nothing where there is no folder. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

/** A rename that may have been made before. */
export async function moveIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
}

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

import { readdir, rename, rmdir, stat } from "node:fs/promises";
import { dirname, sep } from "node:path";
import { isErrno } from "./atomic-file.ts";

/** Joins a normalised folder and a name, or a path with slashes, that leads nowhere else: `join` would look at every character, for each file several times. */
export function below(folder: string, path: string): string {
  return `${folder}${sep}${sep === "/" ? path : path.replaceAll("/", sep)}`;
}

/** Throws if it cannot be determined. */
export async function pathExists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false;
    throw error;
  }
}

/** Lists a folder; empty if it does not exist. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

/** Renames; does nothing if that was done before. */
export async function moveIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
}

/**
 * Returns a text that changes whenever the file is replaced or rewritten: files are replaced by rename, so the inode changes. "" if there
 * is none.
 */
export async function fileStamp(path: string): Promise<string> {
  try {
    const { ino, mtimeMs, size } = await stat(path);
    return `${ino}-${mtimeMs}-${size}`;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return "";
    throw error;
  }
}

/** Removes a folder and those above it up to `top`, which stays, as long as nothing is in them. */
export async function removeEmptyFolders(from: string, top: string): Promise<void> {
  for (let folder = from; folder.length > top.length; folder = dirname(folder)) {
    const isEmpty = await rmdir(folder).then(
      () => true,
      () => false,
    );
    if (!isEmpty) return;
  }
}

/** Returns the names of the subfolders; none if the folder does not exist. */
export async function foldersIn(path: string): Promise<string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

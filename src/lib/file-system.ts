import { type FileHandle, open, readdir, rename, rmdir, stat } from "node:fs/promises";
import { dirname, sep } from "node:path";
import { ifMissing } from "./atomic-file.ts";

/** Joins a normalised folder and a name, or a path with slashes, that leads nowhere else: `join` would look at every character, for each file several times. */
export function below(folder: string, path: string): string {
  return `${folder}${sep}${sep === "/" ? path : path.replaceAll("/", sep)}`;
}

/** Throws if it cannot be determined. */
export async function pathExists(path: string): Promise<boolean> {
  return (await stat(path).catch(ifMissing(undefined))) !== undefined;
}

/** Lists a folder; empty if it does not exist. */
export function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(ifMissing([]));
}

/** Opens a file for reading; undefined if it does not exist. */
export function openIfExists(path: string): Promise<FileHandle | undefined> {
  return open(path).catch(ifMissing(undefined));
}

/** Renames; does nothing if that was done before. */
export function moveIfThere(from: string, to: string): Promise<void> {
  return rename(from, to).catch(ifMissing(undefined));
}

/**
 * Returns a text that changes whenever the file is replaced or rewritten: files are replaced by rename, so the inode changes. "" if there
 * is none.
 */
export async function fileStamp(path: string): Promise<string> {
  const found = await stat(path).catch(ifMissing(undefined));
  return found ? `${found.ino}-${found.mtimeMs}-${found.size}` : "";
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
  const entries = await readdir(path, { withFileTypes: true }).catch(ifMissing([]));
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

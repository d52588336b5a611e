import { type Dirent, readdirSync } from "node:fs";
import { isErrno } from "../lib/atomic-file.ts";
import { folderOf, nameOf } from "../lib/tree-path.ts";

/** Entries of a folder, by lower-case name. */
interface Folder {
  readonly files: ReadonlySet<string>;
  /** Actual paths: in up to three folders, and `A` and `a` may both exist. */
  readonly folders: ReadonlyMap<string, readonly string[]>;
}

/**
 * Which paths have a file in any of the root folders, ignoring case. Each folder is read once, on first use, so the
 * caller must track its own changes.
 */
export class PathsOnDisk {
  readonly #roots: readonly string[];
  readonly #read = new Map<string, Folder>();

  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  has(path: string): boolean {
    const key = path.toLowerCase();
    return this.#at(folderOf(key)).files.has(nameOf(key));
  }

  /** Yields the lower-case paths of all files below a folder. */
  *below(path: string): Generator<string, void> {
    const folder = path.toLowerCase();
    const { files, folders } = this.#at(folder);
    for (const name of files) yield `${folder}/${name}`;
    for (const name of folders.keys()) yield* this.below(`${folder}/${name}`);
  }

  #at(folder: string): Folder {
    const known = this.#read.get(folder);
    if (known) return known;
    const paths = folder === "" ? this.#roots : this.#at(folderOf(folder)).folders.get(nameOf(folder));
    const read = readFolders(paths ?? []);
    this.#read.set(folder, read);
    return read;
  }
}

function readFolders(paths: readonly string[]): Folder {
  const files = new Set<string>();
  const folders = new Map<string, string[]>();
  for (const path of paths) {
    for (const entry of entriesOf(path)) {
      const name = entry.name.toLowerCase();
      if (entry.isDirectory()) folders.set(name, [...(folders.get(name) ?? []), `${path}/${entry.name}`]);
      else files.add(name);
    }
  }
  return { files, folders };
}

function entriesOf(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    // A folder that became empty since it was named is gone.
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

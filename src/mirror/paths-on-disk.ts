import { type Dirent, readdirSync } from "node:fs";
import { isErrno } from "../lib/atomic-file.ts";
import { folderOf, nameOf } from "../lib/tree-path.ts";

/** By their names in lower case. */
interface Folder {
  readonly files: ReadonlySet<string>;
  /** Where they really lie: in three folders, and `A` and `a` may both be there. */
  readonly folders: ReadonlyMap<string, readonly string[]>;
}

/**
 * Which places below some folders have a file: the same place in any of them, and whatever the case of its name. A folder is
 * read when it is first asked for and not again, so whoever changes something in it has to remember that.
 */
export class PathsOnDisk {
  readonly #roots: readonly string[];
  readonly #read = new Map<string, Folder>();

  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  has(path: string): boolean {
    const place = path.toLowerCase();
    return this.#at(folderOf(place)).files.has(nameOf(place));
  }

  /** The places of all files in a folder, and in those in it, in lower case. */
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

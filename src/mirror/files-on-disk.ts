import { folderOf } from "../lib/tree-path.ts";
import type { FileOnDisk } from "./scan-files.ts";

/** How many files may lie between two successive lookups. */
const AHEAD = 16;
/** Files of a folder that are compared one by one. */
const FEW = 256;

/** Position of a caller that looks up files in order. */
interface Cursor {
  next: number;
}

/** Where the files of one folder are. */
interface Folder {
  /** From and to in turns: a scan finds them side by side, files added later lie behind all others. */
  readonly ranges: number[];
  count: number;
  /** Of a large folder, from the first lookup on. */
  byPath?: Map<string, number>;
}

/**
 * Files by path, in scan order. The ledger has most of them in the same order: as long as lookups follow it, the path
 * is compared with the next one, which takes a tenth of the time of a hash table.
 */
export class FilesOnDisk implements ReadonlyMap<string, FileOnDisk> {
  /** "" for a deleted one. */
  readonly #paths: string[] = [];
  /** Three numbers per file: faster than objects. */
  readonly #numbers: number[] = [];
  readonly #getting: Cursor = { next: 0 };
  readonly #having: Cursor = { next: 0 };
  /** Built for the first lookup that finds its path in no other way: a table of all files would take ten times as long. */
  #folders: Map<string, Folder> | undefined;
  /** Paths that were set or deleted. */
  readonly changed = new Set<string>();
  size = 0;

  get(path: string): FileOnDisk | undefined {
    const at = this.#find(path, this.#getting);
    return at === undefined ? undefined : this.#at(at);
  }

  has(path: string): boolean {
    return this.#find(path, this.#having) !== undefined;
  }

  set(path: string, { size, mtimeMs, placedAtMs }: FileOnDisk): void {
    this.changed.add(path);
    const at = this.#lookUp(path);
    if (at === undefined) this.add(path, size, mtimeMs, placedAtMs);
    else this.#numbers.splice(at * 3, 3, size, mtimeMs, placedAtMs);
  }

  /** Adds a file that is not in it yet. */
  add(path: string, size: number, mtimeMs: number, placedAtMs: number): void {
    const at = this.#paths.push(path) - 1;
    if (this.#folders) {
      addTo(this.#folders, folderOf(path), at, at + 1);
      this.#folders.get(folderOf(path))?.byPath?.set(path, at);
    }
    this.#numbers.push(size, mtimeMs, placedAtMs);
    this.size += 1;
  }

  delete(path: string): void {
    this.changed.add(path);
    const at = this.#lookUp(path);
    if (at === undefined) return;
    this.#paths[at] = "";
    this.#folders?.get(folderOf(path))?.byPath?.delete(path);
    this.size -= 1;
  }

  *keys(): MapIterator<string> {
    for (const path of this.#paths) if (path) yield path;
  }

  *values(): MapIterator<FileOnDisk> {
    for (const [, file] of this) yield file;
  }

  *entries(): MapIterator<[string, FileOnDisk]> {
    for (const [at, path] of this.#paths.entries()) if (path) yield [path, this.#at(at)];
  }

  [Symbol.iterator](): MapIterator<[string, FileOnDisk]> {
    return this.entries();
  }

  forEach(onFile: (file: FileOnDisk, path: string, all: ReadonlyMap<string, FileOnDisk>) => void): void {
    for (const [path, file] of this) onFile(file, path, this);
  }

  #at(at: number): FileOnDisk {
    const numbers = this.#numbers;
    return {
      size: numbers[at * 3] ?? 0,
      mtimeMs: numbers[at * 3 + 1] ?? 0,
      placedAtMs: numbers[at * 3 + 2] ?? 0,
    };
  }

  #find(path: string, cursor: Cursor): number | undefined {
    if (path === "") return undefined;
    // Start again.
    if (cursor.next >= this.#paths.length) cursor.next = 0;
    if (this.#paths[cursor.next] === path) return cursor.next++;
    const at = this.#findAhead(path, cursor.next) ?? this.#lookUp(path);
    if (at !== undefined) cursor.next = at + 1;
    return at;
  }

  #findAhead(path: string, from: number): number | undefined {
    const end = Math.min(from + AHEAD, this.#paths.length);
    for (let at = from + 1; at < end; at++) if (this.#paths[at] === path) return at;
    return undefined;
  }

  #lookUp(path: string): number | undefined {
    if (path === "") return undefined;
    this.#folders ??= foldersOf(this.#paths);
    const folder = this.#folders.get(folderOf(path));
    if (!folder) return undefined;
    if (folder.count > FEW) {
      folder.byPath ??= this.#byPath(folder);
      return folder.byPath.get(path);
    }
    for (const at of positionsIn(folder)) if (this.#paths[at] === path) return at;
    return undefined;
  }

  #byPath(folder: Folder): Map<string, number> {
    const found = new Map<string, number>();
    for (const at of positionsIn(folder)) found.set(this.#paths[at] ?? "", at);
    return found;
  }
}

function* positionsIn({ ranges }: Folder): Generator<number> {
  for (let i = 0; i < ranges.length; i += 2) for (let at = ranges[i] ?? 0; at < (ranges[i + 1] ?? 0); at++) yield at;
}

function foldersOf(paths: readonly string[]): Map<string, Folder> {
  const folders = new Map<string, Folder>();
  let [key, from] = ["", 0];
  for (let at = 0; at < paths.length; at++) {
    const path = paths[at] ?? "";
    if (path.lastIndexOf("/") === key.length && path.startsWith(key)) continue;
    addTo(folders, key, from, at);
    [key, from] = [folderOf(path), at];
  }
  addTo(folders, key, from, paths.length);
  return folders;
}

function addTo(folders: Map<string, Folder>, key: string, from: number, to: number): void {
  const folder = folders.get(key) ?? { ranges: [], count: 0 };
  folders.set(key, folder);
  folder.count += to - from;
  const { ranges } = folder;
  if (ranges.at(-1) === from) ranges[ranges.length - 1] = to;
  else ranges.push(from, to);
}

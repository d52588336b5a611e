import type { ItemId } from "../contracts/ids.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Sighting } from "../contracts/source.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { fastHash, mixBits } from "../lib/hash.ts";
import { distinctPath, localPath, plainPath } from "../mirror/local-path.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { PathsOnDisk } from "../mirror/paths-on-disk.ts";

/**
 * Assigns paths of the mirror to items. A path is the same below `01_originals/`, `02_embedded/` and `03_failed/`,
 * because an item's file moves between them. Two items never share a file: names that differ at the source can be the
 * same name on our disk, and an item whose removal is held may still have the path that a new item wants. A file never
 * takes the path of a folder that others need: containers have `a` and `a/b`.
 */
export class PathClaims {
  readonly #mirror: Mirror;
  /** If present, files on disk count as owned; undefined: `#owners` has all owners. */
  readonly #disk: PathsOnDisk | undefined;
  /**
   * Owners by path hash: the paths of a large source as strings would need more memory than all its map files. A hash
   * collision only makes a name longer.
   */
  readonly #owners = new Map<number, ItemId>();
  /**
   * Paths on disk that items left in this run, in lower case, whether or not their files still lie there. Not hashed: a
   * collision would overwrite a file.
   */
  readonly #vacated = new Set<string>();
  /** How many claims lie below each folder, by the hash of its path. */
  readonly #below = new Map<number, number>();
  /** Items that did not get the path they wanted, and that path. */
  readonly #displaced = new Map<ItemId, string>();

  /** Items whose name was marked by an earlier run, and the name without the mark. */
  readonly #marked = new Map<ItemId, string>();

  private constructor(mirror: Mirror, disk?: PathsOnDisk) {
    this.#mirror = mirror;
    this.#disk = disk;
  }

  /** Loads the owners of paths from the ledger; does not look at the disk. */
  static async of(ledger: Pick<Ledger, "states">, mirror: Mirror): Promise<PathClaims> {
    const claims = new PathClaims(mirror);
    for await (const page of ledger.states()) {
      for (const { itemId, file } of page) if (file) claims.#restore(mirror.relativePath(file), itemId);
    }
    return claims;
  }

  /**
   * Takes the files on disk as owned. Only for a mirror that has exactly the files of the ledger: then a few changes
   * need not read all of the ledger. `marked`: files whose names may be marked.
   */
  static onDisk(mirror: Mirror, marked: ReadonlyMap<ItemId, string> = new Map()): PathClaims {
    const claims = new PathClaims(mirror, mirror.places());
    for (const [itemId, file] of marked) claims.#restoreMark(mirror.relativePath(file), itemId);
    return claims;
  }

  /** Returns the path for an item with this path at the source. Releases `current`, the file it has, first. */
  claim(item: Pick<Sighting, "itemId" | "path" | "documentType">, current: string): string {
    this.release(item.itemId, current);
    this.#marked.delete(item.itemId);
    const wanted = localPath(withType(item), item.itemId);
    const taken = this.#takenBy(wanted, item.itemId);
    if (taken === undefined) this.#displaced.delete(item.itemId);
    else this.#displaced.set(item.itemId, wanted);
    const path = taken === undefined ? wanted : distinctPath(taken, item.itemId) + wanted.slice(taken.length);
    this.#own(path, item.itemId);
    return path;
  }

  /**
   * Yields wanted paths that are free by now: two files that swapped names blocked each other. A path that was taken
   * again is skipped.
   */
  *nowFree(): Generator<{ readonly itemId: ItemId; readonly wanted: string }, void> {
    for (const [itemId, wanted] of this.#displaced) {
      if (this.#takenBy(wanted, itemId) === undefined) yield { itemId, wanted };
    }
  }

  /** Yields plain names that are free by now, for names that a killed run left marked. */
  *stillMarked(): Generator<{ readonly itemId: ItemId; readonly wanted: string }, void> {
    for (const [itemId, wanted] of this.#marked) {
      if (this.#takenBy(wanted, itemId) === undefined) yield { itemId, wanted };
    }
  }

  /** Moves the item from a file to a free path. */
  transfer(itemId: ItemId, from: string, path: string): void {
    this.release(itemId, from);
    this.#own(path, itemId);
    this.#displaced.delete(itemId);
    this.#marked.delete(itemId);
  }

  /** Undoes a claim. The item gets its earlier file back, unless another item has that by now. */
  giveBack(itemId: ItemId, claimed: string, before: string): void {
    this.release(itemId, claimed);
    this.#displaced.delete(itemId);
    if (before && this.isFree(before)) this.#own(this.#mirror.relativePath(before), itemId);
  }

  release(itemId: ItemId, file: string): void {
    if (!file) return;
    const path = this.#mirror.relativePath(file);
    const key = hashOf(path);
    const owner = this.#owners.get(key);
    if (owner !== undefined && owner !== itemId) return;
    if (this.#disk) this.#vacated.add(path.toLowerCase());
    if (this.#owners.delete(key)) this.#count(path, -1);
  }

  /** Returns the item that claimed the path in this run, or had it in the ledger. */
  ownerOf(file: string): ItemId | undefined {
    return this.#owners.get(hashOf(this.#mirror.relativePath(file)));
  }

  isFree(file: string): boolean {
    const path = this.#mirror.relativePath(file);
    return !this.#owners.has(hashOf(path)) && !this.#isOnDisk(path);
  }

  /** Returns the path, or the folder above it, that another item has; undefined: it is free. */
  #takenBy(path: string, itemId: ItemId): string | undefined {
    const key = hashOf(path);
    // Where a file lay there was no folder, and no file above it: what blocks the path now is of this run.
    const wasFile = this.#vacated.has(path.toLowerCase());
    const isOthers = (at: string): boolean => {
      const owner = this.#owners.get(hashOf(at));
      return owner === undefined ? !wasFile && this.#isOnDisk(at) : owner !== itemId;
    };
    if (isOthers(path) || this.#below.has(key) || (!wasFile && this.#hasFilesBelow(path))) return path;
    return foldersOf(path).find(isOthers);
  }

  /** Whether there is a file at the path that this run has not released. */
  #isOnDisk(path: string): boolean {
    return this.#disk !== undefined && !this.#vacated.has(path.toLowerCase()) && this.#disk.has(path);
  }

  #hasFilesBelow(path: string): boolean {
    for (const file of this.#disk?.below(path) ?? []) if (!this.#vacated.has(file)) return true;
    return false;
  }

  #restore(path: string, itemId: ItemId): void {
    this.#own(path, itemId);
    this.#restoreMark(path, itemId);
  }

  /** Remembers a marked name: a killed run may have left it, and the plain one may be free by now. */
  #restoreMark(path: string, itemId: ItemId): void {
    const plain = plainPath(path, itemId);
    if (plain !== undefined) this.#marked.set(itemId, plain);
  }

  #own(path: string, itemId: ItemId): void {
    const key = hashOf(path);
    if (!this.#owners.has(key)) this.#count(path, 1);
    this.#owners.set(key, itemId);
  }

  #count(path: string, by: number): void {
    hashOf(path, (folder) => {
      const count = (this.#below.get(folder) ?? 0) + by;
      if (count === 0) this.#below.delete(folder);
      else this.#below.set(folder, count);
    });
  }
}

/**
 * Returns a hash of the path in lower case: some disks do not distinguish `A` from `a`, and storage folders move
 * between disks. Calls `folder` with the hash of each folder above the path. Two 32-bit hashes, of which 53 bits fit
 * into a number.
 */
function hashOf(path: string, folder?: (hash: number) => void): number {
  const text = path.toLowerCase();
  let [a, b] = STARTS;
  for (let from = 0; ; ) {
    const slash = text.indexOf("/", from + 1);
    const to = slash === -1 ? text.length : slash;
    a = fastHash(text, { from, to, start: a });
    b = fastHash(text, { from, to, start: b });
    const hash = a * 0x200000 + (mixBits(b) >>> 11);
    if (slash === -1) return hash;
    folder?.(hash);
    from = slash;
  }
}

const STARTS: readonly [number, number] = [0x811c9dc5, 0x9747b28c];

/** The folders above the path, outermost first. */
function foldersOf(path: string): string[] {
  const names = path.split("/");
  return names.slice(1).map((_, at) => names.slice(0, at + 1).join("/"));
}

/** Appends the type of the document (`Home.aspx.html`), unless the name has it already. */
function withType({ path, documentType }: Pick<Sighting, "path" | "documentType">): string {
  return fileTypeOf(path) === documentType ? path : `${path}.${documentType}`;
}

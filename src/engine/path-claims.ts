import type { ItemId } from "../contracts/ids.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Sighting } from "../contracts/source.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { fastHash, mixBits } from "../lib/hash.ts";
import { distinctPath, localPath, plainPath } from "../mirror/local-path.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { PathsOnDisk } from "../mirror/paths-on-disk.ts";

/**
 * Who has which place in the mirror: a path below `01_originals/`, `02_embedded/` and `03_failed/` alike, because an
 * item's file goes from one to the other. Two items never share a file: names that differ at the source can be one name
 * on our disk, and a held removal may still sit where a new item wants to go. Nor does a file take the place of a folder
 * that others need: containers have `a` and `a/b`.
 */
export class PathClaims {
  readonly #mirror: Mirror;
  /** What lies there is what items have; undefined: the owners are all there are. */
  readonly #disk: PathsOnDisk | undefined;
  /** By their hashes: the paths of a large source as texts would weigh more than all its map files. Two that are taken for one only make a name longer. */
  readonly #owners = new Map<number, ItemId>();
  /** Places on disk that items of this run have left, in lower case, whether or not their files still lie there: one taken for another would be written over. */
  readonly #left = new Set<string>();
  /** How many claims lie below each folder, by the hash of its path. */
  readonly #below = new Map<number, number>();
  /** Items that did not get the place they wanted, and which one that was. */
  readonly #displaced = new Map<ItemId, string>();

  /** Items that have a marked name from an earlier run, and the plain one. */
  readonly #marked = new Map<ItemId, string>();

  private constructor(mirror: Mirror, disk?: PathsOnDisk) {
    this.#mirror = mirror;
    this.#disk = disk;
  }

  /** As the ledger has them, whatever lies on disk. */
  static async of(ledger: Pick<Ledger, "states">, mirror: Mirror): Promise<PathClaims> {
    const claims = new PathClaims(mirror);
    for await (const page of ledger.states()) {
      for (const { itemId, file } of page) if (file) claims.#recall(mirror.relativePath(file), itemId);
    }
    return claims;
  }

  /**
   * The same where every item's file lies where the ledger has it, and no other: a few changes need not read all of the ledger. `marked`: the files
   * whose names may be marked.
   */
  static onDisk(mirror: Mirror, marked: ReadonlyMap<ItemId, string> = new Map()): PathClaims {
    const claims = new PathClaims(mirror, mirror.places());
    for (const [itemId, file] of marked) claims.#recallMark(mirror.relativePath(file), itemId);
    return claims;
  }

  /** The path for an item that is now at this place of the source; `current`, the file it has, is released first. */
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

  /** Paths that have become free since somebody wanted them: files that swapped names were in each other's way. One that is taken meanwhile is not named again. */
  *nowFree(): Generator<{ readonly itemId: ItemId; readonly wanted: string }, void> {
    for (const [itemId, wanted] of this.#displaced) {
      if (this.#takenBy(wanted, itemId) === undefined) yield { itemId, wanted };
    }
  }

  /** The same for names that were marked by a run that was killed before it could name them again. Known by the ledger only. */
  *stillMarked(): Generator<{ readonly itemId: ItemId; readonly wanted: string }, void> {
    for (const [itemId, wanted] of this.#marked) {
      if (this.#takenBy(wanted, itemId) === undefined) yield { itemId, wanted };
    }
  }

  /** The item moves from a file to a path that is free. */
  transfer(itemId: ItemId, from: string, path: string): void {
    this.release(itemId, from);
    this.#own(path, itemId);
    this.#displaced.delete(itemId);
    this.#marked.delete(itemId);
  }

  /** The item could not go to the file it claimed: it keeps the one it had, unless somebody else has that by now. */
  giveBack(itemId: ItemId, claimed: string, before: string): void {
    this.release(itemId, claimed);
    this.#displaced.delete(itemId);
    if (before && this.isFree(before)) this.#own(this.#mirror.relativePath(before), itemId);
  }

  release(itemId: ItemId, file: string): void {
    if (!file) return;
    const path = this.#mirror.relativePath(file);
    const place = hashOf(path);
    const owner = this.#owners.get(place);
    if (owner !== undefined && owner !== itemId) return;
    if (this.#disk) this.#left.add(path.toLowerCase());
    if (this.#owners.delete(place)) this.#count(path, -1);
  }

  /** Who claimed the place in this run, or had it by the ledger. */
  ownerOf(file: string): ItemId | undefined {
    return this.#owners.get(hashOf(this.#mirror.relativePath(file)));
  }

  isFree(file: string): boolean {
    const path = this.#mirror.relativePath(file);
    return !this.#owners.has(hashOf(path)) && !this.#lies(path);
  }

  /** The path, or the folder on the way to it, that somebody else has; undefined: it is free. */
  #takenBy(path: string, itemId: ItemId): string | undefined {
    const place = hashOf(path);
    // Where a file lay, no folder did, nor a file on the way to it: what is in the way now is of this run.
    const wasFile = this.#left.has(path.toLowerCase());
    const isOthers = (at: string): boolean => {
      const owner = this.#owners.get(hashOf(at));
      return owner === undefined ? !wasFile && this.#lies(at) : owner !== itemId;
    };
    if (isOthers(path) || this.#below.has(place) || (!wasFile && this.#liesBelow(path))) return path;
    return foldersOf(path).find(isOthers);
  }

  /** Somebody's file, who has not been heard of in this run. */
  #lies(path: string): boolean {
    return this.#disk !== undefined && !this.#left.has(path.toLowerCase()) && this.#disk.has(path);
  }

  #liesBelow(path: string): boolean {
    for (const place of this.#disk?.below(path) ?? []) if (!this.#left.has(place)) return true;
    return false;
  }

  #recall(path: string, itemId: ItemId): void {
    this.#own(path, itemId);
    this.#recallMark(path, itemId);
  }

  /** A run that was killed may have left a name marked whose plain one is free since. */
  #recallMark(path: string, itemId: ItemId): void {
    const plain = plainPath(path, itemId);
    if (plain !== undefined) this.#marked.set(itemId, plain);
  }

  #own(path: string, itemId: ItemId): void {
    const place = hashOf(path);
    if (!this.#owners.has(place)) this.#count(path, 1);
    this.#owners.set(place, itemId);
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
 * Some disks do not tell `A` from `a`, and storage folders travel between disks: no two places differ by case alone. `folder`
 * hears the hashes of the folders that the path lies in. Two hashes of 32 bits, of which 53 together fit into a number.
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

/** The folders that it lies in, outermost first. */
function foldersOf(path: string): string[] {
  const names = path.split("/");
  return names.slice(1).map((_, at) => names.slice(0, at + 1).join("/"));
}

/** `Home.aspx` is embedded as `Home.aspx.html`; whatever has the type of its document already keeps its name. */
function withType({ path, documentType }: Pick<Sighting, "path" | "documentType">): string {
  return fileTypeOf(path) === documentType ? path : `${path}.${documentType}`;
}

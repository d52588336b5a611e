import type { ItemId } from "../contracts/ids.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Sighting } from "../contracts/source.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { distinctPath, localPath } from "../mirror/local-path.ts";
import type { Mirror } from "../mirror/mirror.ts";

/**
 * Who has which place in the mirror: a path below `01_originals/`, `02_embedded/` and `03_failed/` alike, because an
 * item's file goes from one to the other. Two items never share a file: names that differ at the source can be one name
 * on our disk, and a held removal may still sit where a new item wants to go.
 */
export class PathClaims {
  readonly #mirror: Mirror;
  readonly #owners = new Map<string, ItemId>();
  /** Items that did not get the place they wanted, and which one that was. */
  readonly #displaced = new Map<ItemId, string>();

  private constructor(mirror: Mirror) {
    this.#mirror = mirror;
  }

  static async of(ledger: Ledger, mirror: Mirror): Promise<PathClaims> {
    const claims = new PathClaims(mirror);
    for await (const entries of ledger.entries()) {
      for (const { itemId, mirrored } of entries) {
        if (mirrored?.file) claims.#owners.set(claims.#keyOf(mirrored.file), itemId);
      }
    }
    return claims;
  }

  /** The path for an item that is now at this place of the source; `current`, the file it has, is released first. */
  claim(item: Pick<Sighting, "itemId" | "path" | "documentType">, current: string): string {
    this.release(item.itemId, current);
    const wanted = localPath(withType(item), item.itemId);
    const owner = this.#owners.get(key(wanted));
    const taken = owner !== undefined && owner !== item.itemId;
    if (taken) this.#displaced.set(item.itemId, wanted);
    else this.#displaced.delete(item.itemId);
    const path = taken ? distinctPath(wanted, item.itemId) : wanted;
    this.#owners.set(key(path), item.itemId);
    return path;
  }

  /** Paths that have become free since somebody wanted them: files that swapped names were in each other's way. */
  *nowFree(): Generator<{ readonly itemId: ItemId; readonly wanted: string }, void> {
    for (const [itemId, wanted] of this.#displaced) if (!this.#owners.has(key(wanted))) yield { itemId, wanted };
  }

  /** The item moves from a file to a path that is free. */
  transfer(itemId: ItemId, from: string, path: string): void {
    this.release(itemId, from);
    this.#owners.set(key(path), itemId);
    this.#displaced.delete(itemId);
  }

  release(itemId: ItemId, file: string): void {
    if (file && this.#owners.get(this.#keyOf(file)) === itemId) this.#owners.delete(this.#keyOf(file));
  }

  isFree(file: string): boolean {
    return !this.#owners.has(this.#keyOf(file));
  }

  #keyOf(file: string): string {
    return key(this.#mirror.relativePath(file));
  }
}

/** Some disks do not tell `A` from `a`, and storage folders travel between disks: no two places differ by case alone. */
function key(path: string): string {
  return path.toLowerCase();
}

/** `Home.aspx` is embedded as `Home.aspx.html`; whatever has the type of its document already keeps its name. */
function withType({ path, documentType }: Pick<Sighting, "path" | "documentType">): string {
  return fileTypeOf(path) === documentType ? path : `${path}.${documentType}`;
}

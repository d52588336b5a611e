import type { ItemId } from "../contracts/ids.ts";
import type { Ledger } from "../contracts/ledger.ts";
import { distinctPath, localPath } from "../mirror/local-path.ts";
import type { Mirror } from "../mirror/mirror.ts";

/**
 * Who has which place in the mirror. Two items never share a file: names that differ at the source can be one name on
 * our disk, and a held removal may still sit where a new item wants to go.
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
        if (mirrored?.file) claims.#owners.set(claims.#key(mirrored.file), itemId);
      }
    }
    return claims;
  }

  /** The file for an item at this path of the source; its own place is released first. */
  claim(item: { readonly itemId: ItemId; readonly path: string }, current: string): string {
    this.release(item.itemId, current);
    const path = localPath(item.path, item.itemId);
    const wanted = this.#mirror.embeddedFile(path);
    const owner = this.#owners.get(this.#key(wanted));
    const taken = owner !== undefined && owner !== item.itemId;
    if (taken) this.#displaced.set(item.itemId, wanted);
    else this.#displaced.delete(item.itemId);
    const file = taken ? this.#mirror.embeddedFile(distinctPath(path, item.itemId)) : wanted;
    this.#owners.set(this.#key(file), item.itemId);
    return file;
  }

  /** Places that have become free since somebody wanted them: files that swapped names were in each other's way. */
  *nowFree(): Generator<{ readonly itemId: ItemId; readonly wanted: string }, void> {
    for (const [itemId, wanted] of this.#displaced) if (this.isFree(wanted)) yield { itemId, wanted };
  }

  /** The item moves from one place to another that is free. */
  transfer(itemId: ItemId, from: string, to: string): void {
    this.release(itemId, from);
    this.#owners.set(this.#key(to), itemId);
    this.#displaced.delete(itemId);
  }

  release(itemId: ItemId, file: string): void {
    if (file && this.#owners.get(this.#key(file)) === itemId) this.#owners.delete(this.#key(file));
  }

  isFree(file: string): boolean {
    return !this.#owners.has(this.#key(file));
  }

  /** Some disks do not tell `A` from `a`, and storage folders travel between disks: no two places differ by case alone. */
  #key(file: string): string {
    return file.toLowerCase();
  }
}

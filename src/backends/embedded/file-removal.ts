import { rm } from "node:fs/promises";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import { deleteFile, endDeletion, expiredFiles, halfDeleted, nextExpiry } from "./catalog/files.ts";
import { detachFile } from "./detach-file.ts";
import type { FileShelf } from "./file-shelf.ts";
import type { Stores } from "./stores.ts";

/** Attaching a file takes less. */
const NOTE_SECONDS = 3600;
/** A file lives an hour at least, so what expires within a minute is known a minute ahead. */
const EXPIRY_LOOK_SECONDS = 60;

/** How files leave the backend: by hand, or when their time is over. */
export class FileRemoval {
  readonly #catalog: SqlDatabase;
  readonly #stores: Stores;
  readonly #shelf: FileShelf;
  readonly #nowSeconds: () => number;
  #expiry = { lookedAt: Number.NEGATIVE_INFINITY, next: null as number | null };

  constructor(catalog: SqlDatabase, stores: Stores, shelf: FileShelf, nowSeconds: () => number) {
    this.#catalog = catalog;
    this.#stores = stores;
    this.#shelf = shelf;
    this.#nowSeconds = nowSeconds;
  }

  /**
   * Gone from every store and from search when it returns; false when there was no such file. The file itself goes first:
   * whoever attaches it at this moment either finds that out, or is in time for its rows to be taken out of the stores.
   */
  async delete(id: string): Promise<boolean> {
    if (!(await this.#shelf.find(id))) return false;
    await deleteFile(this.#catalog, id, this.#nowSeconds());
    await this.#takeOut(id);
    return true;
  }

  /** Deletions that a crash cut short. */
  async sweepDeleted(): Promise<void> {
    for (const id of await halfDeleted(this.#catalog)) await this.#takeOut(id);
  }

  /** To be called before anything is shown: what has expired is deleted, like by hand. */
  async sweepExpired(): Promise<void> {
    const now = this.#nowSeconds();
    if (now >= this.#expiry.lookedAt + EXPIRY_LOOK_SECONDS) {
      this.#expiry = { lookedAt: now, next: await nextExpiry(this.#catalog) };
    }
    if (this.#expiry.next === null || this.#expiry.next > now) return;
    for (const id of await expiredFiles(this.#catalog, now)) await this.delete(id);
    this.#expiry = { lookedAt: now, next: await nextExpiry(this.#catalog) };
  }

  async #takeOut(id: string): Promise<void> {
    for await (const { store, entry } of this.#stores.toAsk(id)) {
      await detachFile(this.#catalog, store, { storeId: entry.id, fileId: id });
    }
    await rm(this.#shelf.pathOf(id), { force: true });
    await endDeletion(this.#catalog, id, this.#nowSeconds() - NOTE_SECONDS);
  }
}

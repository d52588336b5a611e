import { NotFoundError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { Store, StoreHouse } from "../../index/store.ts";
import { randomId } from "../../lib/random-id.ts";
import type { SqlDatabase } from "../../lib/sql/sql.ts";
import {
  crawledStores,
  deletedStores,
  deleteStore,
  findStore,
  forgetDeletedStore,
  insertStore,
  markCrawled,
  type StoreEntry,
  storesToAsk,
  touchStore,
} from "./catalog/vector-stores.ts";

/** What a new vector store is given. */
export type NewStore = Pick<StoreEntry, "name" | "description" | "metadata" | "expiresAfterDays">;

/** A vector store with what the catalog says of it. */
export interface EnteredStore {
  readonly store: Store;
  readonly entry: StoreEntry;
}

const ACTIVITY_SECONDS = 60;

/** All vector stores. The catalog is asked before every use, since another process may have deleted a store. */
export class Stores {
  readonly #house: StoreHouse;
  readonly #catalog: SqlDatabase;
  readonly #nowSeconds: () => number;
  /** Only these may be closed or dropped when they are gone: an id that somebody made up must reach no file. */
  readonly #opened = new Set<VectorStoreId>();

  constructor(house: StoreHouse, catalog: SqlDatabase, nowSeconds: () => number) {
    this.#house = house;
    this.#catalog = catalog;
    this.#nowSeconds = nowSeconds;
  }

  async create(store: NewStore): Promise<VectorStoreId> {
    const id = randomId("vs_") as VectorStoreId;
    const now = this.#nowSeconds();
    await insertStore(this.#catalog, { id, ...store, createdAt: now, lastActiveAt: now, crawled: false });
    return id;
  }

  entry(id: string): Promise<StoreEntry | undefined> {
    return findStore(this.#catalog, id);
  }

  isExpired(entry: StoreEntry): boolean {
    const at = expiryOf(entry);
    return at !== null && at <= this.#nowSeconds();
  }

  /** Activity counts by the minute: a store that is searched all the time need not be written all the time. */
  async noteActivity(entry: StoreEntry): Promise<void> {
    const now = this.#nowSeconds();
    if (entry.lastActiveAt < now - ACTIVITY_SECONDS) await touchStore(this.#catalog, entry.id, now);
  }

  /** undefined when there is no such store (any more). */
  async find(id: string): Promise<Store | undefined> {
    const entry = await this.#present(id);
    return entry && this.open(entry);
  }

  async get(id: string): Promise<Store> {
    const store = await this.find(id);
    if (!store) throw noStore(id);
    return store;
  }

  /** For whoever works on the store past the wire, which is activity; a crawl brings files that nobody attaches. */
  async getForIndex(id: string, use: { readonly crawls: boolean }): Promise<Store> {
    const entry = await this.#present(id);
    if (!entry) throw noStore(id);
    if (!this.isExpired(entry)) await this.noteActivity(entry);
    if (use.crawls && !entry.crawled) await markCrawled(this.#catalog, id);
    return this.open(entry);
  }

  open({ id }: StoreEntry): Promise<Store> {
    this.#opened.add(id);
    return this.#house.open(id);
  }

  /** Stores that may hold files which nobody attached: oldest first, each with its place among the stores. */
  async *crawled(): AsyncGenerator<EnteredStore> {
    for (const entry of await crawledStores(this.#catalog)) yield { store: await this.open(entry), entry };
  }

  /** Stores that may hold the file, likewise. */
  async *toAsk(fileId: string): AsyncGenerator<EnteredStore> {
    for (const entry of await storesToAsk(this.#catalog, fileId)) yield { store: await this.open(entry), entry };
  }

  /** false when it was gone already. */
  async delete(id: string): Promise<boolean> {
    const entry = await this.entry(id);
    if (!entry || !(await deleteStore(this.#catalog, id))) return false;
    await this.#drop(entry.id);
    await forgetDeletedStore(this.#catalog, id);
    return true;
  }

  /** What a crash left between the deletion of an entry and that of its tables. */
  async sweepDeleted(): Promise<void> {
    for (const id of await deletedStores(this.#catalog)) {
      await this.#drop(id);
      await forgetDeletedStore(this.#catalog, id);
    }
  }

  async #present(id: string): Promise<StoreEntry | undefined> {
    const entry = await this.entry(id);
    if (!entry && this.#opened.has(id as VectorStoreId)) await this.#drop(id as VectorStoreId);
    return entry;
  }

  async #drop(id: VectorStoreId): Promise<void> {
    this.#opened.delete(id);
    await this.#house.drop(id);
  }
}

/** Unix seconds; null: never. */
export function expiryOf({ lastActiveAt, expiresAfterDays }: StoreEntry): number | null {
  return expiresAfterDays === null ? null : lastActiveAt + expiresAfterDays * 24 * 3600;
}

function noStore(id: string): NotFoundError {
  return new NotFoundError(`No vector store found with id '${id}'.`);
}

import type { Principal } from "../../../contracts/access.ts";
import type { WireCall } from "../../../contracts/backend.ts";
import type { SearchHit, SearchQuery } from "../../../contracts/search-index.ts";
import type { SqlDatabase } from "../../../lib/sql/sql.ts";
import type { Attachments } from "../attachments.ts";
import type { FileRemoval, FileShelf } from "../file-repository.ts";
import type { Processing } from "../processing-queue.ts";
import type { StoreEntry, Stores, StoreUsage } from "../stores.ts";
import type { UploadShelf } from "../upload-repository.ts";
import { noSuchStore, storeExpired } from "./wire-error.ts";

/** What the routes work on. */
export interface WireContext {
  readonly catalog: SqlDatabase;
  readonly stores: Stores;
  readonly shelf: FileShelf;
  readonly removal: FileRemoval;
  readonly uploads: UploadShelf;
  readonly attachments: Attachments;
  readonly processing: Processing;
  readonly usage: StoreUsage;
  nowSeconds(): number;
  /** A WireError when there is no such store, or when it has expired. */
  search(storeId: string, query: SearchQuery, by: Principal | undefined): Promise<SearchHit[]>;
}

/** What every route can ask for beside the request. */
export interface WireEnv {
  Bindings: { readonly call: WireCall };
}

export async function findEntry({ stores }: WireContext, id: string): Promise<StoreEntry> {
  const entry = await stores.entry(id);
  if (!entry) throw noSuchStore(id);
  return entry;
}

/** For everything but looking at the store and deleting it. */
export async function findLive(context: WireContext, id: string): Promise<StoreEntry> {
  const entry = await findEntry(context, id);
  if (context.stores.isExpired(entry)) throw storeExpired(id);
  return entry;
}

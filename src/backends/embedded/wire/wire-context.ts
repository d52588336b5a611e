import type { Principal } from "../../../contracts/access.ts";
import type { WireCall } from "../../../contracts/backend.ts";
import type { SearchHit, SearchQuery } from "../../../contracts/search-index.ts";
import type { SqlDatabase } from "../../../lib/sql/sql.ts";
import type { Attachments } from "../attachments.ts";
import type { FileRepository } from "../file-repository.ts";
import type { ProcessingQueue } from "../processing-queue.ts";
import type { StoreEntry, Stores, StoreUsage } from "../stores.ts";
import type { UploadRepository } from "../upload-repository.ts";
import { noSuchStore, storeExpired } from "./wire-error.ts";

/** What the routes use. */
export interface WireContext {
  readonly catalog: SqlDatabase;
  readonly stores: Stores;
  readonly files: FileRepository;
  readonly uploads: UploadRepository;
  readonly attachments: Attachments;
  readonly processing: ProcessingQueue;
  readonly usage: StoreUsage;
  nowSeconds(): number;
  /** Throws WireError if there is no such store, or if it has expired. */
  search(storeId: string, query: SearchQuery, by: Principal | undefined): Promise<SearchHit[]>;
}

/** What every route gets besides the request. */
export interface WireEnv {
  Bindings: { readonly call: WireCall };
}

export async function findEntry({ stores }: WireContext, id: string): Promise<StoreEntry> {
  const entry = await stores.entry(id);
  if (!entry) throw noSuchStore(id);
  return entry;
}

/** For everything but looking at the store and deleting it. */
export async function findOpenStore(context: WireContext, id: string): Promise<StoreEntry> {
  const entry = await findEntry(context, id);
  if (context.stores.isExpired(entry)) throw storeExpired(id);
  return entry;
}

import type { VectorStoreId } from "../../contracts/ids.ts";
import type { SearchHit, SearchQuery } from "../../contracts/search-index.ts";
import type { PackedError } from "../../lib/error-codec.ts";
import type { VectorModelSettings } from "../embed/open-vector-model.ts";

/** What a thread is started with. */
export interface SearchThreadSettings {
  /** The folder of the stores. */
  readonly folder: string;
  /** With the key of an endpoint: nothing but the thread gets to see it. */
  readonly model: VectorModelSettings;
  /** So many stores, with their vectors, are held open at once. */
  readonly maxOpenStores: number;
}

/** A query without its function, which cannot be sent. */
export type PlainQuery = Omit<SearchQuery, "tell">;

export type SearchOrder =
  | { readonly verb: "search"; readonly storeId: VectorStoreId; readonly query: PlainQuery }
  /** The store is about to be deleted: nothing of it may stay open. */
  | { readonly verb: "drop"; readonly storeId: VectorStoreId }
  /** The last one: whatever is still being searched is not answered. */
  | { readonly verb: "close" };

export interface NumberedOrder {
  readonly number: number;
  readonly order: SearchOrder;
}

export interface SearchAnswer {
  readonly number: number;
  /** What `tell` was told, also on the way to a failure. */
  readonly notes: readonly string[];
  readonly outcome: { readonly hits: SearchHit[] } | { readonly error: PackedError };
}

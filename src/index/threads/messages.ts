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

/** A query without what cannot be sent. */
export type PlainQuery = Omit<SearchQuery, "tell" | "signal">;

export type SearchOrder =
  | {
      readonly verb: "search";
      readonly storeId: VectorStoreId;
      readonly query: PlainQuery;
      /** Shared: 1 when nobody waits for the answer any more. A thread that computes hears no messages. */
      readonly over: Int32Array;
    }
  /** The search of this number is over: one that waits for somebody else's answer hears of it. Not answered. */
  | { readonly verb: "abandon"; readonly number: number }
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

import type { DomainId, VectorStoreId } from "./ids.ts";
import type { Index } from "./search-index.ts";

/** Where vector stores live: the embedded index, OpenAI, or Azure OpenAI. */
export interface Backend {
  /** Extensions without dot that it can take in. */
  readonly acceptedTypes: ReadonlySet<string>;
  createVectorStore(name: string): Promise<VectorStoreId>;
  /** With everything in it, except uploaded files, which other stores may hold. One that is gone already is fine. */
  deleteVectorStore(store: VectorStoreId): Promise<void>;
  /**
   * undefined: the store does not exist (any more). Any other trouble throws. Searching needs no domain; drafts and
   * holdings do, because a store may hold documents of others. A remote service is waited for as long as it asks when
   * there is a signal to end that, otherwise for some seconds: somebody waits for the answer.
   */
  openIndex(store: VectorStoreId, domain: DomainId | undefined, signal?: AbortSignal): Promise<Index | undefined>;
  close(): Promise<void>;
}

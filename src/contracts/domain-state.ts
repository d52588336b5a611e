import type { DomainId, VectorStoreId } from "./ids.ts";

/** A vector store beside the domain's own: its successor while it is being built, or its predecessor for a while. */
export interface OtherStore {
  readonly vectorStoreId: VectorStoreId;
  readonly state: "building" | "superseded";
  /** ISO 8601 UTC. */
  readonly since: string;
}

export interface OtherStores {
  /** Oldest first. */
  list(domainId: DomainId): Promise<readonly OtherStore[]>;
  /** One that is known already has this state now. */
  put(domainId: DomainId, store: OtherStore): Promise<void>;
  remove(domainId: DomainId, store: VectorStoreId): Promise<void>;
}

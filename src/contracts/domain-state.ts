import type { DomainId, JobId, VectorStoreId } from "./ids.ts";

/** Another vector store of a domain: one that is being built to replace its own, or a superseded one. */
export interface OtherStore {
  readonly vectorStoreId: VectorStoreId;
  readonly state: "building" | "superseded";
  /** ISO 8601 UTC. */
  readonly since: string;
}

export interface OtherStores {
  /** Oldest first. */
  list(domainId: DomainId): Promise<readonly OtherStore[]>;
  /** Adds the store, or updates its state. */
  put(domainId: DomainId, store: OtherStore): Promise<void>;
  remove(domainId: DomainId, store: VectorStoreId): Promise<void>;
}

/** Up to when a schedule was evaluated. */
export interface ScheduleState {
  readonly schedule: string;
  readonly checkedAt: Date;
  /** The last crawl, and how often it was started for the same due time. */
  readonly started?: { readonly jobId: JobId; readonly times: number };
}

export interface ScheduleStates {
  /** undefined: never evaluated, so no crawl is due. */
  get(domainId: DomainId): Promise<ScheduleState | undefined>;
  /** The caller must hold the domain's lock: otherwise the domain may be deleted or renamed in between. */
  put(domainId: DomainId, state: ScheduleState): Promise<void>;
}

import type { DomainId, JobId, VectorStoreId } from "./ids.ts";

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

/** Up to when the clock was looked after, for which schedule. */
export interface ScheduleState {
  readonly schedule: string;
  readonly lookedAt: Date;
  /** The crawl that was started last, and how often it was started for the same time. */
  readonly started?: { readonly jobId: JobId; readonly times: number };
}

export interface ScheduleStates {
  /** undefined: nobody looked yet, so nothing is owed. */
  get(domainId: DomainId): Promise<ScheduleState | undefined>;
  /** Only for whoever holds the domain's lock: it may otherwise go, or be renamed, in between. */
  put(domainId: DomainId, state: ScheduleState): Promise<void>;
}

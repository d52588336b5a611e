import type { SourceRef } from "./domain.ts";
import type { DomainId } from "./ids.ts";

export interface LeaseOptions {
  /** The holder, as shown to those who wait: `job jb_42`. */
  readonly owner: string;
  /** Ends the waiting by throwing its reason. */
  readonly signal?: AbortSignal;
  /** Called once, before the first wait, with the holder. */
  readonly onWait?: (owner: string) => void;
  /** A holder that does not renew for this long loses the lease. It renews four times as often. */
  readonly staleMs?: number;
  /** How often to check while waiting. */
  readonly pollMs?: number;
}

/** `await using` releases it. */
export interface Lease extends AsyncDisposable {
  /** Releases the lease; does nothing if it was lost or released before. */
  release(): Promise<void>;
  /** false once another process took it over, as happens after a suspension longer than `staleMs`. */
  stillHeld(): Promise<boolean>;
}

/** Exclusive locks within a domain, among all processes that use its ledger. */
export interface Leases {
  /**
   * Waits until the lease is free: released, not renewed for `staleMs`, or held by a process that has ended.
   * NotFoundError if the domain's ledger, or the folder `within`, is deleted meanwhile.
   */
  acquire(domainId: DomainId, name: string, options: LeaseOptions & { readonly within?: string }): Promise<Lease>;
}

/** Returns the lease name for this work on a source. */
export function sourceLease({ sourceType, sourceId }: SourceRef, work: "download" | "embed" | "watch"): string {
  return `${sourceType}/${sourceId}/${work}`;
}

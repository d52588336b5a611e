import type { SourceConfig } from "./domain.ts";
import type { DomainId } from "./ids.ts";

export interface LeaseOptions {
  /** Who holds it, in words for the one who waits: `job jb_42`. */
  readonly owner: string;
  /** Ends the waiting by throwing its reason. */
  readonly signal?: AbortSignal;
  /** Called once, before the first wait, with the words of the holder. */
  readonly onWait?: (owner: string) => void;
  /** A holder that did not renew for this long has lost it. It renews four times as often. */
  readonly staleMs?: number;
  /** How often a waiter looks. */
  readonly pollMs?: number;
}

export interface Lease {
  /** Gives it back; harmless when it was lost or given back before. */
  release(): Promise<void>;
  /** False once somebody took it over, which happens to a process that was suspended for longer than `staleMs`. */
  stillHeld(): Promise<boolean>;
}

/** Exclusive rights to work on something of a domain, among all processes that use its ledger. */
export interface Leases {
  /**
   * Waits until nobody has it: it was given back, was not renewed for `staleMs`, or belongs to a process that is known to have ended.
   * NotFoundError when the domain's ledger, or the folder `within`, goes meanwhile: waiting brings nothing back that was removed.
   */
  acquire(domainId: DomainId, name: string, options: LeaseOptions & { readonly within?: string }): Promise<Lease>;
}

/** The name of the right to do this with a source. */
export function sourceLease(
  { sourceType, sourceId }: Pick<SourceConfig, "sourceType" | "sourceId">,
  work: "download" | "embed" | "watch",
): string {
  return `${sourceType}/${sourceId}/${work}`;
}

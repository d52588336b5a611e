import type { Principal } from "./access.ts";

/** A change that a caller made or tried to make. */
export interface AuditEntry {
  /** UTC. */
  readonly at: string;
  readonly who: Principal;
  /** IP address; "" for the command line and the schedule. */
  readonly from: string;
  /** `PUT /v2/domains/update`, `lockstep crawl` */
  readonly action: string;
  /** Parameters and fields by name, without secrets. */
  readonly what: Readonly<Record<string, unknown>>;
  readonly ok: boolean;
  /** "" when ok. */
  readonly error: string;
}

/** A change without its outcome. */
export type AskedChange = Omit<AuditEntry, "at" | "ok" | "error">;

export interface AuditOutcome {
  readonly ok: boolean;
  readonly error: string;
}

/** Append-only log of changes. Removes secrets from its input. */
export interface AuditLog {
  /** For events without a duration: a refusal, a sign-in. On disk when it resolves. */
  write(entry: AuditEntry): Promise<void>;
  /**
   * Called before a change; on disk when it resolves, so that no change goes unrecorded. Throws on a full disk, and the
   * change is not made, unless it frees space. Call the returned function with the outcome.
   */
  begin(change: AskedChange): Promise<(outcome: AuditOutcome) => Promise<void>>;
  /** Newest first. */
  list(options: { readonly limit: number; readonly offset: number; readonly filter: string }): Promise<AuditPage>;
}

/** A stored entry. `unfinished`: no outcome was written (it runs, or its process died). */
export interface AuditRow extends AuditEntry {
  readonly unfinished: boolean;
}

export interface AuditPage {
  readonly entries: readonly AuditRow[];
  readonly more: boolean;
}

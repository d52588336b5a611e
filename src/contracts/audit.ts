import type { Principal } from "./access.ts";

/** One change that somebody made, or tried to make. */
export interface AuditEntry {
  /** UTC. */
  readonly at: string;
  readonly who: Principal;
  /** The address it came from; "" from the command line and the clock. */
  readonly from: string;
  /** `PUT /v2/domains/update`, `lockstep crawl` */
  readonly action: string;
  /** What it was asked with: parameters and fields by name, secrets left out. */
  readonly what: Readonly<Record<string, unknown>>;
  readonly ok: boolean;
  /** "" when ok. */
  readonly error: string;
}

/** A change before it is known how it goes. */
export type AskedChange = Omit<AuditEntry, "at" | "ok" | "error">;

export interface AuditOutcome {
  readonly ok: boolean;
  readonly error: string;
}

/** Who changed what, line by line, only ever appended to. Secrets are taken out of whatever is handed over. */
export interface AuditLog {
  /** Of what is over at once: a refusal, a sign-in. On disk when it resolves. */
  write(entry: AuditEntry): Promise<void>;
  /**
   * Before a change is made. On disk when it resolves, so that nothing is changed that cannot be written down: a full disk
   * throws, and the change is not made, unless it is one that makes room. How it went is told to what this resolves to.
   */
  begin(change: AskedChange): Promise<(outcome: AuditOutcome) => Promise<void>>;
  /** Newest first. */
  list(options: { readonly limit: number; readonly offset: number; readonly filter: string }): Promise<AuditPage>;
}

/** As it is read back: a change of which no end was written (it runs, or its process died) is `unfinished`. */
export interface AuditRow extends AuditEntry {
  readonly unfinished: boolean;
}

export interface AuditPage {
  readonly entries: readonly AuditRow[];
  readonly more: boolean;
}

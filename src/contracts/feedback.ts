import type { DomainId, FileId } from "./ids.ts";

/** A question that was asked in vain, or a vote on an answer. */
export interface FeedbackRow {
  /** Hash of domain, question, answer and person, none of which can be told from it. */
  readonly id: string;
  /** 0: nothing was found. */
  readonly vote: 1 | 0 | -1;
  readonly question: string;
  /** "" with `vote` 0. */
  readonly answer: string;
  /** What the answer cites. */
  readonly fileIds: readonly FileId[];
  /** How often the person asked, or voted. */
  readonly times: number;
  /** The last time. */
  readonly at: string;
}

/** Stored in the ledgers of their domains; lost with them. */
export interface FeedbackRows {
  /** Newest first. */
  of(domainId: DomainId): Promise<readonly FeedbackRow[]>;
  /** Replaces the row with the same id, and counts it; drops what is older than `since`, and the oldest beyond `most`. Nothing for a domain without a ledger. */
  put(
    domainId: DomainId,
    row: Omit<FeedbackRow, "times">,
    keep: { readonly since: string; readonly most: number },
  ): Promise<void>;
  /** Returns how many there were. */
  remove(domainId: DomainId, ids: readonly string[]): Promise<number>;
}

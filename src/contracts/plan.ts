import type { ChangeKind, ListedChange } from "./change.ts";
import type { ItemId } from "./ids.ts";
import type { Sighting } from "./source.ts";

export type PlanStep = "download" | "process" | "embed";

/** One judged item: what a step does with it, and why. Items that need nothing are not in a plan. */
export interface PlannedItem {
  readonly step: PlanStep;
  readonly itemId: ItemId;
  /** kept and held: it stays as it is, although it was not listed, or is not in the approved plan. returned: only its file goes back to its place in the mirror. */
  readonly change: Exclude<ChangeKind, "unchanged"> | "returned";
  /** As the log of the run says it. */
  readonly reason: string;
  /** As a dry run says it; undefined where it has nothing to say. */
  readonly told?: PlannedWords | undefined;
  /** What the source said of it, if it was listed. */
  readonly sighting?: Sighting | undefined;
  readonly anomaly?: ListedChange["anomaly"];
  /** Of what is removed: the source has it still, and it is only not wanted any more. */
  readonly stillListed?: boolean | undefined;
  /** Where its file lies now, if it is to go back to its place first. */
  readonly strayedTo?: string | undefined;
}

export interface PlannedWords {
  readonly name: string;
  /** Below the source's root; of a move, where it would go. */
  readonly path: string;
  /** Why, for people. */
  readonly reason: string;
}

/** The judged items of one run and one source. It lies in a database: a million changes are not held in memory. */
export interface Plan {
  /** In pages, in the order in which they were judged. */
  items(step: PlanStep, changes: readonly PlannedItem["change"][]): AsyncIterable<readonly PlannedItem[]>;
  /** What this step does with these items. */
  find(step: PlanStep, items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, PlannedItem>>;
  /** Of new items, those that a download fetches to these paths below the source's root: where a source gives no ids, each look makes one. */
  findNew(paths: readonly string[]): Promise<ReadonlyMap<string, PlannedItem>>;
  /** What a dry run says, step by step, skipped items last; and how many there are in all. */
  told(limit: number): Promise<{ readonly items: readonly PlannedItem[]; readonly count: number }>;
}

/** incomplete: the dry run that makes it goes on, or did not come to its end. */
export type PlanState = "none" | "incomplete" | "complete";

/** A plan that is still being made. */
export interface PlanDraft extends Plan {
  add(item: PlannedItem): void;
  /** Judged again: what it says now stands instead. */
  replace(item: PlannedItem): void;
  close(): Promise<void>;
}

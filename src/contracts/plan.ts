import type { ChangeKind, ListedChange } from "./change.ts";
import type { ItemId } from "./ids.ts";
import type { Sighting } from "./source.ts";

export type PlanStep = "download" | "process" | "embed";

/** A judged item: what a step does with it, and why. Unchanged items are not in a plan. */
export interface PlannedItem {
  readonly step: PlanStep;
  readonly itemId: ItemId;
  /**
   * kept, held: it stays although it was not listed, or is not in the approved plan. returned: only its file is moved
   * back in the mirror.
   */
  readonly change: Exclude<ChangeKind, "unchanged"> | "returned";
  /** For the log of the run. */
  readonly reason: string;
  /** Shown by a dry run; undefined: not shown. */
  readonly told?: PlannedWords | undefined;
  /** As listed; undefined if it was not listed. */
  readonly sighting?: Sighting | undefined;
  readonly anomaly?: ListedChange["anomaly"];
  /** For removals: the source still has it, but it is no longer wanted. */
  readonly stillListed?: boolean | undefined;
  /** The misplaced file in the mirror that is moved back first. */
  readonly strayedTo?: string | undefined;
}

export interface PlannedWords {
  readonly name: string;
  /** Below the source's root; of a move, the new path. */
  readonly path: string;
  readonly reason: string;
}

/** The judged items of one run of one source. In a database: a million changes do not fit in memory. */
export interface Plan {
  /** In pages, in the order they were judged. */
  items(step: PlanStep, changes: readonly PlannedItem["change"][]): AsyncIterable<readonly PlannedItem[]>;
  /** Returns the planned changes of these items in this step. */
  find(step: PlanStep, items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, PlannedItem>>;
  /**
   * Returns new items by their path below the source's root: sources without ids give a new item another id in every
   * run.
   */
  findNew(paths: readonly string[]): Promise<ReadonlyMap<string, PlannedItem>>;
  /** Returns what a dry run shows, by step, skipped items last; and the total count. */
  told(limit: number): Promise<{ readonly items: readonly PlannedItem[]; readonly count: number }>;
}

/** incomplete: its dry run is running, or did not finish. */
export type PlanState = "none" | "incomplete" | "complete";

/** A plan under construction. */
export interface PlanDraft extends Plan {
  add(item: PlannedItem): void;
  /** Replaces an item that was judged again. */
  replace(item: PlannedItem): void;
  close(): Promise<void>;
}

import type { ChangeKind, ListedChange } from "./change.ts";
import type { SourceRef } from "./domain.ts";
import type { DomainId, ItemId, SourceId } from "./ids.ts";
import type { Sighting } from "./source.ts";

export type PlanStep = "download" | "process" | "embed";

/** A judged item: what a step does with it, and why. Unchanged items are not in a plan. */
export interface PlannedItem {
  readonly step: PlanStep;
  readonly itemId: ItemId;
  /**
   * kept, held: it stays although it was not listed, or is not in the approved plan. returned: only its file is moved
   * back in the mirror. adopted: the index has its document already, only our row is behind.
   */
  readonly change: Exclude<ChangeKind, "unchanged"> | "returned" | "adopted";
  /** For the log of the run. */
  readonly reason: string;
  /** Shown by a dry run; undefined: not shown. */
  readonly told?: PlannedWords | undefined;
  /** As listed; undefined if it was not listed. */
  readonly sighting?: Sighting | undefined;
  /** forced: its document is made anew even if the index has its content. */
  readonly anomaly?: ListedChange["anomaly"] | "forced";
  /** For removals: the source still has it, but it is no longer wanted. */
  readonly stillListed?: boolean | undefined;
  /** The misplaced file in the mirror that is moved back first. */
  readonly strayedTo?: string | undefined;
  /** To fetch, or to embed; left out if nothing is, or if it is not known. */
  readonly bytes?: number | undefined;
  /** Estimate of the tokens to embed. */
  readonly tokens?: number | undefined;
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
  /** Counts the changes of a step. */
  count(step: PlanStep): Promise<Readonly<Partial<Record<PlannedItem["change"], number>>>>;
  /** Returns the planned changes of these items in this step. */
  find(step: PlanStep, items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, PlannedItem>>;
  /**
   * Returns new items by their path below the source's root: sources without ids give a new item another id in every
   * run.
   */
  findNew(paths: readonly string[]): Promise<ReadonlyMap<string, PlannedItem>>;
  /** Returns what a dry run shows, by step, skipped items last; and the total count. */
  told(limit: number): Promise<{ readonly items: readonly PlannedItem[]; readonly count: number }>;
  /** Everything, in pages, step by step, in the order it was judged. */
  all(): AsyncIterable<readonly PlannedItem[]>;
}

/** A plan under construction. */
export interface PlanDraft extends Plan {
  add(item: PlannedItem): void;
  /** Replaces an item that was judged again. */
  replace(item: PlannedItem): void;
  /** Repeatable. A plan of a run is gone then. */
  close(): Promise<void>;
}

/** A plan that is kept for a later run, without its items. */
export interface StoredPlan {
  readonly planId: string;
  readonly domainId: DomainId;
  /** ISO 8601 UTC. */
  readonly madeAt: string;
  /** "": its dry run is running, or did not finish. No run keeps to it. */
  readonly completedAt: string;
  /** The request of its dry run, as JSON. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly sources: readonly PlannedSource[];
}

/** What the dry run found out about a source. */
export interface PlannedSource {
  /** Its key in `domain.json`. */
  readonly sourceType: string;
  readonly sourceId: SourceId;
  /** Digest of what decides what is wanted, as in ListingCheckpoint: with another one, the plan says nothing. */
  readonly policy: string;
  /** The listing was complete. */
  readonly complete: boolean;
  /** Why it could not be listed, or not completely; or "". */
  readonly problem: string;
}

/** Which part of a plan to show; of items that a dry run shows. */
export interface PlanFilter {
  readonly step: PlanStep;
  readonly change?: PlannedItem["change"] | undefined;
  readonly source?: SourceRef | undefined;
  /** Below the source's root, not what is below it; "" is the root. */
  readonly folder?: string | undefined;
  /** Occurs in path or reason, in whatever case. */
  readonly text?: string | undefined;
}

/** Items with the same change, source and folder. */
export interface PlanGroup extends PlanCounts, SourceRef {
  readonly change: PlannedItem["change"];
  readonly folder: string;
}

export interface PlanCounts {
  readonly items: number;
  readonly bytes: number;
  readonly tokens: number;
  /** How many are of unknown size, and not in the sums. */
  readonly unsized: number;
}

export interface PlanTotal extends PlanCounts, SourceRef {
  readonly step: PlanStep;
  readonly change: PlannedItem["change"];
}

export interface ShownItem extends Pick<PlannedItem, "itemId" | "step" | "change" | "bytes" | "tokens">, PlannedWords {
  readonly source: SourceRef;
  readonly folder: string;
}

interface Part {
  readonly limit: number;
  readonly offset: number;
}

/** The plans that dry runs stored, of all domains. */
export interface StoredPlans {
  /** Begins a plan; replaces one of this id. It is incomplete until `complete`. */
  begin(plan: Pick<StoredPlan, "planId" | "domainId" | "request">): Promise<void>;
  /** Opens the part of one source for writing; replaces an earlier one. Other processes can read it. */
  write(source: PlannedSourceKey, policy: string): Promise<PlanDraft>;
  /** `outcomes`: what became known of its sources meanwhile. */
  complete(
    plan: Pick<StoredPlan, "planId" | "domainId">,
    outcomes: readonly Omit<PlannedSource, "policy">[],
  ): Promise<void>;
  /** Looks in all domains. undefined: there is none of this id. */
  find(planId: string): Promise<StoredPlan | undefined>;
  /** The newest first. */
  list(domainId: DomainId): Promise<readonly StoredPlan[]>;
  /** undefined: it has nothing of this source. */
  read(source: PlannedSourceKey): Promise<Plan | undefined>;
  /** By step, change and source. */
  totals(plan: StoredPlan): Promise<readonly PlanTotal[]>;
  /** By change, source and folder, in this order. */
  groups(plan: StoredPlan, filter: PlanFilter, part: Part): Promise<Counted<PlanGroup>>;
  /** In the order of the groups. */
  shown(plan: StoredPlan, filter: PlanFilter, part: Part): Promise<Counted<ShownItem>>;
  /** Deletes it. */
  discard(plan: Pick<StoredPlan, "planId" | "domainId">): Promise<void>;
}

/** One source of a stored plan. */
export interface PlannedSourceKey extends Pick<StoredPlan, "planId" | "domainId"> {
  readonly sourceType: string;
  readonly sourceId: SourceId;
}

interface Counted<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

import type { DomainId, SourceId, VectorStoreId } from "../contracts/ids.ts";
import type { LostQuestion, QuestionVerdict } from "../contracts/questions.ts";
import type { LeftOut } from "../contracts/source.ts";
import type { SourceKinds } from "../contracts/source-kind.ts";

/** In order. A crawl is all three steps and a report. */
export const STEPS = ["download", "process", "embed"] as const;
export type Step = (typeof STEPS)[number];

export const CRAWL_MODES = ["full", "incremental"] as const;
export type CrawlMode = (typeof CRAWL_MODES)[number];
/** All sources, or those of one kind. */
export function crawlScopes({ all }: SourceKinds): readonly string[] {
  return ["all", ...all.map(({ scope }) => scope)];
}

/** crawl: what a crawl changes becomes visible in one moment. source: each source when it is in. */
export const VISIBILITIES = ["crawl", "source"] as const;
export type Visibility = (typeof VISIBILITIES)[number];

export interface CrawlRequest {
  readonly domainId: DomainId;
  readonly steps: readonly Step[];
  readonly mode: CrawlMode;
  readonly scope: string;
  /** Only this source of the scope; undefined: all of them. */
  readonly sourceId: SourceId | undefined;
  /** Embed into this store instead of the domain's own, with a separate map file. */
  readonly vectorStoreId: VectorStoreId | undefined;
  /** Build a new vector store and switch the domain to it at the end. Only for a full crawl of everything. */
  readonly swap: boolean;
  /** Extract, cut and embed anew what the index has already for the same content. Only for a full crawl. */
  readonly force: boolean;
  /** Where commits are gradual, it makes no difference. */
  readonly visibility: Visibility;
  /** Do removals beyond the limits instead of holding them. */
  readonly confirmDeletes: boolean;
  /** Commit what is new even if the questions of the domain are answered worse by it. */
  readonly confirmWorse: boolean;
  /** How often an item is tried in one run: first all items, then again those that failed. */
  readonly retryBatches: number;
  /** Try unchanged files in `03_failed/` again. */
  readonly retryFailed: boolean;
  /** Hash every file, at the source (folders and containers) and in the mirror, instead of a rotating part. */
  readonly checksum: boolean;
  /**
   * For a few items, perhaps many times a day: all of a day count as one crawl for retention, and none writes a report.
   */
  readonly gathered?: boolean;
  /** A dry run stores its plan under this id. */
  readonly storePlan?: string;
  /** Does what this stored plan has and what still is as planned, and nothing else. */
  readonly approvedPlan?: string;
  /** With `approvedPlan`: does nothing if anything is not as planned. */
  readonly strict?: boolean;
  /** Watch mode: the folders of each source in which something changed. */
  readonly onlyFolders?: ReadonlyMap<SourceId, ReadonlySet<string>>;
}

/** A whole incremental crawl, except for the given options. */
export function crawlRequest(domainId: DomainId, options: Partial<CrawlRequest> = {}): CrawlRequest {
  return {
    domainId,
    steps: STEPS,
    mode: "incremental",
    scope: "all",
    sourceId: undefined,
    vectorStoreId: undefined,
    swap: false,
    force: false,
    visibility: "crawl",
    confirmDeletes: false,
    confirmWorse: false,
    retryBatches: DEFAULT_RETRY_BATCHES,
    retryFailed: false,
    checksum: false,
    ...options,
  };
}

export const DEFAULT_RETRY_BATCHES = 2;
export const RETRY_BATCHES = { from: 1, to: 10 } as const;

/** What one step did, or would do, with the items of one source. */
export interface StepCounts {
  added: number;
  changed: number;
  moved: number;
  removed: number;
  unchanged: number;
  skipped: number;
  failed: number;
  /** Nothing in it to index; no failure. */
  empty: number;
  held: number;
}

/** What a dry run would do with one item. */
export interface PlannedChange {
  readonly step: Step;
  readonly change: "added" | "changed" | "moved" | "removed" | "held" | "skipped" | "failed";
  readonly name: string;
  /** Below the source's root; of a move, the new path. */
  readonly path: string;
  readonly reason: string;
}

/** Travels as JSON in job results, hence the spelling. */
export interface SourceResult {
  readonly source_id: SourceId;
  readonly source_type: string;
  /** false: something was missing from the listing, so nothing was removed. */
  readonly complete: boolean;
  /** Rows that the source counts but does not list, as of the last complete listing; left out if there are none. */
  readonly hidden_rows?: number;
  /** Files that are no documents, by reason; left out if there are none, or if this run did not look everywhere. */
  readonly left_out?: LeftOut;
  /** How many of what is failed now were acknowledged; left out if none. */
  readonly acknowledged?: number;
  /** Why the source was skipped or is incomplete, or "". */
  readonly error: string;
  readonly download: StepCounts;
  readonly process: StepCounts;
  readonly embed: StepCounts;
  /** Dry runs only; limited, the log has everything. */
  readonly planned?: readonly PlannedChange[];
  /** How many were cut off. */
  readonly planned_more?: number;
  /** Present if the run kept to a plan. */
  readonly kept_to_plan?: KeptToPlan;
}

/** How a source compares with the approved plan; travels as JSON, too. */
export interface KeptToPlan {
  /** What is not as planned, and was left alone; limited, the log has everything. */
  readonly not_as_planned: readonly Deviation[];
  readonly not_as_planned_more: number;
  /** Planned downloads that were done before, as by a run that was killed. */
  readonly done_before: number;
}

export interface Deviation {
  readonly step: Step;
  readonly path: string;
  readonly reason: string;
}

/**
 * Counts the failed items. Kinds that keep texts read the same files in both later steps, so an unreadable file fails
 * twice; for other kinds, what could not be processed is never embedded.
 */
export function failedOf({ source_type, download, process, embed }: SourceResult, kinds: SourceKinds): number {
  const readsTwice = kinds.find(source_type)?.abilities.keepsTexts;
  const later = readsTwice ? Math.max(process.failed, embed.failed) : process.failed + embed.failed;
  return download.failed + later;
}

export interface CrawlResult {
  readonly domain_id: DomainId;
  readonly mode: CrawlMode;
  readonly scope: string;
  readonly dry_run: boolean;
  readonly steps: readonly Step[];
  readonly vector_store_id: string;
  readonly sources: readonly SourceResult[];
  /** One sentence per problem; empty means ok. */
  readonly problems: readonly string[];
  /** How the questions of the domain were answered; left out if there are too few, or nothing has changed. */
  readonly questions?: QuestionsResult;
  /** "" when none was written: only a whole crawl that was not a dry run leaves one. */
  readonly report_id: string;
  /** The plan that a dry run stored, or that a run kept to. */
  readonly plan_id?: string;
}

/** Travels as JSON. Of the questions that were lost some are listed; the log has more. */
export interface QuestionsResult {
  readonly asked: number;
  readonly before: number;
  readonly after: number;
  readonly retired: number;
  readonly verdict: QuestionVerdict;
  /** Documents that were not committed. */
  readonly held: number;
  readonly lost: readonly LostQuestion[];
}

export function countLeftOut({ type, size, other }: LeftOut): number {
  return type + size + other;
}

/** Returns "153 left out: 151 of other types, 2 too large"; "" for none. Results of other releases may lack some. */
export function sayLeftOut({ type = 0, size = 0, other = 0 }: Partial<LeftOut>): string {
  const parts = [
    [type, "of other types"],
    [size, "too large"],
    [other, "for other reasons"],
  ] as const;
  const said = parts.filter(([count]) => count > 0).map(([count, words]) => `${count} ${words}`);
  return said.length === 0 ? "" : `${type + size + other} left out: ${said.join(", ")}`;
}

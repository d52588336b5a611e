import type { DomainId, SourceId, VectorStoreId } from "../contracts/ids.ts";
import type { SourceKinds } from "../contracts/source-kind.ts";

/** In the order they are taken. All three, and a report at the end, make a crawl. */
export const STEPS = ["download", "process", "embed"] as const;
export type Step = (typeof STEPS)[number];

export const CRAWL_MODES = ["full", "incremental"] as const;
export type CrawlMode = (typeof CRAWL_MODES)[number];
/** All sources, or those of one kind. */
export function crawlScopes({ all }: SourceKinds): readonly string[] {
  return ["all", ...all.map(({ scope }) => scope)];
}

export interface CrawlRequest {
  readonly domainId: DomainId;
  readonly steps: readonly Step[];
  readonly mode: CrawlMode;
  readonly scope: string;
  /** Only this source of the scope; undefined: all of them. */
  readonly sourceId: SourceId | undefined;
  /** Embed into this store instead of the domain's own, with a map file of its own. */
  readonly vectorStoreId: VectorStoreId | undefined;
  /** Build a fresh vector store and change the domain over to it at the end. Only for a full crawl of everything. */
  readonly swap: boolean;
  /** Removals beyond the limits are carried out instead of held. */
  readonly confirmDeletes: boolean;
  /** How often an item is tried in one run, in batches: all items first, then again those that failed. */
  readonly retryBatches: number;
  /** Files that wait in `03_failed/` are tried again although they did not change. */
  readonly retryFailed: boolean;
  /** Every file is read: of places full of files at the source, and by the integrity check on our disk, instead of a rotating part of them. */
  readonly checksum: boolean;
  /** For a few items, perhaps many times a day: all of a day count as one crawl when old generations go, and none leaves a report. */
  readonly gathered?: boolean;
  /** A dry run stores its plan under this id; a run does what that plan has, as far as it is still so, and nothing else. */
  readonly planId?: string;
  /** Of watch mode: the folders of each source that something happened in. */
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
    confirmDeletes: false,
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
  /** There is nothing in it to index, which is no failure. */
  empty: number;
  held: number;
}

/** What a dry run would do with one item. */
export interface PlannedChange {
  readonly step: Step;
  readonly change: "added" | "changed" | "moved" | "removed" | "held" | "skipped" | "failed";
  readonly name: string;
  /** Below the source's root; of a move, where it would go. */
  readonly path: string;
  /** Why, for people. */
  readonly reason: string;
}

/** Travels as JSON in job results, hence the spelling. */
export interface SourceResult {
  readonly source_id: SourceId;
  readonly source_type: string;
  /** false: something was missing from the listing, so nothing was removed. */
  readonly complete: boolean;
  /** Rows that the source counts and does not show, if there are any; as the last whole listing had it. */
  readonly hidden_rows?: number;
  /** "" or why the source was skipped or is incomplete. */
  readonly error: string;
  readonly download: StepCounts;
  readonly process: StepCounts;
  readonly embed: StepCounts;
  /** Of a dry run, as far as it fits; what does not is in the log. */
  readonly planned?: readonly PlannedChange[];
  /** How many did not fit. */
  readonly planned_more?: number;
}

/**
 * Items of which something failed. Where texts are kept, the two later steps read the same files, so one that is no readable document
 * fails in both of them; elsewhere what could not be processed is never embedded.
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
  /** Everything that did not go well, one sentence each; empty means ok. */
  readonly problems: readonly string[];
  /** "" when none was written: only a whole crawl that was not a dry run leaves one. */
  readonly report_id: string;
}

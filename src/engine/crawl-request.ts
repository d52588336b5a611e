import type { DomainId, SourceId } from "../contracts/ids.ts";

export const CRAWL_MODES = ["full", "incremental"] as const;
export const CRAWL_SCOPES = ["all", "files"] as const;
export type CrawlMode = (typeof CRAWL_MODES)[number];
export type CrawlScope = (typeof CRAWL_SCOPES)[number];

export interface CrawlRequest {
  readonly domainId: DomainId;
  readonly mode: CrawlMode;
  readonly scope: CrawlScope;
  /** Only this source of the scope; undefined: all of them. */
  readonly sourceId: SourceId | undefined;
  /** Removals beyond the limits are carried out instead of held. */
  readonly confirmDeletes: boolean;
}

/** What one step did, or would do, with the items of one source. */
export interface StepCounts {
  added: number;
  changed: number;
  moved: number;
  removed: number;
  unchanged: number;
  skipped: number;
  failed: number;
  held: number;
}

/** Travels as JSON in job results, hence the spelling. */
export interface SourceResult {
  readonly source_id: SourceId;
  readonly source_type: string;
  /** false: something was missing from the listing, so nothing was removed. */
  readonly complete: boolean;
  /** "" or why the source was skipped or is incomplete. */
  readonly error: string;
  readonly download: StepCounts;
  readonly embed: StepCounts;
}

export interface CrawlResult {
  readonly domain_id: DomainId;
  readonly mode: CrawlMode;
  readonly scope: CrawlScope;
  readonly dry_run: boolean;
  readonly vector_store_id: string;
  readonly sources: readonly SourceResult[];
  /** Everything that did not go well, one sentence each; empty means ok. */
  readonly problems: readonly string[];
}

import type { Converter } from "../contracts/converter.ts";
import type { Domain } from "../contracts/domain.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Plan, PlanDraft } from "../contracts/plan.ts";
import type { Source } from "../contracts/source.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { Approval } from "./approval.ts";
import type { CrawlRequest } from "./crawl-request.ts";
import type { IndexTarget } from "./index-target.ts";
import type { StepLedgers } from "./with-ledger.ts";

/*
 * What a run is. What it may use are the EngineParts. Whether it is dry is part of its job; ledger and mirror of a dry run
 * only remember what would be done, so the steps do not ask.
 */

/** One crawl of a domain. */
export interface DomainCrawl {
  readonly domain: Domain;
  readonly request: CrawlRequest;
  readonly job: JobContext;
  /** Where the documents go; undefined: nothing is embedded. */
  readonly target: IndexTarget | undefined;
  /** What did not go well, one sentence each. */
  readonly problems: string[];
}

/** The same for one of its sources. */
export interface SourceCrawl extends Pick<DomainCrawl, "request" | "job" | "target"> {
  readonly run: SourceRun;
  readonly mirror: Mirror;
  readonly ledgers: StepLedgers;
  /** Makes documents of originals; undefined where files are documents as they come. */
  readonly converter: Converter | undefined;
  /** What is done, item by item. */
  readonly plan: PlanDraft;
  /** The plan that somebody approved: nothing else is done. */
  readonly approval: Approval | undefined;
}

/** One step of it, while it holds the lease of the source. Its job fails at the next checkpoint when that is lost. */
export interface SourceStep extends SourceCrawl {
  readonly ledger: Ledger;
}

export interface DownloadStep extends SourceStep {
  readonly source: Source;
}

export interface EmbedStep extends SourceStep {
  readonly target: IndexTarget;
  /** undefined: this run did not list the source. */
  readonly listing: ListingResult | undefined;
  readonly removals: Removals;
}

/** later: what is to be removed stays until this step is taken once more. only: that second time, which does nothing else. */
export type Removals = "now" | "later" | "only";

/** What the download learnt about the source, for the steps after it. */
export interface ListingResult {
  readonly complete: boolean;
  /** Complete, all of it readable, and believed: only then an item that has no entry is gone. */
  readonly sawAll: boolean;
  readonly listed: number;
  /** Rows that the source counts and does not show. */
  readonly hiddenRows: number;
  /** What was, or in a dry run would be, done to the mirror. */
  readonly plan: Plan;
}

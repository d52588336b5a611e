import type { Converter } from "../contracts/converter.ts";
import type { Domain } from "../contracts/domain.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Plan, PlanDraft, StoredPlan } from "../contracts/plan.ts";
import type { LeftOut, Source } from "../contracts/source.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { Approval } from "./approval.ts";
import type { CrawlRequest } from "./crawl-request.ts";
import type { IndexTarget } from "./index-target.ts";
import type { StepLedgers } from "./with-ledger.ts";

/*
 * The data of a run; its dependencies are the EngineParts. The job says whether the run is dry. Ledger and mirror of a
 * dry run only remember what would be done, so the steps need not check.
 */

/** One crawl of a domain. */
export interface DomainCrawl {
  readonly domain: Domain;
  readonly request: CrawlRequest;
  readonly job: JobContext;
  /** undefined: nothing is embedded. */
  readonly target: IndexTarget | undefined;
  /** One sentence per problem. */
  readonly problems: string[];
  /** Nothing else is done; undefined: everything is. */
  readonly approved?: StoredPlan | undefined;
}

/** One source of a domain crawl. */
export interface SourceCrawl extends Pick<DomainCrawl, "request" | "job" | "target"> {
  readonly run: SourceRun;
  readonly mirror: Mirror;
  readonly ledgers: StepLedgers;
  /** Converts originals to documents; undefined for kinds whose files are documents already. */
  readonly converter: Converter | undefined;
  /** The changes of this run, by item. */
  readonly plan: PlanDraft;
  /** The approved plan of this source: nothing else is done. */
  readonly approval: Approval | undefined;
}

/**
 * One step of a source, while it holds the source's lease. If the lease is lost, the job fails at the next checkpoint.
 */
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
  /** Documents are removed when all sources are indexed. */
  readonly removalsWait: boolean;
}

/** What the download step found out about the source, for the steps after it. */
export interface ListingResult {
  readonly complete: boolean;
  /** Complete, all of it readable, no removals held: only then is an item without an entry gone. */
  readonly sawAll: boolean;
  readonly listed: number;
  /** Rows that the source counts but does not list. */
  readonly hiddenRows: number;
  /** undefined if unknown. */
  readonly leftOut: LeftOut | undefined;
  /** The changes to the mirror, done or (in a dry run) planned. */
  readonly plan: Plan;
}

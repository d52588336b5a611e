import type { DomainId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { GenerationChange } from "../contracts/search-index.ts";
import type { DomainStore } from "../domains/domain-store.ts";
import type { CleanupResult } from "../engine/cleanup-metadata.ts";
import type { CrawlRequest, CrawlResult } from "../engine/crawl-request.ts";
import type { PlacedFinding } from "../engine/doctor.ts";
import type { GenerationsView } from "../engine/generations.ts";
import type { QueryAnswer, QueryRequest } from "../engine/query.ts";
import type { JobRunner } from "../jobs/job-runner.ts";
import type { JobStore } from "../jobs/job-store.ts";
import type { ReportStore } from "../reports/report-store.ts";
import type { Config } from "./config.ts";
import type { WorkerOptions } from "./run-worker.ts";

/** The product without its faces: what CLI, HTTP and pages call. Built by compose. */
export interface App {
  readonly config: Config;
  readonly domains: DomainStore;
  readonly jobs: JobStore;
  readonly runner: JobRunner;
  readonly reports: ReportStore;
  /** Checks the request before any job exists: unknown domain or source is NotFoundError, a bad value BadInputError. */
  checkCrawl(request: CrawlRequest): Promise<void>;
  /** The verb itself, to be run inside a job. */
  crawl(request: CrawlRequest, job: JobContext): Promise<CrawlResult>;
  /** Likewise. Whatever keeps it from looking at everything is in the result, and then nothing was removed. */
  cleanupMetadata(domainId: DomainId, job: JobContext): Promise<CleanupResult>;
  query(request: QueryRequest): Promise<QueryAnswer>;
  /** What readers of the domain see, and what they saw before, as far as it is kept. */
  generations(domainId: DomainId): Promise<GenerationsView>;
  rollback(domainId: DomainId, number: number, options: { readonly dryRun: boolean }): Promise<GenerationsView>;
  release(domainId: DomainId): Promise<GenerationsView>;
  difference(
    domainId: DomainId,
    between: { readonly from: number; readonly to: number },
  ): AsyncIterable<readonly GenerationChange[]>;
  /** Looks at everything a crawl of the domain, or of all, needs; changes nothing. */
  examine(domainId: DomainId | undefined, signal: AbortSignal): AsyncIterable<PlacedFinding>;
  /** Runs crawls that servers left to workers, until the signal; then stop the runner, and this resolves. */
  work(options: WorkerOptions, signal: AbortSignal): Promise<void>;
  /** Ends the jobs that no process will ever end. `log` is told what could not be looked at. */
  endDeadJobs(log: (line: string) => void): Promise<void>;
  /** The OpenAI wire protocol, mounted below `/openai` (paths arrive without that prefix and without `/v1`); null when the backend is remote. */
  readonly wire: ((request: Request) => Promise<Response>) | null;
  /** Ends running jobs as cancelled ("Server stopped."), then closes what is open. */
  close(): Promise<void>;
}

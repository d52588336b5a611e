import type { AuditLog } from "../contracts/audit.ts";
import type { Asking, Wire } from "../contracts/backend.ts";
import type { Domain, SourceConfig } from "../contracts/domain.ts";
import type { OtherStore } from "../contracts/domain-state.ts";
import type { Finding } from "../contracts/finding.ts";
import type { DomainId, SourceId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Leases } from "../contracts/lease.ts";
import type { GenerationChange } from "../contracts/search-index.ts";
import type { DomainRename } from "../domains/domain-rename.ts";
import type { DomainStore } from "../domains/domain-store.ts";
import type { CleanupResult } from "../engine/cleanup-metadata.ts";
import type { CrawlRequest, CrawlResult } from "../engine/crawl-request.ts";
import type { Deletion } from "../engine/delete-domain.ts";
import type { PlacedFinding } from "../engine/doctor.ts";
import type { Documents } from "../engine/documents.ts";
import type { DomainStatus } from "../engine/domain-status.ts";
import type { DocumentExplanation, ExplainRequest } from "../engine/explain.ts";
import type { GenerationsView } from "../engine/generations.ts";
import type { Ingest } from "../engine/ingest/ingest.ts";
import type { MaintenanceRequest } from "../engine/maintain/maintain.ts";
import type { MaintenanceResult } from "../engine/maintain/maintenance-result.ts";
import type { MapFile } from "../engine/map-files.ts";
import type { MigrateRequest, MigrateResult } from "../engine/migrate/migrate.ts";
import type { QueryAnswer, QueryRequest } from "../engine/query.ts";
import type { RenamedDomain } from "../engine/rename-domain.ts";
import type { VerifyRequest } from "../engine/verification.ts";
import type { VerifyResult } from "../engine/verify-domain.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { JobRunner } from "../jobs/job-runner.ts";
import type { JobStore } from "../jobs/job-store.ts";
import type { ReportStore } from "../reports/report-store.ts";
import type { Access } from "../security/access.ts";
import type { Config } from "./config.ts";
import type { WorkerOptions } from "./run-worker.ts";
import type { Schedule } from "./schedule.ts";

/** The product without its faces: what CLI, HTTP and pages call. Built by compose. */
export interface App {
  readonly config: Config;
  readonly domains: DomainStore;
  readonly jobs: JobStore;
  readonly runner: JobRunner;
  readonly reports: ReportStore;
  readonly access: Access;
  readonly audit: AuditLog;
  /** What the backend holds, whoever put it there. */
  readonly inventory: Inventory;
  readonly schedule: Schedule;
  /** Addresses that were registered one by one, and what is known of every page. */
  readonly ingest: Ingest;
  /** Files without ids, and the texts that are kept of them. */
  readonly documents: Documents;
  /** Vector stores that are being built for the domain, or were its own and are kept for a while; none where its ledger is damaged. */
  otherStores(domainId: DomainId): Promise<readonly OtherStore[]>;
  /** Who alone works on what. */
  readonly leases: Leases;
  /** Checks the request before any job exists: unknown domain or source is NotFoundError, a bad value BadInputError. */
  checkCrawl(request: CrawlRequest): Promise<void>;
  /** The verb itself, to be run inside a job. */
  crawl(request: CrawlRequest, job: JobContext): Promise<CrawlResult>;
  /** Likewise. Whatever keeps it from looking at everything is in the result, and then nothing was removed. */
  cleanupMetadata(domainId: DomainId, job: JobContext): Promise<CleanupResult>;
  /** Likewise: takes away what nobody needs any more. */
  maintain(request: MaintenanceRequest, job: JobContext): Promise<MaintenanceResult>;
  /** Inside a job: compares everything with fresh eyes and signs what it found; with `repair`, mends it and looks again. */
  verify(request: VerifyRequest, options: { readonly repair: boolean }, job: JobContext): Promise<VerifyResult>;
  /** Inside a job. Upgrades what earlier layouts left in the folders of sources. */
  migrate(request: MigrateRequest, job: JobContext): Promise<MigrateResult>;
  /** `asking`: BusyError when whoever asks has too many searches under way. */
  query(request: QueryRequest, asking?: Asking): Promise<QueryAnswer>;
  /** Why a document is, or is not, found. */
  explainDocument(request: ExplainRequest, asking?: Asking): Promise<DocumentExplanation>;
  /** The map files of a domain, or of one of its sources, as they would be written now. */
  mapFiles(domainId: DomainId, sourceId?: SourceId): Promise<readonly MapFile[]>;
  /** How the domain stands by what is on disk and in the index. */
  standing(domain: Domain): Promise<DomainStatus>;
  /** Refuses what cannot be renamed, before any job exists, and tells what would be. */
  planRename(rename: DomainRename, signal: AbortSignal): Promise<RenamedDomain>;
  /** Inside a job. ConflictError while another job of the domain runs. */
  renameDomain(rename: DomainRename, job: JobContext): Promise<RenamedDomain>;
  /** Waits for renames that are under way and completes those that a crash interrupted. */
  finishRenames(log: (line: string) => void, signal: AbortSignal, about?: DomainId): Promise<void>;
  /** Refuses what cannot be deleted and tells what would go; `apply` does it. */
  planDeletion(domainId: DomainId, options: { readonly withVectorStore: boolean }): Promise<Deletion>;
  /** What readers of the domain see, and what they saw before, as far as it is kept. */
  generations(domainId: DomainId): Promise<GenerationsView>;
  rollback(domainId: DomainId, number: number, options: { readonly dryRun: boolean }): Promise<GenerationsView>;
  release(domainId: DomainId, options?: { readonly dryRun?: boolean }): Promise<GenerationsView>;
  difference(
    domainId: DomainId,
    between: { readonly from: number; readonly to: number },
  ): AsyncIterable<readonly GenerationChange[]>;
  /** BadInputError for a source that no crawl would take, wherever it is. Asks nobody outside this machine. */
  checkPlaces(sources: readonly SourceConfig[]): Promise<void>;
  /** Looks at everything a crawl of the domain, or of all, needs; changes nothing. */
  examine(domainId: DomainId | undefined, signal: AbortSignal): AsyncIterable<PlacedFinding>;
  /** The same of a source that is in no domain yet. */
  examineSource(source: SourceConfig, signal: AbortSignal): AsyncIterable<PlacedFinding>;
  /** What the readers that this process starts are kept from. */
  examineReaders(): Finding;
  /** Runs crawls that servers left to workers, until the signal; then stop the runner, and this resolves. */
  work(options: WorkerOptions, signal: AbortSignal): Promise<void>;
  /** Ends the jobs that no process will ever end. `log` is told what could not be looked at. */
  endDeadJobs(log: (line: string) => void): Promise<void>;
  /**
   * The OpenAI wire protocol, mounted below `/openai` (paths arrive without that prefix and without `/v1`): served here, or passed on to
   * the backend.
   */
  readonly wire: Wire;
  /** Ends running jobs as cancelled ("Server stopped."), then closes what is open. */
  close(): Promise<void>;
}

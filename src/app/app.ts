import type { AuditLog } from "../contracts/audit.ts";
import type { Asking, Wire } from "../contracts/backend.ts";
import type { Domain, SourceConfig } from "../contracts/domain.ts";
import type { OtherStore } from "../contracts/domain-state.ts";
import type { ErasureRecords, Hold } from "../contracts/erasure.ts";
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
import type { Questions } from "../engine/edit-questions.ts";
import type { EraseRequest, EraseResult } from "../engine/erase/erase.ts";
import type { HoldRequest } from "../engine/erase/holds.ts";
import type { DocumentExplanation, ExplainRequest } from "../engine/explain/explain.ts";
import type { Failures } from "../engine/failures.ts";
import type { Feedback } from "../engine/feedback.ts";
import type { GenerationsView } from "../engine/generations.ts";
import type { Ingest } from "../engine/ingest/ingest.ts";
import type { MaintenanceRequest } from "../engine/maintain/maintain.ts";
import type { MaintenanceResult } from "../engine/maintain/maintenance-result.ts";
import type { MapFile } from "../engine/map-files.ts";
import type { MigrateRequest, MigrateResult } from "../engine/migrate/migrate.ts";
import type { QueryAnswer, QueryRequest } from "../engine/query.ts";
import type { RenamedDomain } from "../engine/rename-domain.ts";
import type { SearchableDocuments } from "../engine/searchable-documents.ts";
import type { Plans } from "../engine/stored-plans.ts";
import type { Certificates } from "../engine/verify/stored-certificates.ts";
import type { VerifyRequest } from "../engine/verify/verification.ts";
import type { VerifyResult } from "../engine/verify/verify-domain.ts";
import type { Inventory } from "../inventory/inventory.ts";
import type { JobRunner } from "../jobs/job-runner.ts";
import type { JobStore } from "../jobs/job-store.ts";
import type { ReportStore } from "../reports/report-store.ts";
import type { Access } from "../security/access.ts";
import type { AnswerModels } from "./answer-model.ts";
import type { Answers } from "./answers.ts";
import type { Config } from "./config.ts";
import type { WorkerOptions } from "./run-worker.ts";
import type { Schedule } from "./schedule.ts";

/** The product without its interfaces: CLI, HTTP endpoints and pages call it. Built by compose. */
import type { Uploads } from "./uploads.ts";

export interface App extends AsyncDisposable {
  readonly config: Config;
  readonly domains: DomainStore;
  readonly jobs: JobStore;
  readonly runner: JobRunner;
  readonly reports: ReportStore;
  readonly access: Access;
  readonly audit: AuditLog;
  /** Everything the backend holds, also what other clients put there. */
  readonly inventory: Inventory;
  /** Who writes answers. */
  readonly answerModels: AnswerModels;
  /** Answers to questions, above the results of a search. */
  readonly answers: Answers;
  readonly schedule: Schedule;
  /** Addresses that were registered one by one, and the state of every web page. */
  readonly ingest: Ingest;
  /** Files without ids, and the stored texts of their versions. */
  readonly documents: Documents;
  /** What readers asked in vain, and what they think of answers. */
  readonly feedback: Feedback;
  /** What failed in the domains, until it is solved. */
  readonly failures: Failures;
  /** What readers see, of every kind of source. `read` throws BusyError as `query` does. */
  readonly searchableDocuments: Omit<SearchableDocuments, "read"> & {
    read(
      ...request: [...Parameters<SearchableDocuments["read"]>, asking?: Asking]
    ): ReturnType<SearchableDocuments["read"]>;
  };
  /**
   * Vector stores that are being built for the domain, or were replaced and are not deleted yet. Empty if the domain's ledger is damaged.
   */
  otherStores(domainId: DomainId): Promise<readonly OtherStore[]>;
  /** Exclusive locks on domains and sources. */
  readonly leases: Leases;
  /** Plans of dry runs. `crawl` carries one out. */
  readonly plans: Plans;
  /** Checks the request before any job exists: unknown domain or source is NotFoundError, a bad value BadInputError. */
  checkCrawl(request: CrawlRequest): Promise<void>;
  /** Must run inside a job. One that changed something is verified quickly at its end. */
  crawl(request: CrawlRequest, job: JobContext): Promise<CrawlResult>;
  /** Must run inside a job. Returns a `problem`, and removes nothing, if it could not check everything. */
  cleanupMetadata(domainId: DomainId, job: JobContext): Promise<CleanupResult>;
  /** Must run inside a job. Deletes what is no longer needed. */
  maintain(request: MaintenanceRequest, job: JobContext): Promise<MaintenanceResult>;
  /** Must run inside a job. Compares everything again and signs the findings; with `repair`, repairs them and compares once more. */
  verify(request: VerifyRequest, options: { readonly repair: boolean }, job: JobContext): Promise<VerifyResult>;
  /** Must run inside a job. Removes documents from everywhere, blocks them, and signs a receipt. */
  erase(request: EraseRequest, job: JobContext): Promise<EraseResult>;
  /** What was erased and is blocked, and what is held. */
  erasures(domainId: DomainId): Promise<ErasureRecords>;
  /** Lets an erased item, or all of an erasing, be crawled again; returns how many items. */
  allowErased(domainId: DomainId, item: string): Promise<number>;
  /** Holds a document, or the whole domain: neither erased nor purged. */
  setHold(request: HoldRequest): Promise<Hold>;
  liftHold(domainId: DomainId, wanted: { readonly sourceId: SourceId | ""; readonly item: string }): Promise<Hold>;
  /** Files that people upload to the domains. */
  readonly uploads: Uploads;
  /** What readers of the domains ask; crawls ask it before anything new is visible. */
  readonly questions: Questions;
  /** What verifications found: the certificates in the folders of the domains. */
  readonly certificates: Certificates;
  /** Must run inside a job. Upgrades the source folders of earlier layouts. */
  migrate(request: MigrateRequest, job: JobContext): Promise<MigrateResult>;
  /** Throws BusyError when `asking` (the caller) has too many searches running. */
  query(request: QueryRequest, asking?: Asking): Promise<QueryAnswer>;
  /** Explains why a document is, or is not, found. */
  explainDocument(request: ExplainRequest, asking?: Asking): Promise<DocumentExplanation>;
  /** Returns the map files of a domain, or of one of its sources, as they would be written now. */
  mapFiles(domainId: DomainId, sourceId?: SourceId): Promise<readonly MapFile[]>;
  /** Returns the domain's status, computed from disk and index. */
  standing(domain: Domain): Promise<DomainStatus>;
  /** Returns what a rename would change; throws if it is not possible. Call it before a job exists. */
  planRename(rename: DomainRename, signal: AbortSignal): Promise<RenamedDomain>;
  /** Must run inside a job. Throws ConflictError while another job of the domain runs. */
  renameDomain(rename: DomainRename, job: JobContext): Promise<RenamedDomain>;
  /** Waits for renames that are under way and completes those that a crash interrupted. */
  finishRenames(log: (line: string) => void, signal: AbortSignal, about?: DomainId): Promise<void>;
  /** Returns what a deletion would remove; throws if it is not possible. `apply` carries it out. */
  planDeletion(domainId: DomainId, options: { readonly withVectorStore: boolean }): Promise<Deletion>;
  /** Lists the current generation of the domain and the earlier ones that are kept. */
  generations(domainId: DomainId): Promise<GenerationsView>;
  rollback(domainId: DomainId, number: number, options: { readonly dryRun: boolean }): Promise<GenerationsView>;
  release(domainId: DomainId, options?: { readonly dryRun?: boolean }): Promise<GenerationsView>;
  difference(
    domainId: DomainId,
    between: { readonly from: number; readonly to: number },
  ): AsyncIterable<readonly GenerationChange[]>;
  /** Throws BadInputError for a source that no crawl would accept because of its location. Sends no requests. */
  checkPlaces(sources: readonly SourceConfig[]): Promise<void>;
  /** Checks everything a crawl of the domain, or of all domains, needs; changes nothing. */
  examine(domainId: DomainId | undefined, signal: AbortSignal): AsyncIterable<PlacedFinding>;
  /** Does the same for a source that belongs to no domain yet. */
  examineSource(source: SourceConfig, signal: AbortSignal): AsyncIterable<PlacedFinding>;
  /** Reports how the document reader processes of this installation are sandboxed. */
  examineReaders(): Finding;
  /** Runs crawls that servers queued for workers, until the signal aborts. Then stop the runner, and this resolves. */
  work(options: WorkerOptions, signal: AbortSignal): Promise<void>;
  /** Ends the jobs whose process is gone. `log` gets what could not be checked. */
  endDeadJobs(log: (line: string) => void): Promise<void>;
  /**
   * The OpenAI wire protocol, mounted below `/openai` (paths arrive without that prefix and without `/v1`): served here, or passed on to
   * the backend.
   */
  readonly wire: Wire;
  /** Ends running jobs as cancelled ("Server stopped."), then closes what is open. */
  close(): Promise<void>;
}

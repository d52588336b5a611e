import type { Backend } from "../contracts/backend.ts";
import type { SourceConfig } from "../contracts/domain.ts";
import type { DomainId, JobId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import { createDomainStore, type DomainStore } from "../domains/domain-store.ts";
import { createFilesMetadataReader } from "../domains/files-metadata-reader.ts";
import { checkCrawl } from "../engine/check-crawl.ts";
import { cleanupMetadata } from "../engine/cleanup-metadata.ts";
import { crawl } from "../engine/crawl.ts";
import { crawlRequest } from "../engine/crawl-request.ts";
import { planDeletion } from "../engine/delete-domain.ts";
import { examine, examineOneSource, type PlacedFinding } from "../engine/doctor.ts";
import type { EngineParts, SourceOptions, SourceRun } from "../engine/engine-parts.ts";
import { explainDocument } from "../engine/explain-document.ts";
import { difference, release, rollback, viewGenerations } from "../engine/generations.ts";
import { createIngest } from "../engine/ingest/create-ingest.ts";
import type { Ingest } from "../engine/ingest/ingest.ts";
import { query } from "../engine/query.ts";
import { planRename, type RenameParts, renameDomain } from "../engine/rename-domain.ts";
import { settleRenames } from "../engine/settle-renames.ts";
import { createStanding } from "../engine/standing.ts";
import { createInventory } from "../inventory/create-inventory.ts";
import { createJobRunner } from "../jobs/job-runner.ts";
import { createJobStore } from "../jobs/job-store.ts";
import { CsvLedger } from "../ledgers/csv-maps/csv-ledger.ts";
import { dropStoreMap, versionOfMaps } from "../ledgers/csv-maps/map-files.ts";
import { mappedStores, renamePaths } from "../ledgers/csv-maps/rename-paths.ts";
import { storageFolder } from "../mirror/layout.ts";
import { openTaskQueue } from "../queue/open-task-queue.ts";
import { createReportStore, type ReportStore } from "../reports/report-store.ts";
import { createAuditLog } from "../security/audit-log.ts";
import { openAccess } from "../security/open-access.ts";
import type { App } from "./app.ts";
import { busyWith } from "./busy-with.ts";
import type { Config } from "./config.ts";
import { crawlJob } from "./crawl-job.ts";
import { crawlTask } from "./crawl-task.ts";
import { createSchedule } from "./create-schedule.ts";
import { endDeadJobs } from "./end-dead-jobs.ts";
import { examineIndex, type IndexFacts } from "./examine-index.ts";
import { examineInstallation } from "./examine-installation.ts";
import { openBackend } from "./open-backend.ts";
import { type LazyConnection, openConverter, openSharePoint, openSource, type Pace } from "./open-sources.ts";
import { type OpenedWeb, openWeb, timesOf, type WebPace } from "./open-web.ts";
import { prepareStorage } from "./prepare-storage.ts";
import { createQueueingRunner } from "./queueing-runner.ts";
import { runWorker } from "./run-worker.ts";
import { wasCutOff } from "./was-cut-off.ts";

const MAX_FILE_BYTES = 512 * 1024 * 1024;

/** Puts the product together. The only place that knows a source, a ledger, a backend by name. */
export async function compose(config: Config, pace: Pace & { readonly web?: WebPace } = {}): Promise<App> {
  await prepareStorage(config.storagePath);
  const folder = (name: Parameters<typeof storageFolder>[1]): string => storageFolder(config.storagePath, name);
  const domains = createDomainStore({ domainsFolder: folder("domains"), crawlerFolder: folder("crawler") });
  const opened = await openBackend(config, folder("index"));
  const { backend, facts } = opened;
  const reports = createReportStore(folder("reports"));
  const sharepoint = openSharePoint(config, pace);
  const web = openWeb(config, config.acceptedTypes ?? backend.acceptedTypes, pace.web);
  const ingest = openIngest(config, { domains, web, pace: pace.web ?? {} });
  const parts = openParts(config, { domains, backend, reports, sharepoint, web });
  const queryParts = { ...parts, metadata: createFilesMetadataReader() };
  const jobs = createJobStore(folder("jobs"));
  const runner = createJobRunner({ jobsFolder: folder("jobs") });
  const queue = openTaskQueue(
    config.database.kind === "postgres" ? { url: config.database.url.reveal() } : { folder: folder("index") },
  );
  const starter = config.runJobsIn === "workers" ? createQueueingRunner(runner, jobs, queue) : runner;
  const crawlInJob: App["crawl"] = (request, job) => sayingWaits(sharepoint, job, () => crawl(request, parts, job));
  const app: App = {
    config,
    domains,
    jobs,
    runner: starter,
    reports,
    access: openAccess({ ...config.access, folder: folder("security"), adminKey: config.access.adminKey.reveal() }),
    audit: createAuditLog(folder("audit")),
    inventory: createInventory({ client: opened.client, folder: folder("inventory") }),
    get ingest() {
      return ingest();
    },
    schedule: createSchedule({
      domains,
      busyWith: busyWith(jobs),
      folder: folder("domains"),
      start: (id) => startCrawl(app, id),
      wasCutOff: wasCutOff(jobs),
      audit: { begin: (change) => app.audit.begin(change) },
    }),
    checkCrawl: (request) => checkCrawl(request, parts),
    crawl: crawlInJob,
    work: (options, signal) => runWorker({ queue, runner, jobs, crawl: crawlInJob }, options, signal),
    endDeadJobs: (log) => endDeadJobs(jobs, queue, log),
    cleanupMetadata: (domainId, job) => cleanupMetadata(domainId, parts, job),
    query: (request) => query(request, queryParts),
    explainDocument: (request) => explainDocument(request, queryParts),
    standing: createStanding(parts),
    ...domainVerbs({ ...parts, busyWith: busyWith(jobs) }),
    ...generationVerbs(parts),
    examine: (domainId, signal) => examineWith({ config, facts, parts, web }, domainId, signal),
    examineSource: (source, signal) => examineWith({ config, facts, parts, web }, source, signal),
    wire: opened.wire,
    async close() {
      await starter.stop("Server stopped.");
      for (const part of [app.inventory, app.access, sharepoint, web, opened, queue]) await part.close();
    },
  };
  return app;
}

/** Opened when it is first asked for: most commands never need the registry. */
function openIngest(
  { storagePath, web: { checks, defaultDomain } }: Config,
  { domains, web, pace }: { readonly domains: DomainStore; readonly web: OpenedWeb; readonly pace: WebPace },
): () => Ingest {
  let ingest: Ingest | undefined;
  return () => {
    ingest ??= createIngest({
      registry: web.registry,
      queue: web.queue,
      looker: web.looker,
      documents: web.documents,
      images: web.images,
      domains,
      crawlerFolder: storageFolder(storagePath, "crawler"),
      rules: web.rules,
      policy: web.policy,
      defaultDomain,
      keepGoneDays: checks.keepGoneDays,
      // One is left for the others.
      looksPerHost: Math.max(checks.itemsAtOnce - 1, 1),
      ...timesOf(pace),
    });
    return ingest;
  };
}

function domainVerbs(parts: RenameParts): Pick<App, "planRename" | "renameDomain" | "settleRenames" | "planDeletion"> {
  return {
    planRename: (rename, signal) => planRename(rename, parts, { signal }),
    renameDomain: (rename, job) => renameDomain(rename, parts, job),
    settleRenames: (log, signal) => settleRenames(parts, { log, signal, owner: `process ${process.pid}` }),
    planDeletion: (domainId, options) => planDeletion(domainId, options, parts),
  };
}

function generationVerbs(parts: EngineParts): Pick<App, "generations" | "rollback" | "release" | "difference"> {
  return {
    generations: (domainId) => viewGenerations(domainId, parts),
    rollback: (domainId, number, options) => rollback(domainId, number, parts, options),
    release: (domainId, options) => release(domainId, parts, options),
    difference: (domainId, between) => difference(domainId, between, parts),
  };
}

/** As a person would have started it from a page. */
async function startCrawl(app: App, domainId: DomainId): Promise<JobId> {
  const request = crawlRequest(domainId);
  await app.checkCrawl(request);
  const { start, work } = crawlJob(app, request, { dryRun: false });
  const endpoint = `/v2/crawler/crawl?domain_id=${domainId}&mode=incremental`;
  const { jobId } = await app.runner.start({ ...start, task: crawlTask(request), endpoint }, work);
  return jobId;
}

interface Opened {
  readonly domains: DomainStore;
  readonly backend: Backend;
  readonly reports: ReportStore;
  readonly sharepoint: LazyConnection;
  readonly web: OpenedWeb;
}

function openParts(config: Config, { domains, backend, reports, sharepoint, web }: Opened): EngineParts {
  const crawlerFolder = storageFolder(config.storagePath, "crawler");
  return {
    domains,
    backend,
    acceptedTypes: config.acceptedTypes ?? backend.acceptedTypes,
    maxFileBytes: MAX_FILE_BYTES,
    crawlerFolder,
    domainsFolder: storageFolder(config.storagePath, "domains"),
    archive: (archive) => reports.archive(archive),
    openSource: (run, options) => openSource(run, options, { sharepoint, web, crawlerFolder }),
    shelf: () => web,
    openConverter,
    async openLedger(sourceFolder, source, options) {
      const ledger = await CsvLedger.open({ folder: sourceFolder, sourceId: source.sourceId, ...options });
      return { ledger, problems: ledger.problems };
    },
    ledgerVersion: (sourceFolder) => versionOfMaps(sourceFolder),
    dropStoreMap: (sourceFolder, store) => dropStoreMap(sourceFolder, store),
    renamePaths: (sourceFolder, ids) => renamePaths(sourceFolder, ids),
    mappedStores: (sourceFolder) => mappedStores(sourceFolder),
    defaultVectorStoreId: config.search.defaultVectorStoreId,
    keepSupersededMs: config.keepSupersededDays * 24 * 3600 * 1000,
  };
}

interface Examined {
  readonly config: Config;
  readonly facts: IndexFacts;
  readonly parts: EngineParts;
  readonly web: OpenedWeb;
}

/** With a connection of its own: a fresh token tells what is consented to now, and whoever asks is waiting. */
async function* examineWith(
  { config, facts, parts, web }: Examined,
  what: DomainId | SourceConfig | undefined,
  signal: AbortSignal,
): AsyncGenerator<PlacedFinding, void> {
  const sharepoint = openSharePoint(config, {
    // Whoever is typing a source wants an answer before the next key.
    retry: typeof what === "object" ? { attempts: 1, patienceMs: 5_000 } : { attempts: 2, patienceMs: 20_000 },
  });
  const doctorParts = {
    ...parts,
    openSource: (run: SourceRun, options: SourceOptions) => openSource(run, options, { ...parts, sharepoint, web }),
    async *examineInstallation(needs: { readonly sharepoint: boolean }) {
      yield* examineInstallation(config, needs);
      yield* examineIndex(facts);
      // To start a browser takes a while.
      if (typeof what !== "object") yield* web.examine();
    },
  };
  try {
    if (typeof what === "object") yield* examineOneSource(what, doctorParts, signal);
    else yield* examine(what, doctorParts, signal);
  } finally {
    await sharepoint.close();
  }
}

/** The tenant counts the app as a whole, so what other crawls had to wait meanwhile is in the sum, too. */
async function sayingWaits<T>(sharepoint: LazyConnection, job: JobContext, work: () => Promise<T>): Promise<T> {
  const before = sharepoint.waited();
  try {
    return await work();
  } finally {
    const after = sharepoint.waited();
    const seconds = Math.round((after.ms - before.ms) / 1000);
    if (seconds > 0) job.log(`Waited ${seconds} s for SharePoint (${after.pauses - before.pauses} pauses).`);
  }
}

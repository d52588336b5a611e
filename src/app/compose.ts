import { createEmbeddedBackend } from "../backends/embedded/embedded-backend.ts";
import { createOpenAiBackend } from "../backends/openai/openai-backend.ts";
import type { Backend } from "../contracts/backend.ts";
import type { Converter } from "../contracts/converter.ts";
import type { SourceConfig, SourceType } from "../contracts/domain.ts";
import type { Embedder } from "../contracts/embedder.ts";
import { BadInputError } from "../contracts/errors.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Source } from "../contracts/source.ts";
import { createDomainStore, type DomainStore } from "../domains/domain-store.ts";
import { createFilesMetadataReader } from "../domains/files-metadata-reader.ts";
import { checkCrawl } from "../engine/check-crawl.ts";
import { cleanupMetadata } from "../engine/cleanup-metadata.ts";
import { crawl } from "../engine/crawl.ts";
import { examine, type PlacedFinding } from "../engine/doctor.ts";
import type { EngineParts } from "../engine/engine-parts.ts";
import { difference, release, rollback, viewGenerations } from "../engine/generations.ts";
import { query } from "../engine/query.ts";
import { createExtractor } from "../extract/extractor.ts";
import { createHttpModel } from "../index/embed/http-embedder.ts";
import { createLearntModel } from "../index/embed/learnt-model.ts";
import { createOnnxModel } from "../index/embed/onnx-embedder.ts";
import type { VectorModel } from "../index/embed/vector-model.ts";
import { openPostgresHouse } from "../index/postgres/open-postgres-house.ts";
import { openSqliteHouse } from "../index/sqlite/open-sqlite-house.ts";
import type { StoreHouse } from "../index/storage/store-house.ts";
import { createJobRunner } from "../jobs/job-runner.ts";
import { createJobStore } from "../jobs/job-store.ts";
import { CsvLedger } from "../ledgers/csv-maps/csv-ledger.ts";
import { dropStoreMap, versionOfMaps } from "../ledgers/csv-maps/map-files.ts";
import { describePostgres } from "../lib/sql/postgres-trouble.ts";
import { storageFolder } from "../mirror/layout.ts";
import { openTaskQueue } from "../queue/open-task-queue.ts";
import { createReportStore, type ReportStore } from "../reports/report-store.ts";
import { createListConverter } from "../sources/sharepoint/lists/list-converter.ts";
import { openSharePointList } from "../sources/sharepoint/lists/open-sharepoint-list.ts";
import { openSharePointLibrary } from "../sources/sharepoint/open-sharepoint-library.ts";
import { openSharePointPages } from "../sources/sharepoint/pages/open-sharepoint-pages.ts";
import { createPageConverter } from "../sources/sharepoint/pages/page-converter.ts";
import {
  createSharePointConnection,
  type SharePointConnection,
  type SharePointConnectionOptions,
} from "../sources/sharepoint/sharepoint-connection.ts";
import type { Waited } from "../sources/sharepoint/throttle-gate.ts";
import type { App } from "./app.ts";
import type { Config } from "./config.ts";
import { endDeadJobs } from "./end-dead-jobs.ts";
import { examineIndex, type IndexFacts } from "./examine-index.ts";
import { examineInstallation } from "./examine-installation.ts";
import type { EmbeddingSettings } from "./index-settings.ts";
import { prepareStorage } from "./prepare-storage.ts";
import { createQueueingRunner } from "./queueing-runner.ts";
import { runWorker } from "./run-worker.ts";

const MAX_FILE_BYTES = 512 * 1024 * 1024;

/** For the kinds whose originals are no documents yet. */
const CONVERTERS: Partial<Record<SourceType, () => Converter>> = {
  list_sources: createListConverter,
  sitepage_sources: createPageConverter,
};

/** How the connection to SharePoint waits, where the usual patience does not fit: tests have none. */
export type Pace = Pick<SharePointConnectionOptions, "retry" | "timeouts">;

/** Puts the product together. The only place that knows a source, a ledger, a backend by name. */
export async function compose(config: Config, pace: Pace = {}): Promise<App> {
  await prepareStorage(config.storagePath);
  const folder = (name: Parameters<typeof storageFolder>[1]): string => storageFolder(config.storagePath, name);
  const domains = createDomainStore({ domainsFolder: folder("domains"), crawlerFolder: folder("crawler") });
  const { backend, wire, facts } = await openBackend(config, folder("index"));
  const reports = createReportStore(folder("reports"));
  const sharepoint = openSharePoint(config, pace);
  const parts = openParts(config, { domains, backend, reports, sharepoint });
  const queryParts = { ...parts, metadata: createFilesMetadataReader() };
  const jobs = createJobStore(folder("jobs"));
  const runner = createJobRunner({ jobsFolder: folder("jobs") });
  const queue = openTaskQueue(
    config.database.kind === "postgres" ? { url: config.database.url.reveal() } : { folder: folder("index") },
  );
  const starter = config.runJobsIn === "workers" ? createQueueingRunner(runner, jobs, queue) : runner;
  const crawlInJob: App["crawl"] = (request, job) => sayingWaits(sharepoint, job, () => crawl(request, parts, job));
  return {
    config,
    domains,
    jobs,
    runner: starter,
    reports,
    checkCrawl: (request) => checkCrawl(request, parts),
    crawl: crawlInJob,
    work: (options, signal) => runWorker({ queue, runner, jobs, crawl: crawlInJob }, options, signal),
    endDeadJobs: (log) => endDeadJobs(jobs, queue, log),
    cleanupMetadata: (domainId, job) => cleanupMetadata(domainId, parts, job),
    query: (request) => query(request, queryParts),
    generations: (domainId) => viewGenerations(domainId, parts),
    rollback: (domainId, number, options) => rollback(domainId, number, parts, options),
    release: (domainId) => release(domainId, parts),
    difference: (domainId, between) => difference(domainId, between, parts),
    examine: (domainId, signal) => examineWith(config, facts, parts, domainId, signal),
    wire,
    async close() {
      await starter.stop("Server stopped.");
      await sharepoint.close();
      await backend.close();
      await queue.close();
    },
  };
}

interface Opened {
  readonly domains: DomainStore;
  readonly backend: Backend;
  readonly reports: ReportStore;
  readonly sharepoint: LazyConnection;
}

function openParts(config: Config, { domains, backend, reports, sharepoint }: Opened): EngineParts {
  return {
    domains,
    backend,
    acceptedTypes: config.acceptedTypes ?? backend.acceptedTypes,
    maxFileBytes: MAX_FILE_BYTES,
    crawlerFolder: storageFolder(config.storagePath, "crawler"),
    domainsFolder: storageFolder(config.storagePath, "domains"),
    archive: (archive) => reports.archive(archive),
    openSource: (source, log) => openSource(source, sharepoint(), log),
    openConverter: ({ sourceType }) => CONVERTERS[sourceType]?.(),
    async openLedger(sourceFolder, source, options) {
      const ledger = await CsvLedger.open({ folder: sourceFolder, sourceId: source.sourceId, ...options });
      return { ledger, problems: ledger.problems };
    },
    ledgerVersion: (sourceFolder) => versionOfMaps(sourceFolder),
    dropStoreMap: (sourceFolder, store) => dropStoreMap(sourceFolder, store),
    defaultVectorStoreId: config.search.defaultVectorStoreId,
    keepSupersededMs: config.keepSupersededDays * 24 * 3600 * 1000,
  };
}

function openSource(source: SourceConfig, connection: SharePointConnection, log: (line: string) => void): Source {
  const options = { onWait: (reason: string, ms: number) => log(`Waiting ${Math.ceil(ms / 1000)} s: ${reason}`) };
  switch (source.sourceType) {
    case "file_sources":
      return openSharePointLibrary(source, connection, options);
    case "list_sources":
      return openSharePointList(source, connection, options);
    case "sitepage_sources":
      return openSharePointPages(source, connection, options);
  }
}

async function openBackend(
  { backend: settings, database, embeddings, storagePath }: Config,
  indexFolder: string,
): Promise<{ backend: Backend; wire: App["wire"]; facts: IndexFacts }> {
  if (settings.kind === "embedded") {
    const model = openModel(embeddings);
    const { house, place, vectors } = await openHouse(database, model, { indexFolder, storagePath });
    const embedder = (): Promise<Embedder> => model.first();
    const backend = await createEmbeddedBackend({ house, folder: indexFolder, extractor: createExtractor(), embedder });
    const setting = embeddings.kind === "onnx" ? "EMBEDDINGS_ONNX_FOLDER" : "EMBEDDINGS_BASE_URL";
    const facts = { place, vectors, embedder: embeddings.kind === "built-in" ? undefined : embedder, setting };
    return { backend, wire: (request) => backend.wire(request), facts };
  }
  const apiKey = settings.apiKey.reveal();
  const shared = { apiKey, model: settings.model, journalFolder: indexFolder };
  const options =
    settings.kind === "openai"
      ? { ...shared, kind: settings.kind, baseUrl: settings.baseUrl, organization: settings.organization }
      : { ...shared, kind: settings.kind, baseUrl: settings.endpoint, apiVersion: settings.apiVersion };
  const place = settings.kind === "openai" ? "Vector stores at OpenAI" : "Vector stores at Azure OpenAI";
  const facts = { place, vectors: "", embedder: undefined, setting: "" };
  return { backend: createOpenAiBackend(options), wire: null, facts };
}

async function openHouse(
  database: Config["database"],
  model: VectorModel,
  { indexFolder, storagePath }: { readonly indexFolder: string; readonly storagePath: string },
): Promise<{ house: StoreHouse; place: string; vectors: string }> {
  const exactly = "Vectors are compared one by one, in memory.";
  if (database.kind === "sqlite") {
    const house = openSqliteHouse(indexFolder, { model });
    return { house, place: `SQLite files in ${indexFolder}`, vectors: exactly };
  }
  const url = database.url.reveal();
  const house = await openPostgresHouse({ url, model, storageFolder: storagePath });
  const vectors =
    house.vectorSearch === "pgvector" ? "Vectors are searched by pgvector." : `${exactly} pgvector is not there.`;
  return { house, place: `PostgreSQL at ${describePostgres(url)}`, vectors };
}

/** Where the vectors of the embedded index come from. */
function openModel(settings: EmbeddingSettings): VectorModel {
  switch (settings.kind) {
    case "built-in":
      return createLearntModel();
    case "endpoint":
      return createHttpModel({ ...settings, apiKey: settings.apiKey.reveal() });
    case "onnx":
      return createOnnxModel(settings.folder);
  }
}

/** With a connection of its own: a fresh token tells what is consented to now, and whoever asks is waiting. */
async function* examineWith(
  config: Config,
  facts: IndexFacts,
  parts: EngineParts,
  domainId: DomainId | undefined,
  signal: AbortSignal,
): AsyncGenerator<PlacedFinding, void> {
  const sharepoint = openSharePoint(config, { retry: { attempts: 2, patienceMs: 20_000 } });
  const doctorParts = {
    ...parts,
    openSource: (source: SourceConfig, log: (line: string) => void) => openSource(source, sharepoint(), log),
    async *examineInstallation() {
      yield* examineInstallation(config);
      yield* examineIndex(facts);
    },
  };
  try {
    yield* examine(domainId, doctorParts, signal);
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

type LazyConnection = (() => SharePointConnection) & { waited(): Waited; close(): Promise<void> };

/** One connection for all sources, opened when the first one needs it: most commands never sign in. */
function openSharePoint(config: Config, pace: Pace): LazyConnection {
  let connection: SharePointConnection | undefined;
  const open = (): SharePointConnection => {
    const { sharepoint } = config;
    if (!sharepoint) {
      throw new BadInputError(
        "SharePoint is not configured. Set CRAWLER_TENANT_ID, CRAWLER_CLIENT_ID and a certificate (see .env.example).",
      );
    }
    connection ??= createSharePointConnection({
      ...sharepoint,
      certificate: { ...sharepoint.certificate, privateKeyPem: sharepoint.certificate.privateKeyPem.reveal() },
      tokenEndpoint: sharepoint.tokenEndpoint || undefined,
      ...pace,
    });
    return connection;
  };
  return Object.assign(open, {
    waited: () => connection?.waited() ?? { ms: 0, pauses: 0 },
    close: async () => {
      await connection?.close();
    },
  });
}

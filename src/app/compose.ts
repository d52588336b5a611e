import { createEmbeddedBackend } from "../backends/embedded/embedded-backend.ts";
import { createOpenAiBackend } from "../backends/openai/openai-backend.ts";
import type { Backend } from "../contracts/backend.ts";
import type { Converter } from "../contracts/converter.ts";
import type { SourceConfig, SourceType } from "../contracts/domain.ts";
import { BadInputError } from "../contracts/errors.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Source } from "../contracts/source.ts";
import { createDomainStore } from "../domains/domain-store.ts";
import { createFilesMetadataReader } from "../domains/files-metadata-reader.ts";
import { checkCrawl } from "../engine/check-crawl.ts";
import { cleanupMetadata } from "../engine/cleanup-metadata.ts";
import { crawl } from "../engine/crawl.ts";
import { examine, type PlacedFinding } from "../engine/doctor.ts";
import type { EngineParts } from "../engine/engine-parts.ts";
import { query } from "../engine/query.ts";
import { createExtractor } from "../extract/extractor.ts";
import { createNgramEmbedder } from "../index/embed/ngram-embedder.ts";
import { createJobRunner } from "../jobs/job-runner.ts";
import { createJobStore } from "../jobs/job-store.ts";
import { CsvLedger } from "../ledgers/csv-maps/csv-ledger.ts";
import { versionOfMaps } from "../ledgers/csv-maps/map-files.ts";
import { storageFolder } from "../mirror/layout.ts";
import { createReportStore } from "../reports/report-store.ts";
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
import { examineInstallation } from "./examine-installation.ts";
import { prepareStorage } from "./prepare-storage.ts";

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
  const { backend, wire } = openBackend(config, folder("index"));
  const reports = createReportStore(folder("reports"));
  const sharepoint = openSharePoint(config, pace);
  const parts: EngineParts = {
    domains,
    backend,
    acceptedTypes: config.acceptedTypes ?? backend.acceptedTypes,
    maxFileBytes: MAX_FILE_BYTES,
    crawlerFolder: folder("crawler"),
    domainsFolder: folder("domains"),
    archive: (archive) => reports.archive(archive),
    openSource: (source, log) => openSource(source, sharepoint(), log),
    openConverter: ({ sourceType }) => CONVERTERS[sourceType]?.(),
    async openLedger(sourceFolder, source, options) {
      const ledger = await CsvLedger.open({ folder: sourceFolder, sourceId: source.sourceId, ...options });
      return { ledger, problems: ledger.problems };
    },
    ledgerVersion: (sourceFolder) => versionOfMaps(sourceFolder),
  };
  const queryParts = {
    ...parts,
    metadata: createFilesMetadataReader(),
    defaultVectorStoreId: config.search.defaultVectorStoreId,
  };
  const runner = createJobRunner({ jobsFolder: folder("jobs") });
  return {
    config,
    domains,
    jobs: createJobStore(folder("jobs")),
    runner,
    reports,
    checkCrawl: (request) => checkCrawl(request, parts),
    crawl: (request, job) => sayingWaits(sharepoint, job, () => crawl(request, parts, job)),
    cleanupMetadata: (domainId, job) => cleanupMetadata(domainId, parts, job),
    query: (request) => query(request, queryParts),
    examine: (domainId, signal) => examineWith(config, parts, domainId, signal),
    wire,
    async close() {
      await runner.stop("Server stopped.");
      await sharepoint.close();
      await backend.close();
    },
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

function openBackend(config: Config, indexFolder: string): { backend: Backend; wire: App["wire"] } {
  const { backend: settings } = config;
  if (settings.kind === "embedded") {
    const backend = createEmbeddedBackend({
      folder: indexFolder,
      extractor: createExtractor(),
      embedder: createNgramEmbedder(),
    });
    return { backend, wire: (request) => backend.wire(request) };
  }
  const apiKey = settings.apiKey.reveal();
  const options =
    settings.kind === "openai"
      ? { kind: settings.kind, apiKey, baseUrl: settings.baseUrl, organization: settings.organization }
      : { kind: settings.kind, apiKey, baseUrl: settings.endpoint, apiVersion: settings.apiVersion };
  return { backend: createOpenAiBackend(options), wire: null };
}

/** With a connection of its own: a fresh token tells what is consented to now, and whoever asks is waiting. */
async function* examineWith(
  config: Config,
  parts: EngineParts,
  domainId: DomainId | undefined,
  signal: AbortSignal,
): AsyncGenerator<PlacedFinding, void> {
  const sharepoint = openSharePoint(config, { retry: { attempts: 2, patienceMs: 20_000 } });
  const doctorParts = {
    ...parts,
    openSource: (source: SourceConfig, log: (line: string) => void) => openSource(source, sharepoint(), log),
    examineInstallation: () => examineInstallation(config),
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

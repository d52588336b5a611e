import { createEmbeddedBackend } from "../backends/embedded/embedded-backend.ts";
import { createOpenAiBackend } from "../backends/openai/openai-backend.ts";
import type { Backend } from "../contracts/backend.ts";
import { BadInputError } from "../contracts/errors.ts";
import { createDomainStore } from "../domains/domain-store.ts";
import { createFilesMetadataReader } from "../domains/files-metadata.ts";
import { crawl, selectSources } from "../engine/crawl.ts";
import type { EngineParts } from "../engine/engine-parts.ts";
import { query } from "../engine/query.ts";
import { createExtractor } from "../extract/extractor.ts";
import { createNgramEmbedder } from "../index/embed/ngram-embedder.ts";
import { createJobRunner } from "../jobs/job-runner.ts";
import { createJobStore } from "../jobs/job-store.ts";
import { CsvLedger } from "../ledgers/csv-maps/csv-ledger.ts";
import { storageFolder } from "../mirror/layout.ts";
import { openSharePointLibrary } from "../sources/sharepoint/open-sharepoint-library.ts";
import { createSharePointConnection, type SharePointConnection } from "../sources/sharepoint/sharepoint-connection.ts";
import type { App } from "./app.ts";
import type { Config } from "./config.ts";
import { prepareStorage } from "./prepare-storage.ts";

const MAX_FILE_BYTES = 512 * 1024 * 1024;

/** Puts the product together. The only place that knows a source, a ledger, a backend by name. */
export async function compose(config: Config): Promise<App> {
  await prepareStorage(config.storagePath);
  const folder = (name: Parameters<typeof storageFolder>[1]): string => storageFolder(config.storagePath, name);
  const domains = createDomainStore({ domainsFolder: folder("domains"), crawlerFolder: folder("crawler") });
  const { backend, wire } = openBackend(config, folder("index"));
  const sharepoint = openSharePoint(config);
  const parts: EngineParts = {
    domains,
    backend,
    acceptedTypes: config.acceptedTypes ?? backend.acceptedTypes,
    maxFileBytes: MAX_FILE_BYTES,
    crawlerFolder: folder("crawler"),
    domainsFolder: folder("domains"),
    openSource(source, log) {
      const options = { onWait: (reason: string, ms: number) => log(`Waiting ${Math.ceil(ms / 1000)} s: ${reason}`) };
      if (source.sourceType !== "file_sources")
        throw new BadInputError(`'${source.sourceType}' cannot be crawled yet.`);
      return openSharePointLibrary(source, sharepoint(), options);
    },
    async openLedger(sourceFolder, source, { step, readOnly }) {
      const ledger = await CsvLedger.open({ folder: sourceFolder, sourceId: source.sourceId, step, readOnly });
      return { ledger, problems: ledger.problems };
    },
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
    async checkCrawl(request) {
      selectSources(await domains.get(request.domainId), request);
    },
    crawl: (request, job) => crawl(request, parts, job),
    query: (request) => query(request, queryParts),
    wire,
    async close() {
      await runner.stop("Server stopped.");
      await sharepoint.close();
      await backend.close();
    },
  };
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

/** One connection for all sources, opened when the first one needs it: most commands never sign in. */
function openSharePoint(config: Config): (() => SharePointConnection) & { close(): Promise<void> } {
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
    });
    return connection;
  };
  return Object.assign(open, {
    close: async () => {
      await connection?.close();
    },
  });
}

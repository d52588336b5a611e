import { join } from "node:path";
import type { Finding } from "../contracts/finding.ts";
import type { Members } from "../contracts/members.ts";
import type { TaskQueue } from "../contracts/queue.ts";
import type { Registry } from "../contracts/registry.ts";
import {
  CRAWLER_AGENT,
  type FileVisitor,
  type ItemFetcher,
  type ItemVisitor,
  type PageRenderer,
  type PageVisitor,
  type WebClient,
  type WebDocuments,
  type WebImages,
} from "../contracts/web.ts";
import { createItemFetcher } from "../engine/ingest/create-item-fetcher.ts";
import { createExtractor, createTextReader } from "../extract/extractor.ts";
import { createWebPageReader } from "../extract/web/create-web-page-reader.ts";
import { openSqlRegistry } from "../ledger/registry/sql-registry.ts";
import { openTableRegistry } from "../ledger/registry/table-registry.ts";
import type { AzureAccount } from "../lib/azure.ts";
import { releaseNumber } from "../lib/release.ts";
import { storageFolder } from "../mirror/layout.ts";
import type { IdentityRules } from "../plan/web/item-identity.ts";
import { isTwin } from "../plan/web/item-identity.ts";
import type { CheckPolicy } from "../plan/web/item-state.ts";
import { openAzureQueue } from "../queue/open-azure-queue.ts";
import { openTaskQueue } from "../queue/open-task-queue.ts";
import { createFileVisitor } from "../sources/files/create-file-visitor.ts";
import { createLocalFiles } from "../sources/files/create-local-files.ts";
import { createSingleBlobs } from "../sources/files/create-single-blobs.ts";
import type { FileReader } from "../sources/files/file-reader.ts";
import { snapshotsInAzure } from "../sources/web/azure-snapshots.ts";
import { createPageVisitor } from "../sources/web/page-visitor.ts";
import { createPageRenderer, diagnoseBrowser, type PageRendererOptions } from "../sources/web/render-page.ts";
import { createWebClient } from "../sources/web/web-client.ts";
import { createWebDocuments, type SnapshotStore } from "../sources/web/web-documents.ts";
import { createWebImages } from "../sources/web/web-images.ts";
import type { Config, StorageAccount } from "./config.ts";

/** The container of snapshots in Azure. */
const SNAPSHOTS = "lockstep-snapshots";

/** The web sources' parts. Each is created on first use: most commands never need them. */
export interface OpenedWeb {
  readonly registry: Registry;
  readonly members: Members;
  readonly queue: TaskQueue;
  readonly client: WebClient;
  readonly visitor: PageVisitor;
  readonly files: FileVisitor;
  /** Visits pages and files alike. */
  readonly items: ItemVisitor;
  readonly itemFetcher: ItemFetcher;
  readonly documents: WebDocuments;
  readonly images: WebImages;
  readonly rules: IdentityRules;
  readonly policy: CheckPolicy;
  readonly pagesAtOnce: number;
  readonly now: () => Date;
  /** Checks the browser for `lockstep doctor`, if rendering is enabled. */
  examine(): AsyncIterable<Finding>;
  close(): Promise<void>;
}

/** Waits and timeouts of web requests; tests shorten them. */
export type WebPace = Partial<Parameters<typeof createWebClient>[0]> & {
  readonly now?: () => Date;
  /** How long an item and its message stay locked by a worker that sends no heartbeat. */
  readonly lockMs?: number;
};

export function openWeb(
  config: Config,
  acceptedTypes: ReadonlySet<string>,
  members: Members,
  pace: WebPace = {},
): OpenedWeb {
  const { web, trees, storagePath } = config;
  const opened: { close(): Promise<void> }[] = [];
  const registerPart = <T extends { close(): Promise<void> }>(part: T): T => {
    opened.push(part);
    return part;
  };
  const folder = storageFolder(storagePath, "web");
  const texts = createTextReader(createExtractor());
  const rules = { trackingPrefixes: web.trackingPrefixes };
  const { keepSnapshotsDays, render, checks: policy, pagesAtOnce } = web;
  const renderer = (): PageRenderer | undefined =>
    render.enabled ? registerPart(createPageRenderer({ client: parts.client, ...rendererOptions(config) })) : undefined;
  const parts: LazyParts = lazily<LazyParts>({
    registry: () => registerPart(openRegistry(config)),
    queue: () => registerPart(openQueue(config)),
    client: () => registerPart(createWebClient({ ...clientOptions(config), ...pace })),
    documents: () =>
      createWebDocuments({ folder: join(folder, "documents"), keepSnapshotsDays, snapshots: snapshotsOf(config) }),
    images: () => createWebImages({ folder: join(folder, "images"), client: parts.client, rules: web.images }),
    visitor: () =>
      createPageVisitor({
        client: parts.client,
        registry: parts.registry,
        reader: createWebPageReader(),
        texts,
        documents: parts.documents,
        images: parts.images,
        renderer: renderer(),
        rules,
        policy,
        acceptedTypes,
        maxBytes: web.maxBytes,
        ...(pace.now && { now: pace.now }),
      }),
    files: () =>
      createFileVisitor({
        disk: createLocalFiles({ storagePath, roots: trees.fileRoots }),
        blobs: openBlobs(config),
        registry: parts.registry,
        documents: parts.documents,
        texts,
        policy,
        acceptedTypes,
        maxBytes: web.maxBytes,
        ...(pace.now && { now: pace.now }),
      }),
    items: () => visitorOfItems(parts),
    itemFetcher: () => {
      const { registry, items: visitor, documents } = parts;
      return createItemFetcher({ registry, members, visitor, documents, rules, ...timesOf(pace) });
    },
  });
  const close = async (): Promise<void> => {
    for (const part of opened.reverse()) await part.close();
  };
  async function* examine(): AsyncGenerator<Finding> {
    if (render.enabled) yield await diagnoseBrowser(render.browserPath);
  }
  return Object.assign(parts, {
    members,
    rules,
    policy,
    pagesAtOnce,
    now: pace.now ?? (() => new Date()),
    examine,
    close,
  });
}

type LazyParts = Pick<
  OpenedWeb,
  "registry" | "queue" | "client" | "visitor" | "files" | "items" | "itemFetcher" | "documents" | "images"
>;

/** Looks the visitor up per item: files alone must not start a browser, a page reader and a web client. */
function visitorOfItems(parts: Pick<OpenedWeb, "visitor" | "files">): ItemVisitor {
  return {
    visit: (item, options) =>
      item.type === "file"
        ? parts.files.visit(item, options)
        : parts.visitor.visit(item.foundSource, { ...options, isTwin: isTwin(item) }),
    document: (item, signal) => (item.type === "file" ? parts.files : parts.visitor).document(item, signal),
  };
}

/** Returns only the options that are set. */
export function timesOf({ now, lockMs }: WebPace): Pick<WebPace, "now" | "lockMs"> {
  return { ...(now && { now }), ...(lockMs && { lockMs }) };
}

/** Creates each part on first access. */
function lazily<T extends object>(makers: { readonly [K in keyof T]: () => T[K] }): T {
  const made = {} as T;
  for (const name of Object.keys(makers) as (keyof T)[]) {
    Object.defineProperty(made, name, { enumerable: true, get: once(makers[name]) });
  }
  return made;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

function clientOptions({ web }: Config): Parameters<typeof createWebClient>[0] {
  const contact = web.contactUrl ? ` (+${web.contactUrl})` : "";
  return {
    userAgent: `${CRAWLER_AGENT}${releaseNumber()}${contact}`,
    allowPrivateNetworks: web.allowPrivateNetworks,
    requestsPerHost: web.requestsPerHost,
    hostDelayMs: web.hostDelayMs,
    timeoutMs: web.timeoutSeconds * 1000,
  };
}

function rendererOptions({ web }: Config): Omit<PageRendererOptions, "client"> {
  return { browserPath: web.render.browserPath, timeoutMs: web.timeoutSeconds * 1000 };
}

export function databaseOf({ database }: Config): { readonly url: string } | { readonly folder: string } {
  return database.kind === "postgres"
    ? { url: database.url.reveal() }
    : { folder: storageFolder(database.folder, "index") };
}

function openRegistry(config: Config): Registry {
  const { registry } = config.web;
  if (registry.kind === "database") return openSqlRegistry(databaseOf(config), registry.partitions);
  const { tableName, partitions } = registry;
  return openTableRegistry({ account: accountOf(registry.account), tableName, partitions });
}

/** Returns the snapshot store beside the registry, so that every machine that shares the registry shares the snapshots. */
function snapshotsOf({ web: { registry } }: Config): SnapshotStore | undefined {
  return registry.kind === "azure" ? snapshotsInAzure(accountOf(registry.account), SNAPSHOTS) : undefined;
}

function openBlobs({ web, trees, variables }: Config): FileReader {
  return createSingleBlobs({
    credential: trees.blobCredential,
    variable: (name) => variables.read(name),
    identityClientId: trees.identityClientId,
    account: web.account?.kind === "identity" ? web.account : undefined,
  });
}

function openQueue(config: Config): TaskQueue {
  const { queue } = config.web;
  if (queue.kind === "database") return openTaskQueue(databaseOf(config));
  return openAzureQueue({ account: accountOf(queue.account), prefix: "lockstep-" });
}

function accountOf(account: StorageAccount): AzureAccount {
  if (account.kind === "identity") return account;
  return { kind: account.kind, connectionString: account.connectionString.reveal() };
}

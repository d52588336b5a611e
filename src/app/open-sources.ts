import { join } from "node:path";
import type { Converter } from "../contracts/converter.ts";
import type { Extractor } from "../contracts/document.ts";
import {
  isOfSharePoint,
  isTree,
  REGISTERED_SOURCE,
  type SharePointSourceConfig,
  type SourceConfig,
  type SourceType,
  type TreeSourceConfig,
} from "../contracts/domain.ts";
import { BadInputError } from "../contracts/errors.ts";
import type { Ledgers } from "../contracts/ledger.ts";
import type { CrawlHead, SiteMemory } from "../contracts/site-memory.ts";
import type { Source } from "../contracts/source.ts";
import type { SourceOptions, SourceRun } from "../engine/engine-parts.ts";
import { mirroredFiles } from "../engine/mirrored-files.ts";
import { KnowledgeBase } from "../mirror/knowledge/knowledge-base.ts";
import { PRIVATE_FOLDER, sourceFolder } from "../mirror/layout.ts";
import { createBlobTree } from "../sources/blob/create-blob-tree.ts";
import { createFolderTree } from "../sources/folder/create-folder-tree.ts";
import { refuseRoot } from "../sources/folder/folder-root.ts";
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
import { openTreeSource, type TreeTools } from "../sources/tree/open-tree-source.ts";
import { openRegisteredUrls } from "../sources/web/open-registered-urls.ts";
import { openWebSite } from "../sources/web/site/open-web-site.ts";
import type { Config } from "./config.ts";
import type { FolderRoots } from "./open-folder-roots.ts";
import type { OpenedWeb } from "./open-web.ts";

/** For the kinds whose originals are no documents yet. */
const CONVERTERS: Partial<Record<SourceType, () => Converter>> = {
  list_sources: createListConverter,
  sitepage_sources: createPageConverter,
};

/** How the connection to SharePoint waits, where the usual patience does not fit: tests have none. */
export type Pace = Pick<SharePointConnectionOptions, "retry" | "timeouts">;

export function openConverter({ sourceType }: SourceConfig): Converter | undefined {
  return CONVERTERS[sourceType]?.();
}

export interface Connections {
  readonly sharepoint: LazyConnection;
  readonly web: OpenedWeb;
  readonly trees: TreeConnections;
  /** The folder `crawler/`, absolute. */
  readonly crawlerFolder: string;
  readonly ledgers: Ledgers;
}

/** What folders and containers are read with. */
export interface TreeConnections {
  readonly storagePath: string;
  readonly roots: FolderRoots;
  readonly credential: (name: string) => string | undefined;
  readonly identityClientId: string;
  readonly extractor: Extractor;
  readonly acceptedTypes: ReadonlySet<string>;
  readonly now: () => Date;
}

export function openSource(run: SourceRun, { log, ...options }: SourceOptions, connections: Connections): Source {
  const { config: source } = run;
  if (isOfSharePoint(source)) return openSharePointSource(source, connections.sharepoint(), log);
  const root = join(connections.crawlerFolder, sourceFolder(run.domainId, source));
  if (isTree(source)) return openTree(source, root, { log, ...options }, connections);
  const openMemory = (head: CrawlHead): Promise<SiteMemory> =>
    connections.ledgers.openSiteMemory(run, head, { dryRun: options.dryRun });
  const { client, visitor, items, looker, registry, members, rules, pagesAtOnce, now } = connections.web;
  const known = { registry, members, openMemory, rules };
  const tools = { domainId: run.domainId, client, visitor, ...known, pagesAtOnce, log, ...options };
  return source.startUrls.length === 0 && source.sourceId === REGISTERED_SOURCE
    ? openRegisteredUrls(source, { ...tools, items, looker, now })
    : openWebSite(source, tools);
}

/** Roots that may not be read are refused before any crawl meets them. */
export async function checkPlaces(sources: readonly SourceConfig[], trees: TreeConnections): Promise<void> {
  for (const source of sources)
    if (source.sourceType === "folder_sources")
      await refuseRoot(source.root, { ...trees, roots: trees.roots.forChanges });
}

function openTree(source: TreeSourceConfig, root: string, options: SourceOptions, { trees }: Connections): Source {
  const folder = join(root, PRIVATE_FOLDER, "tree");
  const { storagePath, roots, credential, identityClientId, extractor, acceptedTypes, now } = trees;
  const tree =
    source.sourceType === "folder_sources"
      ? createFolderTree(source, { storagePath, roots: roots.forSources })
      : createBlobTree(source, {
          credential,
          identityClientId,
          ...(!options.dryRun && { folder: join(folder, "read") }),
        });
  const { log, dryRun, checksum, onlyFolders } = options;
  const tools: TreeTools = {
    tree,
    manifest: async () => (await options.ledger()).manifest,
    async *mirrored() {
      yield* mirroredFiles(await options.ledger(), new KnowledgeBase(root));
    },
    keptText: (docId) => new KnowledgeBase(root).readText(docId),
    textOf: async (path, fileType, signal) => {
      if (!extractor.types.has(fileType)) return undefined;
      return (await extractor.extract(path, fileType, signal).catch(() => undefined))?.markdown;
    },
    acceptedTypes,
    log,
    dryRun,
    checksum,
    ...(onlyFolders && { onlyFolders }),
    now,
  };
  return openTreeSource(source, tools);
}

function openSharePointSource(
  source: SharePointSourceConfig,
  connection: SharePointConnection,
  log: (line: string) => void,
): Source {
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

export type LazyConnection = (() => SharePointConnection) & { waited(): Waited; close(): Promise<void> };

/** One connection for all sources, opened when the first one needs it: most commands never sign in. */
export function openSharePoint(config: Config, pace: Pace): LazyConnection {
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

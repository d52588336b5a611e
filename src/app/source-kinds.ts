import { join } from "node:path";
import type { Extractor } from "../contracts/document.ts";
import type { Ledgers } from "../contracts/ledger.ts";
import type { CrawlHead } from "../contracts/site-memory.ts";
import { type SourceKind, SourceKinds, type SourceOptions, type SourceRun } from "../contracts/source-kind.ts";
import { mirroredFiles } from "../engine/mirrored-files.ts";
import { KnowledgeBase } from "../mirror/knowledge-base.ts";
import { PRIVATE_FOLDER, sourceFolder } from "../mirror/layout.ts";
import { createBlobKind } from "../sources/blob/blob-kind.ts";
import { createFolderKind } from "../sources/folder/folder-kind.ts";
import { openRoot, validateRoot } from "../sources/folder/folder-root.ts";
import { createGitKind } from "../sources/git/git-kind.ts";
import { createS3Kind } from "../sources/s3/s3-kind.ts";
import { createLibraryKind, createListKind, createSitePageKind } from "../sources/sharepoint/sharepoint-kinds.ts";
import type { TreeToolsOf } from "../sources/tree/tree-kind.ts";
import { createWebKind } from "../sources/web/web-kind.ts";
import type { FolderRoots } from "./open-folder-roots.ts";
import type { LazyConnection } from "./open-sharepoint.ts";
import type { OpenedWeb } from "./open-web.ts";

export interface Connections {
  readonly sharepoint: LazyConnection;
  readonly web: OpenedWeb;
  readonly trees: TreeConnections;
  /** The folder `crawler/`, absolute. */
  readonly crawlerFolder: string;
  readonly ledgers: Ledgers;
}

/** What sources of folders, containers, buckets and repositories need. */
export interface TreeConnections {
  readonly storagePath: string;
  readonly roots: FolderRoots;
  readonly credential: (name: string) => string | undefined;
  readonly identityClientId: string;
  readonly extractor: Extractor;
  readonly acceptedTypes: ReadonlySet<string>;
  readonly now: () => Date;
}

/** Lists every kind of source, in crawl order. `connections` is called when a source is opened, not before. */
export function listKinds(connections: () => Connections, further: readonly SourceKind[] = []): SourceKinds {
  const sharepoint = (): ReturnType<LazyConnection> => connections().sharepoint();
  const trees = (): TreeConnections => connections().trees;
  const treeTools: TreeToolsOf = (run, options) => treeToolsOf(run, options, connections());
  return new SourceKinds([
    createLibraryKind(sharepoint),
    createListKind(sharepoint),
    createSitePageKind(sharepoint),
    createWebKind((run, options) => webToolsOf(run, options, connections())),
    createFolderKind(trees, treeTools),
    createBlobKind(trees, treeTools),
    createS3Kind(trees, treeTools),
    createGitKind(() => gitAccess(trees()), treeTools),
    ...further,
  ]);
}

/** For callers that only need the list of kinds and open no source. */
export const BUILT_IN_KINDS: SourceKinds = listKinds(() => {
  throw new Error("open source: these kinds have no connections");
});

/** A local repository may lie where folder sources may. */
function gitAccess({
  storagePath,
  roots,
  credential,
}: TreeConnections): ReturnType<Parameters<typeof createGitKind>[0]> {
  return {
    credential,
    checkFolder: async (path) => void (await openRoot(path, { storagePath, roots: roots.forSources })),
    refuseFolder: (path) => validateRoot(path, { storagePath, roots: roots.forChanges }),
  };
}

function webToolsOf(
  run: SourceRun,
  { log, dryRun, force, blocked }: SourceOptions,
  { web, ledgers }: Connections,
): ReturnType<Parameters<typeof createWebKind>[0]> {
  const { client, visitor, items, itemFetcher, registry, members, rules, pagesAtOnce, now } = web;
  return {
    domainId: run.domainId,
    client,
    visitor,
    items,
    itemFetcher,
    registry,
    members,
    openMemory: (head: CrawlHead) => ledgers.openSiteMemory(run, head, { dryRun }),
    rules,
    pagesAtOnce,
    now,
    log,
    dryRun,
    force,
    ...(blocked && { blocked }),
  };
}

function treeToolsOf(
  run: SourceRun,
  { log, dryRun, checksum, onlyFolders, ledger, blocked }: SourceOptions,
  { crawlerFolder, trees: { extractor, acceptedTypes, now } }: Connections,
): ReturnType<TreeToolsOf> {
  const root = join(crawlerFolder, sourceFolder(run.domainId, run.config));
  return {
    folder: join(root, PRIVATE_FOLDER, "tree"),
    manifest: async () => (await ledger()).manifest,
    async *mirrored() {
      yield* mirroredFiles(await ledger(), new KnowledgeBase(root));
    },
    storedText: (docId) => new KnowledgeBase(root).readText(docId),
    textOf: async (path, fileType, signal) => {
      if (!extractor.types.has(fileType)) return undefined;
      return (await extractor.extract(path, fileType, signal).catch(() => undefined))?.markdown;
    },
    acceptedTypes,
    log,
    dryRun,
    checksum,
    ...(onlyFolders && { onlyFolders }),
    ...(blocked && { blocked }),
    now,
  };
}

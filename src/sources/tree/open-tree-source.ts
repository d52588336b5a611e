import { randomUUID } from "node:crypto";
import type { BlockedItems } from "../../contracts/erasure.ts";
import { RemoteError } from "../../contracts/errors.ts";
import type { FileTree } from "../../contracts/file-tree.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { ListedFile, Manifest, ManifestEntry } from "../../contracts/manifest.ts";
import type {
  ChangesSince,
  LeftOut,
  Listing,
  ListingOutcome,
  RememberedItem,
  Sighting,
  Source,
} from "../../contracts/source.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { fastHash } from "../../lib/hash.ts";
import { compareText, plural } from "../../lib/text.ts";
import { nameOf } from "../../lib/tree-path.ts";
import { asMissing, stillMissing } from "../../plan/lineage/manifest-entry.ts";
import { assertSameRoot, identifyFiles, MAX_CHANGED, type ScanResult, type ScanTools } from "./identify-files.ts";
import { fetchFile, ReadCache } from "./read-files.ts";
import { type ScanDiff, scanAll, scanFolders, UnreadablePaths } from "./scan-tree.ts";
import type { TreeSourceConfig } from "./tree-source-codec.ts";

/** A document of the mirror or knowledge base without manifest entry. */
type MirroredFile = Pick<ManifestEntry, "docId" | "path" | "contentHash" | "size" | "modifiedAt" | "lastSeenAt"> & {
  readonly versions: () => Promise<ManifestEntry["versions"]>;
};

export interface TreeTools {
  readonly tree: FileTree;
  /** Opened on first use. In a dry run, nothing is written. */
  readonly manifest: () => Promise<Manifest>;
  /** Documents that are in the mirror or knowledge base but not in the manifest, in pages. */
  readonly mirrored: () => AsyncIterable<readonly MirroredFile[]>;
  /** Returns the stored text of a document, for comparison; undefined when there is none. */
  readonly storedText: (docId: ItemId) => Promise<string | undefined>;
  /** Extracts the text of a local file; undefined when it has none. */
  readonly textOf: (absolutePath: string, fileType: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Extensions without dot that become documents. Files of other types are never read (they may be huge) and have no manifest entry. */
  readonly acceptedTypes: ReadonlySet<string>;
  readonly log: (line: string) => void;
  readonly dryRun: boolean;
  /** Read every file, even with an unchanged stamp. */
  readonly checksum: boolean;
  /** Hints of watch mode: only these folders can have changed since the last scan. */
  readonly onlyFolders?: ReadonlySet<string>;
  /** Erased files: neither read at their path nor given a document when their content turns up elsewhere. */
  readonly blocked?: () => Promise<BlockedItems>;
  readonly now: () => Date;
}

/** Opens a tree of files as a source: files have no ids, so the manifest gives them document ids. */
export function openTreeSource(config: TreeSourceConfig, tools: TreeTools): Source {
  const scan = new TreeScan(config, tools);
  return {
    id: config.sourceId,
    list: (signal) => scan.list(signal),
    feed: {
      cursor: async () => scan.cursor,
      since: (cursor, _isKnown, signal) => scan.since(cursor, signal),
    },
    async fetch(item, signal) {
      const known = await (await tools.manifest()).file(item.itemId);
      const { stamp = "", contentHash = item.fingerprint.contentVersion } = known ?? {};
      return await fetchFile(
        item.path,
        { stamp, contentHash },
        { tree: tools.tree, readCache: scan.readCache, onOther: () => scan.mistaken.add(item.itemId) },
        signal,
      );
    },
    leftOut: () => scan.leftOut,
    sayLeftOut: async (path, signal) => await tools.tree.sayLeftOut?.(path, signal),
    conclude: (outcome) => scan.conclude(outcome),
    async close() {
      await tools.tree.close?.();
    },
    diagnose: (signal) => tools.tree.diagnose((path) => tools.acceptedTypes.has(fileTypeOf(nameOf(path))), signal),
  };
}

/** The scan of this run. */
interface FinishedScan extends ScanResult {
  /** As ScanRecord. */
  readonly root: string;
  readonly turn: number;
  /** Its id in the manifest, once it is concluded. */
  readonly cursor: string;
  /** Only some folders were scanned. */
  readonly isPartial: boolean;
  readonly leftOut: LeftOut;
}

/** Where stamps are not reliable, every run reads one hundredth of the files, in rotation. */
const ROTATION_PARTS = 100;

/** Scans a tree once per run: all of it, or the folders that watch mode names. */
class TreeScan {
  readonly #tools: ScanTools;
  readonly #rotates: boolean;
  #finished: FinishedScan | undefined;
  #running: Promise<FinishedScan> | undefined;
  /** Id of the scan of this run, once it is concluded. */
  readonly cursor = randomUUID();
  readonly readCache = new ReadCache();
  /** Files that were found to have another content than the manifest says, with the same stamp. */
  readonly mistaken = new Set<ItemId>();

  constructor(config: TreeSourceConfig, tools: TreeTools) {
    this.#rotates = config.ignoreInodes === true;
    this.#tools = { ...tools, readCache: this.readCache };
  }

  /** Reuses the scan of the feed, also when the feed declined. */
  async *list(signal: AbortSignal): Listing {
    const finished = await this.#scanOnce(signal);
    const { completeness, unreadable, lost } = finished;
    if (unreadable.length > 0) yield unreadable;
    const lostIds = new Set(lost.map(({ docId }) => docId));
    const unreadablePaths = new UnreadablePaths(unreadable);
    const isThere = ({ docId, path }: ListedFile): boolean => !lostIds.has(docId) && !unreadablePaths.has(path);
    for await (const page of (await this.#tools.manifest()).active()) {
      yield page.filter(isThere).map((entry) => sightingOf(entry, this.#tools.tree));
    }
    return completeness;
  }

  /** Reports only differences from the manifest, so the last scan must have been concluded, with this manifest. */
  async since(cursor: string, signal: AbortSignal): Promise<ChangesSince | undefined> {
    if (this.#tools.checksum || cursor === "" || (await this.#tools.manifest()).lastScan?.id !== cursor)
      return undefined;
    const finished = await this.#scan(signal, cursor);
    const { completeness, unreadable, changed, lost } = finished;
    if (completeness !== "complete" || unreadable.length > 0 || changed.length > MAX_CHANGED) return undefined;
    return {
      cursor: finished.cursor,
      touched: changed.map((entry) => sightingOf(entry, this.#tools.tree)),
      gone: lost.map(({ docId }) => docId),
      recall,
    };
  }

  async conclude(outcome: ListingOutcome): Promise<void> {
    await this.#forgetStamps();
    if (this.#finished) await concludeScan(this.#finished, outcome, this.#tools);
  }

  /** The next scan reads these files, whatever their stamps. */
  async #forgetStamps(): Promise<void> {
    if (this.mistaken.size === 0) return;
    const manifest = await this.#tools.manifest();
    for (const entry of (await manifest.find([...this.mistaken])).values()) manifest.put({ ...entry, stamp: "" });
    await manifest.flush();
  }

  get leftOut(): LeftOut | undefined {
    return this.#finished?.isPartial ? undefined : this.#finished?.leftOut;
  }

  /** Two concurrent listings share one scan: two would give each new file two documents. */
  async #scanOnce(signal: AbortSignal): Promise<FinishedScan> {
    const previous = (this.#running ?? Promise.resolve()).catch(() => undefined);
    this.#running = previous.then(() => this.#finished ?? this.#scan(signal));
    return await this.#running;
  }

  /** `before`: id of the last scan, if only changes since then are wanted. */
  async #scan(signal: AbortSignal, before?: string): Promise<FinishedScan> {
    const { tree, log, checksum, acceptedTypes, manifest: open, onlyFolders } = this.#tools;
    const manifest = await open();
    const identity = await tree.identity(signal);
    const root = identity && `${identity} ${tree.location}`;
    const isSameRoot = manifest.lastScan?.root === root;
    // The first run starts anywhere in the rotation.
    const last = manifest.lastScan?.turn ?? Math.floor(Math.random() * ROTATION_PARTS);
    const next = this.#rotates ? (last + 1) % ROTATION_PARTS : last;
    const isDue = (path: string): boolean => partOf(path) === next;
    const blocked = await this.#tools.blocked?.();
    const options = { tree, manifest: open, acceptedTypes, checksum, signal, ...(blocked && { blocked }) };
    const onlyThese = before !== undefined && isSameRoot ? onlyFolders : undefined;
    const partial = onlyThese && (await scanFolders(options, onlyThese));
    const diff = partial ?? (await scanAll({ ...options, ...(this.#rotates && { isDue }) }));
    if ((await tree.identity(signal)) !== identity) {
      throw new RemoteError(
        `scan '${tree.location}': the folder was replaced during the scan. The next run scans again.`,
      );
    }
    if (!isSameRoot) await assertSameRoot(root, tree.location, manifest, diff.foundKnownFile);
    for (const line of diff.skipped.lines()) log(line);
    const recalled = partial ? [] : await recallLostEntries(diff, this.#tools);
    const result = await identifyFiles(diff, recalled, { ...this.#tools, erased: blocked }, signal);
    const cursor = (result.isUnchanged && before) || this.cursor;
    this.#finished = {
      ...result,
      root,
      turn: partial ? last : next,
      cursor,
      isPartial: partial !== undefined,
      leftOut: diff.skipped.counts,
    };
    return this.#finished;
  }
}

/** Returns the part of the rotation a path belongs to: stable and evenly distributed. */
function partOf(path: string): number {
  return fastHash(path) % ROTATION_PARTS;
}

/** `lastSeenAt` of unchanged files is accurate to the hour. */
const RECORD_INTERVAL_MS = 3_600_000;

/** Called when the plan was carried out: marks lost files as missing, unless they are held, and records the scan. */
async function concludeScan(
  result: FinishedScan,
  { complete, staying }: ListingOutcome,
  tools: ScanTools,
): Promise<void> {
  if (!complete) return;
  const manifest = await tools.manifest();
  const at = tools.now();
  let missing = 0;
  // A scan of some folders says nothing about missing files, which could be in the others.
  if (!result.isPartial) {
    for await (const page of manifest.withStatus("missing")) {
      const gone = page.filter(({ docId }) => !staying.has(docId));
      for (const entry of gone) manifest.put(stillMissing(entry, at));
      missing += gone.length;
    }
  }
  const leaving = result.lost.filter(({ docId }) => !staying.has(docId));
  const known = await manifest.find(leaving.map(({ docId }) => docId));
  for (const entry of leaving) manifest.put(asMissing(known.get(entry.docId) ?? entry, at));
  const isHeld = leaving.length < result.lost.length;
  // Held or unreadable files may be back unchanged next time, which only a full listing reports.
  const id = isHeld || result.unreadable.length > 0 ? "" : result.cursor;
  const { lastScan: before } = manifest;
  const ageMs = at.getTime() - Date.parse(before?.at ?? "");
  const isFresh = result.isPartial || (ageMs >= 0 && ageMs < RECORD_INTERVAL_MS);
  const isRecorded = result.isUnchanged && missing === 0 && isFresh && before?.id === id && before.turn === result.turn;
  if (!isRecorded && result.unreadableCount === 0) {
    const sawAll = !result.isPartial && !isHeld;
    manifest.recordScan({
      root: result.root,
      at: sawAll ? at.toISOString() : (before?.at ?? ""),
      id,
      turn: result.turn,
    });
  }
  await manifest.flush();
}

/**
 * Returns documents that are in the mirror or knowledge base but not in the manifest, oldest first. There are none unless the
 * manifest was lost or replaced by an older one: then they are the documents of the files at their paths. Of several with one
 * path the last has it, unless the content shows otherwise.
 */
async function recallLostEntries(
  { toHash }: ScanDiff,
  { manifest: open, mirrored, log }: ScanTools,
): Promise<readonly ManifestEntry[]> {
  if (toHash.length === 0) return [];
  const known = await (await open()).knownAt(toHash.map(({ path }) => path));
  if (toHash.every(({ path }) => known.has(path))) return [];
  const recalled: ManifestEntry[] = [];
  for await (const page of mirrored()) for (const file of page) recalled.push(await entryOf(file));
  if (recalled.length > 0) {
    const what = plural(recalled.length, "document");
    log(`WARNING: the manifest does not have ${what} of mirror and knowledge base; they are restored from there.`);
  }
  return recalled.sort((a, b) => compareText(a.lastSeenAt, b.lastSeenAt));
}

async function entryOf(file: MirroredFile): Promise<ManifestEntry> {
  const unknown = { stamp: "", node: "", error: "", missingSinceAt: "", deletedAt: "" };
  const versions = await file.versions();
  return { ...file, ...unknown, versions, status: "active", retryCount: 0, missingRuns: 0, lineage: [] };
}

/** Returns the sighting of a file: its document is the item, its content hash the version. */
function sightingOf(entry: ListedFile, tree: Pick<FileTree, "addressOf">): Sighting {
  const { docId, path, size, modifiedAt, contentHash } = entry;
  const name = nameOf(path);
  const { url, rawUrl } = tree.addressOf(path);
  return {
    kind: "sighting",
    itemId: docId,
    listItemId: 0,
    name,
    path,
    serverPath: `/${path}`,
    url,
    rawUrl,
    documentType: fileTypeOf(name),
    form: "document",
    fingerprint: { size, modifiedAt, etag: "", contentVersion: contentHash },
    contentHash,
  };
}

/** Rebuilds a sighting from the ledger. For a version that was never fetched, it may have the hash of the version before. */
function recall(item: RememberedItem): Sighting {
  const { itemId, listItemId, name, serverPath, url, rawUrl, fingerprint } = item;
  const remembered = { itemId, listItemId, name, serverPath, url, rawUrl, fingerprint };
  return {
    ...remembered,
    kind: "sighting",
    path: serverPath.slice(1),
    documentType: fileTypeOf(name),
    form: "document",
  };
}

import { randomUUID } from "node:crypto";
import { RemoteError } from "../../contracts/errors.ts";
import type { FileTree } from "../../contracts/file-tree.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { ListedFile, Manifest, ManifestEntry } from "../../contracts/manifest.ts";
import type {
  ChangesSince,
  Listing,
  ListingOutcome,
  RememberedItem,
  Sighting,
  Source,
} from "../../contracts/source.ts";
import { compareText } from "../../lib/compare-text.ts";
import { fastHash } from "../../lib/fast-hash.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { plural } from "../../lib/plural.ts";
import { nameOf } from "../../lib/tree-path.ts";
import { asMissing, stillMissing } from "../../plan/lineage/manifest-entry.ts";
import { assertSameRoot, identifyFiles, MAX_CHANGED, type ScanResult, type ScanTools } from "./identify-files.ts";
import { fetchFile, ReadCache } from "./read-files.ts";
import { type ScanDiff, scanAll, scanFolders, UnreadablePaths } from "./scan-tree.ts";
import type { TreeSourceConfig } from "./tree-source-codec.ts";

/** What is known of a document without its manifest entry. */
type MirroredFile = Pick<ManifestEntry, "docId" | "path" | "contentHash" | "size" | "modifiedAt" | "lastSeenAt"> & {
  readonly versions: () => Promise<ManifestEntry["versions"]>;
};

export interface TreeTools {
  readonly tree: FileTree;
  /** Opened by whoever needs it first; what a dry run puts is written nowhere. */
  readonly manifest: () => Promise<Manifest>;
  /** The documents that mirror or knowledge base have and the manifest does not know, in pages. */
  readonly mirrored: () => AsyncIterable<readonly MirroredFile[]>;
  /** The text that is kept of a document, for comparing; undefined when there is none. */
  readonly storedText: (docId: ItemId) => Promise<string | undefined>;
  /** The text of a file that lies on this disk; undefined when it has none that can be read. */
  readonly textOf: (absolutePath: string, fileType: string, signal: AbortSignal) => Promise<string | undefined>;
  /** Extensions without dot that become documents. Files of other types are never read (they may be huge) and have no manifest entry. */
  readonly acceptedTypes: ReadonlySet<string>;
  readonly log: (line: string) => void;
  readonly dryRun: boolean;
  /** Reads every file, whatever its stamp says. */
  readonly checksum: boolean;
  /** Hints of watch mode: only these folders can have changed since the last look. */
  readonly onlyFolders?: ReadonlySet<string>;
  readonly now: () => Date;
}

/** A tree of files as a source: what has no identity gets one from the manifest. */
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
        { tree: tools.tree, readCache: scan.readCache },
        signal,
      );
    },
    conclude: (outcome) => scan.conclude(outcome),
    async close() {
      await tools.tree.close?.();
    },
    diagnose: (signal) => tools.tree.diagnose((path) => tools.acceptedTypes.has(fileTypeOf(nameOf(path))), signal),
  };
}

/** A look of this run. */
interface FinishedScan extends ScanResult {
  /** As TreeLook. */
  readonly root: string;
  readonly turn: number;
  /** What it is to be called. */
  readonly cursor: string;
  /** Only some folders were walked. */
  readonly isPartial: boolean;
}

/** Where stamps do not tell everything, a hundredth of the files is read in every run, another one each time. */
const ROTATION_PARTS = 100;

/** One run's look at a tree, compared with its manifest: all of it, or the folders that somebody told of. */
class TreeScan {
  readonly #tools: ScanTools;
  readonly #rotates: boolean;
  #finished: FinishedScan | undefined;
  #running: Promise<FinishedScan> | undefined;
  /** Names the look of this run, once it is concluded. */
  readonly cursor = randomUUID();
  readonly readCache = new ReadCache();

  constructor(config: TreeSourceConfig, tools: TreeTools) {
    this.#rotates = config.ignoreInodes === true;
    this.#tools = { ...tools, readCache: this.readCache };
  }

  /** What the feed saw of the tree need not be seen again, also when it could not vouch for all of it. */
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

  /** Only what is not in the manifest is told, so the last look must have been carried out, and with this manifest. */
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
    if (this.#finished) await concludeScan(this.#finished, outcome, this.#tools);
  }

  /** Of two listings at once, one looks: two looks would give each new file two documents. */
  async #scanOnce(signal: AbortSignal): Promise<FinishedScan> {
    const previous = (this.#running ?? Promise.resolve()).catch(() => undefined);
    this.#running = previous.then(() => this.#finished ?? this.#scan(signal));
    return await this.#running;
  }

  /** `before`: what the last look was called, if only what changed since is wanted. */
  async #scan(signal: AbortSignal, before?: string): Promise<FinishedScan> {
    const { tree, log, checksum, acceptedTypes, manifest: open, onlyFolders } = this.#tools;
    const manifest = await open();
    const identity = await tree.identity(signal);
    const root = identity && `${identity} ${tree.location}`;
    const isSameRoot = manifest.lastScan?.root === root;
    // Where nothing is known, any is as good as another.
    const last = manifest.lastScan?.turn ?? Math.floor(Math.random() * ROTATION_PARTS);
    const next = this.#rotates ? (last + 1) % ROTATION_PARTS : last;
    const isDue = (path: string): boolean => partOf(path) === next;
    const options = { tree, manifest: open, acceptedTypes, checksum, signal };
    const onlyThese = before !== undefined && isSameRoot ? onlyFolders : undefined;
    const partial = onlyThese && (await scanFolders(options, onlyThese));
    const diff = partial ?? (await scanAll({ ...options, ...(this.#rotates && { isDue }) }));
    if ((await tree.identity(signal)) !== identity) {
      throw new RemoteError(
        `look at '${tree.location}': another folder took its place meanwhile. The next run looks again.`,
      );
    }
    if (!isSameRoot) await assertSameRoot(root, tree.location, manifest, diff.foundKnownFile);
    for (const line of diff.skipped.lines()) log(line);
    const recalled = partial ? [] : await recallLostEntries(diff, this.#tools);
    const result = await identifyFiles(diff, recalled, this.#tools, signal);
    const cursor = (result.isUnchanged && before) || this.cursor;
    this.#finished = { ...result, root, turn: partial ? last : next, cursor, isPartial: partial !== undefined };
    return this.#finished;
  }
}

/** The same for ever, and spread evenly enough. */
function partOf(path: string): number {
  return fastHash(path) % ROTATION_PARTS;
}

/** `lastSeenAt` of files that never change is right to the hour. */
const RECORD_INTERVAL_MS = 3_600_000;

/** The plan was carried out: what was lost is missing now, unless it is held, and the look is known by its name. */
async function concludeScan(
  result: FinishedScan,
  { complete, stillHeld }: ListingOutcome,
  tools: ScanTools,
): Promise<void> {
  if (!complete) return;
  const manifest = await tools.manifest();
  const at = tools.now();
  let missing = 0;
  // A look at some folders says nothing about the others, and what is missing could be anywhere.
  if (!result.isPartial) {
    for await (const page of manifest.withStatus("missing")) {
      const gone = page.filter(({ docId }) => !stillHeld.has(docId));
      for (const entry of gone) manifest.put(stillMissing(entry, at));
      missing += gone.length;
    }
  }
  const leaving = result.lost.filter(({ docId }) => !stillHeld.has(docId));
  const known = await manifest.find(leaving.map(({ docId }) => docId));
  for (const entry of leaving) manifest.put(asMissing(known.get(entry.docId) ?? entry, at));
  const isHeld = leaving.length < result.lost.length;
  // What is held, or could not be read, may be back next time just as it was, which only a listing tells.
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
 * The documents that mirror or knowledge base have and the manifest does not, oldest first. There are none unless it was lost, or
 * an earlier one was put in its place: then they are what the files at their paths were. Of several with one path the last has it,
 * unless the bytes tell otherwise.
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
    log(`WARNING: the manifest does not have ${what} of mirror and knowledge base; they are recalled.`);
  }
  return recalled.sort((a, b) => compareText(a.lastSeenAt, b.lastSeenAt));
}

async function entryOf(file: MirroredFile): Promise<ManifestEntry> {
  const unknown = { stamp: "", node: "", error: "", missingSinceAt: "", deletedAt: "" };
  const versions = await file.versions();
  return { ...file, ...unknown, versions, status: "active", retryCount: 0, missingRuns: 0, lineage: [] };
}

/** A file as the engine sees it: its document is the item, and the hash of its bytes tells its versions apart. */
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

/** The same, from what the ledger remembers of it. Of a version that never arrived it may have the hash of the one before. */
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

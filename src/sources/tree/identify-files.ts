import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { BlockedItems } from "../../contracts/erasure.ts";
import { RemoteError } from "../../contracts/errors.ts";
import type { FileTree, TreeFile } from "../../contracts/file-tree.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { Manifest, ManifestEntry } from "../../contracts/manifest.ts";
import type { Completeness, Unreadable } from "../../contracts/source.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { slicesOf } from "../../lib/slices-of.ts";
import { plural } from "../../lib/text.ts";
import { folderOf, hasInode, nameOf } from "../../lib/tree-path.ts";
import { asReadable, asSeen, asUnreadable } from "../../plan/lineage/manifest-entry.ts";
import { candidateFinder, pairBest, type ScoredPair } from "../../plan/lineage/pair-similar.ts";
import { similarityOf, sketchText, type TextSketch } from "../../plan/lineage/text-similarity.ts";
import {
  type LineageInput,
  type LineageResult,
  type ReadFile,
  type TracedFile,
  traceLineage,
} from "../../plan/lineage/trace-lineage.ts";
import type { TreeTools } from "./open-tree-source.ts";
import { type FailedFile, type ReadCache, readFiles } from "./read-files.ts";
import { type ScanDiff, UnreadablePaths } from "./scan-tree.ts";

/** The result of a scan. The manifest has an entry for every file that is there; entries of lost files are unchanged until the scan is concluded. */
export interface ScanResult {
  readonly completeness: Completeness;
  readonly unreadable: readonly Unreadable[];
  /** New, edited, moved and restored files; at most MAX_CHANGED + 1. */
  readonly changed: readonly ManifestEntry[];
  readonly lost: readonly ManifestEntry[];
  /** Known files below an unreadable folder. */
  readonly unreadableCount: number;
  /** Nothing was written, and nothing has to be. */
  readonly isUnchanged: boolean;
}

/** With more changes, the feed declines and everything is listed. */
export const MAX_CHANGED = 10_000;
/** Files per batch; identities are written after each where nothing can have moved. */
const READ_BATCH = 5000;

export interface ScanTools extends TreeTools {
  readonly readCache: ReadCache;
  /** Erased files, once they are read. */
  readonly erased?: BlockedItems | undefined;
}

/** Hashes new and changed files, matches them with documents, and writes the manifest. An interrupted scan changes nothing else. */
export async function identifyFiles(
  scan: ScanDiff,
  recalled: readonly ManifestEntry[],
  tools: ScanTools,
  signal: AbortSignal,
): Promise<ScanResult> {
  const { completeness, toHash, recovered, deviceChanged, missing, unreadable, belowUnreadable } = scan;
  const isUnchanged = [toHash, recovered, deviceChanged, missing, unreadable].every(({ length }) => length === 0);
  const identifier = new FileIdentifier(scan, recalled, tools, signal);
  if (!isUnchanged) await identifier.run();
  return {
    completeness,
    unreadable: identifier.unreadable,
    changed: identifier.changed,
    lost: identifier.lost,
    unreadableCount: belowUnreadable.length,
    isUnchanged,
  };
}

/** Throws when the root is another folder than last time and has no known file: probably the share is not mounted. */
export async function assertSameRoot(
  root: string,
  location: string,
  manifest: Manifest,
  foundKnownFile: boolean,
): Promise<void> {
  const before = manifest.lastScan?.root ?? "";
  const isOther = root !== "" && before !== root && before.endsWith(` ${location}`);
  if (!isOther || foundKnownFile) return;
  const { present } = await manifest.countPresent();
  if (present === 0) return;
  throw new RemoteError(
    `scan '${location}': it is a different folder than last time, and has none of the ${plural(present, "known file")}. ` +
      "If it is a share, mount it. If the folder was replaced on purpose, give the source another source_id.",
  );
}

class FileIdentifier {
  readonly #scan: ScanDiff;
  /** From recallLostEntries(). */
  readonly #recalled: readonly ManifestEntry[];
  readonly #recalledAt: ReadonlyMap<string, ManifestEntry>;
  readonly #tools: ScanTools;
  readonly #signal: AbortSignal;
  readonly unreadable: Unreadable[] = [];
  readonly changed: ManifestEntry[] = [];
  lost: readonly ManifestEntry[] = [];

  constructor(scan: ScanDiff, recalled: readonly ManifestEntry[], tools: ScanTools, signal: AbortSignal) {
    this.#scan = scan;
    this.#recalled = recalled;
    this.#recalledAt = new Map(recalled.map((entry) => [entry.path, entry]));
    this.#tools = tools;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    const { now } = this.#tools;
    const { toHash, recovered, deviceChanged, unreadable, belowUnreadable } = this.#scan;
    const manifest = await this.#tools.manifest();
    // If we are killed before the plan is carried out, the next run has to list everything.
    if (manifest.lastScan) manifest.recordScan({ ...manifest.lastScan, id: "" });
    const holes = await this.#presentAt(
      unreadable.map(({ path }) => path),
      manifest,
    );
    for (const { path, reason } of unreadable) this.#putUnreadable(path, reason, holes, manifest);
    for (const { entry, unreadable: unreadableAbove } of belowUnreadable) {
      if (entry.path !== unreadableAbove.path)
        manifest.put(asUnreadable(entry, `'${unreadableAbove.path}' cannot be read: ${unreadableAbove.reason}`));
    }
    for (const entry of recovered) manifest.put(asReadable(entry, now()));
    for (const entry of deviceChanged) manifest.put(entry);
    await ((await this.#canBatch(manifest)) ? this.#identifyInBatches(manifest) : this.#identifyAll(toHash, manifest));
    await manifest.flush();
  }

  /** For first scans and added files: no known document can have moved there. */
  async #canBatch(manifest: Manifest): Promise<boolean> {
    if (!this.#scan.onlyNewPaths || this.#scan.missing.length + this.#recalled.length > 0) return false;
    return (await manifest.countPresent()).absent === 0;
  }

  async #identifyInBatches(manifest: Manifest): Promise<void> {
    const { toHash } = this.#scan;
    for (let at = 0; at < toHash.length; at += READ_BATCH) {
      await this.#identifyAll(toHash.slice(at, at + READ_BATCH), manifest);
      await manifest.flush();
      const done = Math.min(at + READ_BATCH, toHash.length);
      if (toHash.length > READ_BATCH) this.#tools.log(`Read ${done} of ${plural(toHash.length, "file")}.`);
    }
  }

  async #identifyAll(files: readonly TreeFile[], manifest: Manifest): Promise<void> {
    const read: ReadFile[] = [];
    const failed: FailedFile[] = [];
    const before = new Map<string, ManifestEntry>();
    for (const batch of slicesOf(files, READ_BATCH)) {
      const outcomes = await readFiles(batch, this.#tools, this.#signal);
      const present = await this.#presentAt(
        batch.map(({ path }) => path),
        manifest,
      );
      for (const outcome of outcomes) {
        const entry = present.get(outcome.file.path);
        if ("reason" in outcome) failed.push(outcome);
        else if (entry && isSameFile(outcome, entry)) this.#putTouched(outcome, entry, manifest);
        else {
          read.push(outcome);
          if (entry) before.set(outcome.file.path, entry);
        }
      }
    }
    const goneEntries = [...this.#scan.missing, ...(await this.#recalledElsewhere(manifest))];
    const kept = await this.#markUnreadable(failed, goneEntries, manifest);
    const gone = goneEntries.filter((entry) => !kept.has(entry));
    const excluded = new Set([...before.values(), ...goneEntries].map(({ docId }) => docId));
    const moved = await findMovedDuringScan(read, excluded, manifest, this.#tools.tree, this.#signal);
    const vanished = [...gone, ...moved];
    const existsElsewhere = await this.#contentElsewhere(read, [...before.values(), ...vanished], manifest);
    const absent: ManifestEntry[] = [];
    for await (const page of manifest.withStatus("missing", "deleted")) absent.push(...page);
    const input = { read, before, vanished, absent, existsElsewhere };
    const { entries, lost } = await matchDocuments(input, this.#tools, this.#signal);
    for (const entry of entries) this.#put(entry, manifest);
    this.lost = [...this.lost, ...lost];
  }

  /** Returns a test whether another present file has a content. `excluded`: entries of the files in question, and vanished ones. */
  async #contentElsewhere(
    read: readonly ReadFile[],
    excluded: readonly ManifestEntry[],
    manifest: Manifest,
  ): Promise<(contentHash: string) => boolean> {
    const counts = new Map(await manifest.countContent(read.map(({ contentHash }) => contentHash)));
    const recalled = new Set(this.#recalled.map(({ docId }) => docId));
    for (const { contentHash, docId } of excluded) {
      if (!recalled.has(docId)) counts.set(contentHash, (counts.get(contentHash) ?? 0) - 1);
    }
    return (contentHash) => (counts.get(contentHash) ?? 0) > 0;
  }

  /** Returns the present documents by path; recalled ones where the manifest has none. */
  async #presentAt(paths: readonly string[], manifest: Manifest): Promise<ReadonlyMap<string, ManifestEntry>> {
    const present = new Map<string, ManifestEntry>();
    const known = await manifest.at(paths);
    for (const path of paths) {
      const entry = known.get(path);
      const isThere = entry?.status === "active" || entry?.status === "error";
      const found = isThere ? entry : this.#recalledAt.get(path);
      if (found) present.set(path, found);
    }
    return present;
  }

  /** Returns recalled entries whose path is gone or belongs to another document. */
  async #recalledElsewhere(manifest: Manifest): Promise<readonly ManifestEntry[]> {
    if (this.#recalled.length === 0) return [];
    const { toHash, unreadable } = this.#scan;
    const there = new Set(toHash.map(({ path }) => path));
    const belowUnreadable = new UnreadablePaths(unreadable);
    const known = await manifest.knownAt([...this.#recalledAt.keys()]);
    return this.#recalled.filter((entry) => {
      const { path } = entry;
      const isHere = there.has(path) && !known.has(path) && this.#recalledAt.get(path) === entry;
      return !isHere && !belowUnreadable.has(path);
    });
  }

  /** The same file with the same content: only stamp and date are updated. */
  #putTouched(read: ReadFile, entry: ManifestEntry, manifest: Manifest): void {
    if (read.file.stamp === entry.stamp && entry.status === "active") return;
    const touched = asSeen({ kind: "touched", read, entry }, this.#tools.now(), () => entry.docId);
    if (touched.modifiedAt === entry.modifiedAt) manifest.put(touched);
    else this.#put(touched, manifest);
  }

  #put(entry: ManifestEntry, manifest: Manifest): void {
    manifest.put(entry);
    if (this.changed.length <= MAX_CHANGED) this.changed.push(entry);
  }

  /**
   * Marks files that could not be read. A new one may be any vanished document, unless their nodes differ: those documents are
   * returned, and kept.
   */
  async #markUnreadable(
    failed: readonly FailedFile[],
    vanished: readonly ManifestEntry[],
    manifest: Manifest,
  ): Promise<ReadonlySet<ManifestEntry>> {
    const kept = new Set<ManifestEntry>();
    if (failed.length === 0) return kept;
    const present = await this.#presentAt(
      failed.map(({ file }) => file.path),
      manifest,
    );
    const byNode = Map.groupBy(vanished, ({ node }) => node);
    for (const { file, reason } of failed) {
      this.#putUnreadable(file.path, reason, present, manifest);
      if (present.has(file.path)) continue;
      const why = `it may be '${file.path}' now: ${reason}`;
      for (const node of hasInode(file.node)
        ? [...byNode.keys()].filter((other) => other === file.node || !hasInode(other))
        : [...byNode.keys()]) {
        for (const entry of byNode.get(node) ?? []) {
          kept.add(entry);
          manifest.put(asUnreadable(entry, why));
          this.unreadable.push({ kind: "unreadable", path: entry.path, reason: why, itemId: entry.docId });
        }
        byNode.delete(node);
      }
    }
    return kept;
  }

  #putUnreadable(path: string, reason: string, present: ReadonlyMap<string, ManifestEntry>, manifest: Manifest): void {
    const entry = path === "" ? undefined : present.get(path);
    if (entry) manifest.put(asUnreadable(entry, reason));
    this.unreadable.push({ kind: "unreadable", path, reason, ...(entry && { itemId: entry.docId }) });
  }
}

function isSameFile({ file, contentHash }: ReadFile, entry: ManifestEntry): boolean {
  return contentHash === entry.contentHash && (!hasInode(file.node) || file.node === entry.node);
}

/**
 * Finds files that left their path after it was scanned, or in a folder that was not scanned, and that are among those that were
 * read: the same node with the same content. A second walk tells them from hard links, whose first path is still there.
 */
async function findMovedDuringScan(
  read: readonly ReadFile[],
  /** Documents that are known to have left their path, or were read there. */
  excluded: ReadonlySet<ItemId>,
  manifest: Manifest,
  tree: FileTree,
  signal: AbortSignal,
): Promise<readonly ManifestEntry[]> {
  const candidates = await findMoveCandidates(read, excluded, manifest);
  if (candidates.size === 0) return [];
  const folders = new Set([...candidates.keys()].map(folderOf));
  const unreadable: Unreadable[] = [];
  for await (const page of tree.walk(signal, folders)) {
    unreadable.push(...page.unreadable);
    if (!folders.has(page.folder)) continue;
    for (const { path, node } of page.files) if (candidates.get(path)?.node === node) candidates.delete(path);
  }
  const belowUnreadable = new UnreadablePaths(unreadable);
  return [...candidates.values()].filter(({ path }) => !belowUnreadable.has(path));
}

async function findMoveCandidates(
  read: readonly ReadFile[],
  excluded: ReadonlySet<ItemId>,
  manifest: Manifest,
): Promise<Map<string, ManifestEntry>> {
  const nodes = read.flatMap(({ contentHash, file: { node } }) => (hasInode(node) ? [{ contentHash, node }] : []));
  const candidates = new Map<string, ManifestEntry>();
  for (const entry of await manifest.withNodes(nodes))
    if (!excluded.has(entry.docId)) candidates.set(entry.path, entry);
  return candidates;
}

interface MatchedDocuments {
  /** New manifest entries of the files that were read. */
  readonly entries: readonly ManifestEntry[];
  readonly lost: readonly ManifestEntry[];
}

/** Finds the document of each file. */
async function matchDocuments(
  input: LineageInput,
  tools: Pick<ScanTools, "tree" | "storedText" | "textOf" | "log" | "now" | "erased">,
  signal: AbortSignal,
): Promise<MatchedDocuments> {
  const { traced, lost } = await traceWithTexts(input, tools, signal);
  const now = tools.now();
  const taken = traced.filter((file) => !isErased(file, tools.erased));
  return { entries: taken.map((file) => asSeen(file, now, newDocId)), lost };
}

/** Whether an erased file turned up at another path. Copies that were not erased are documents already, wherever they move. */
function isErased({ kind, read }: TracedFile, erased: BlockedItems | undefined): boolean {
  if ((kind !== "found" && kind !== "copied") || !erased?.hasContent(read.contentHash)) return false;
  erased.skipFile(read.file.path, read.contentHash);
  return true;
}

/** Traces by content, then by text: files that were renamed and edited at once, and files that are back at their path, edited. */
async function traceWithTexts(
  input: LineageInput,
  tools: Pick<TreeTools, "tree" | "storedText" | "textOf" | "log">,
  signal: AbortSignal,
): Promise<LineageResult> {
  const { traced, lost } = traceLineage(input);
  const found = traced.filter(({ kind }) => kind === "found").map(({ read }) => read);
  const paths = new Set(found.map(({ file }) => file.path));
  const placed = new Set(traced.flatMap((file) => ("entry" in file ? file.entry.docId : [])));
  const back = input.absent.filter(
    ({ status, path, docId }) => status === "missing" && paths.has(path) && !placed.has(docId),
  );
  const pairs = await pairEdited(found, [...lost, ...back], tools, signal);
  if (pairs.size === 0) return { traced, lost };
  const pairedIds = new Set([...pairs.values()].map(({ entry }) => entry.docId));
  return {
    traced: traced.map((file): TracedFile => {
      const pair = pairs.get(file.read);
      if (!pair) return file;
      return { kind: pair.entry.status === "missing" ? "restored" : "moved-and-edited", read: file.read, ...pair };
    }),
    lost: lost.filter(({ docId }) => !pairedIds.has(docId)),
  };
}

/** Ids begin with the time, so that documents found together are neighbours in an index. */
function newDocId(): ItemId {
  const bornAt = Date.now().toString(16).padStart(12, "0");
  return `doc_${bornAt}${randomBytes(10).toString("hex")}` as ItemId;
}

/** Each text takes a process to extract: only so many files per scan are compared, and no huge ones. */
const MAX_COMPARED = 200;
const MAX_COMPARED_BYTES = 16 * 1024 * 1024;
/** Texts extracted at the same time. */
const TEXTS_AT_ONCE = 4;

/** By new file: the lost document that it is, and how similar the texts are. */
type EditedPairs = ReadonlyMap<ReadFile, { readonly entry: ManifestEntry; readonly certainty: number }>;

interface NewFile {
  readonly path: string;
  readonly size: number;
  readonly read: ReadFile;
}

async function pairEdited(
  found: readonly ReadFile[],
  lost: readonly ManifestEntry[],
  tools: Pick<TreeTools, "tree" | "storedText" | "textOf" | "log">,
  signal: AbortSignal,
): Promise<EditedPairs> {
  const pairs = new Map<ReadFile, { entry: ManifestEntry; certainty: number }>();
  if (found.length === 0 || lost.length === 0) return pairs;
  const candidatesOf = candidateFinder(lost.filter(({ size }) => size <= MAX_COMPARED_BYTES));
  const storedSketch = cachedSketches(tools.storedText);
  const scored: ScoredPair<NewFile, ManifestEntry>[] = [];
  let compared = 0;
  await forEachConcurrent(found, TEXTS_AT_ONCE, async (read) => {
    const { path, size } = read.file;
    const appeared = { path, size, read };
    const candidates = size <= MAX_COMPARED_BYTES ? candidatesOf(appeared) : [];
    if (candidates.length === 0) return;
    compared += 1;
    if (compared > MAX_COMPARED) return;
    const text = await textAt(path, tools, signal);
    if (!text) return;
    const sketch = sketchText(text);
    for (const vanished of candidates) {
      const stored = await storedSketch(vanished.docId);
      if (stored) scored.push({ appeared, vanished, score: similarityOf(sketch, stored) });
    }
  });
  if (compared > MAX_COMPARED) {
    tools.log(
      `${plural(compared - MAX_COMPARED, "new file")} could not be compared with missing files; they count as new.`,
    );
  }
  for (const { appeared, vanished, score } of pairBest(scored)) {
    pairs.set(appeared.read, { entry: vanished, certainty: score });
  }
  return pairs;
}

function cachedSketches(keptText: TreeTools["storedText"]): (docId: ItemId) => Promise<TextSketch | undefined> {
  const sketches = new Map<ItemId, Promise<TextSketch | undefined>>();
  return (docId) => {
    const sketch = sketches.get(docId) ?? keptText(docId).then((text) => (text ? sketchText(text) : undefined));
    sketches.set(docId, sketch);
    return sketch;
  };
}

async function textAt(
  path: string,
  { tree, textOf }: Pick<TreeTools, "tree" | "textOf">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const type = fileTypeOf(nameOf(path));
  const local = tree.localPath?.(path);
  if (local !== undefined) return await textOf(local, type, signal);
  const folder = await mkdtemp(join(tmpdir(), "lockstep-"));
  try {
    await spool(tree, path, join(folder, "file"), signal);
    return await textOf(join(folder, "file"), type, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isErrno(error, "ENOSPC", "EDQUOT")) throw error;
    // It was removed or changed since it was read: there is no text to compare.
    return undefined;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function spool(tree: FileTree, path: string, target: string, signal: AbortSignal): Promise<void> {
  await pipeline(Readable.from(tree.read(path, signal)), createWriteStream(target), { signal });
}

import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { RemoteError } from "../../contracts/errors.ts";
import type { FileTree, TreeFile } from "../../contracts/file-tree.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { Manifest, ManifestEntry } from "../../contracts/manifest.ts";
import type { Completeness, Unreadable } from "../../contracts/source.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { plural } from "../../lib/plural.ts";
import { folderOf, hasInode, nameOf } from "../../lib/tree-path.ts";
import { asReadable, asSeen, asUnreadable } from "../../plan/lineage/manifest-entry.ts";
import { candidateFinder, pairBest, type ScoredPair } from "../../plan/lineage/pair-similar.ts";
import { similarityOf, sketchText, type TextSketch } from "../../plan/lineage/text-similarity.ts";
import {
  type LineageAnswer,
  type LineageQuestion,
  type ReadFile,
  type Traced,
  traceLineage,
} from "../../plan/lineage/trace-lineage.ts";
import type { TreeTools } from "./open-tree-source.ts";
import { type FailedFile, type KeptBytes, readFiles } from "./read-files.ts";
import { Hidden, type ScanDiff } from "./scan-tree.ts";

/** What a look at the tree came to. The manifest knows of every file that is there; what is lost is still in its place. */
export interface Look {
  readonly completeness: Completeness;
  readonly unreadable: readonly Unreadable[];
  /** As they are now: what is new, edited, moved or restored. The first ones, if they are very many. */
  readonly changed: readonly ManifestEntry[];
  readonly lost: readonly ManifestEntry[];
  /** Known files that something unreadable hides. */
  readonly hidden: number;
  /** Nothing was written, and nothing is to be. */
  readonly isQuiet: boolean;
}

/** Beyond so many, whoever wants to know lists everything. */
export const MAX_CHANGED = 10_000;
/** Where nothing can have moved, so many are read before their identities are written down and the next ones are read. */
const READ_BATCH = 5000;

export interface LookTools extends TreeTools {
  readonly kept: KeptBytes;
}

/** Reads what has to be read, finds out who is who, and writes it down. A look that is cut short leaves everything else as it was. */
export async function takeLook(
  comparison: ScanDiff,
  recalled: readonly ManifestEntry[],
  tools: LookTools,
  signal: AbortSignal,
): Promise<Look> {
  const { completeness, toRead, readable, renumbered, vanished, unreadable, hidden } = comparison;
  const quiet = [toRead, readable, renumbered, vanished, unreadable].every(({ length }) => length === 0);
  const look = new Looking(comparison, recalled, tools, signal);
  if (!quiet) await look.take();
  return {
    completeness,
    unreadable: look.unreadable,
    changed: look.changed,
    lost: look.lost,
    hidden: hidden.length,
    isQuiet: quiet,
  };
}

/** The place of a share that is not mounted is another folder than the share, with nothing in it that is known. */
export async function refuseOtherRoot(
  root: string,
  place: string,
  manifest: Manifest,
  sawKnown: boolean,
): Promise<void> {
  const before = manifest.look?.root ?? "";
  const isOther = root !== "" && before !== root && before.endsWith(` ${place}`);
  if (!isOther || sawKnown) return;
  const { present } = await manifest.countPresent();
  if (present === 0) return;
  throw new RemoteError(
    `look at '${place}': another folder is there than last time, and none of the ${plural(present, "known file")} in it. ` +
      "If it is a share, mount it. If the folder was replaced on purpose, give the source another source_id.",
  );
}

class Looking {
  readonly #comparison: ScanDiff;
  /** As recallEntries() says. */
  readonly #recalled: readonly ManifestEntry[];
  readonly #recalledAt: ReadonlyMap<string, ManifestEntry>;
  readonly #tools: LookTools;
  readonly #signal: AbortSignal;
  readonly unreadable: Unreadable[] = [];
  readonly changed: ManifestEntry[] = [];
  lost: readonly ManifestEntry[] = [];

  constructor(comparison: ScanDiff, recalled: readonly ManifestEntry[], tools: LookTools, signal: AbortSignal) {
    this.#comparison = comparison;
    this.#recalled = recalled;
    this.#recalledAt = new Map(recalled.map((entry) => [entry.path, entry]));
    this.#tools = tools;
    this.#signal = signal;
  }

  async take(): Promise<void> {
    const { now } = this.#tools;
    const { toRead, readable, renumbered, unreadable, hidden } = this.#comparison;
    const manifest = await this.#tools.manifest();
    // Killed before the plan is carried out, the next look has to be told as a whole.
    if (manifest.look) manifest.noteLook({ ...manifest.look, id: "" });
    const holes = await this.#presentAt(
      unreadable.map(({ path }) => path),
      manifest,
    );
    for (const { path, reason } of unreadable) this.#cannotRead(path, reason, holes, manifest);
    for (const { entry, hole } of hidden) {
      if (entry.path !== hole.path) manifest.put(asUnreadable(entry, `'${hole.path}' cannot be read: ${hole.reason}`));
    }
    for (const entry of readable) manifest.put(asReadable(entry, now()));
    for (const entry of renumbered) manifest.put(entry);
    await ((await this.#mayGoInBatches(manifest)) ? this.#takeInBatches(manifest) : this.#takeAll(toRead, manifest));
    await manifest.flush();
  }

  /** First looks, and files that were only added: there is nothing that they could have been before. */
  async #mayGoInBatches(manifest: Manifest): Promise<boolean> {
    if (!this.#comparison.onlyNew || this.#comparison.vanished.length + this.#recalled.length > 0) return false;
    return (await manifest.countPresent()).absent === 0;
  }

  async #takeInBatches(manifest: Manifest): Promise<void> {
    const { toRead } = this.#comparison;
    for (let at = 0; at < toRead.length; at += READ_BATCH) {
      await this.#takeAll(toRead.slice(at, at + READ_BATCH), manifest);
      await manifest.flush();
      const done = Math.min(at + READ_BATCH, toRead.length);
      if (toRead.length > READ_BATCH) this.#tools.log(`Read ${done} of ${plural(toRead.length, "file")}.`);
    }
  }

  async #takeAll(files: readonly TreeFile[], manifest: Manifest): Promise<void> {
    const read: ReadFile[] = [];
    const failed: FailedFile[] = [];
    const before = new Map<string, ManifestEntry>();
    for (let at = 0; at < files.length; at += READ_BATCH) {
      const some = files.slice(at, at + READ_BATCH);
      const outcomes = await readFiles(some, this.#tools, this.#signal);
      const present = await this.#presentAt(
        some.map(({ path }) => path),
        manifest,
      );
      for (const outcome of outcomes) {
        const entry = present.get(outcome.file.path);
        if ("reason" in outcome) failed.push(outcome);
        else if (entry && isWhatItWas(outcome, entry)) this.#touch(outcome, entry, manifest);
        else {
          read.push(outcome);
          if (entry) before.set(outcome.file.path, entry);
        }
      }
    }
    const gone = [...this.#comparison.vanished, ...(await this.#recalledElsewhere(manifest))];
    const held = await this.#giveUp(failed, gone, manifest);
    const left = gone.filter((entry) => !held.has(entry));
    const apart = new Set([...before.values(), ...gone].map(({ docId }) => docId));
    const moved = await movedMeanwhile(read, apart, manifest, this.#tools.tree, this.#signal);
    const vanished = [...left, ...moved];
    const isElsewhere = await this.#contentElsewhere(read, [...before.values(), ...vanished], manifest);
    const absent: ManifestEntry[] = [];
    for await (const page of manifest.withStatus("missing", "deleted")) absent.push(...page);
    const question = { read, before, vanished, absent, isElsewhere };
    const { entries, lost } = await recognizeFiles(question, this.#tools, this.#signal);
    for (const entry of entries) this.#put(entry, manifest);
    this.lost = [...this.lost, ...lost];
  }

  /** Whether other files that are there have a content. `apart`: what is known of the files in question themselves, or has vanished. */
  async #contentElsewhere(
    read: readonly ReadFile[],
    apart: readonly ManifestEntry[],
    manifest: Manifest,
  ): Promise<(contentHash: string) => boolean> {
    const counts = new Map(await manifest.countContent(read.map(({ contentHash }) => contentHash)));
    const recalled = new Set(this.#recalled.map(({ docId }) => docId));
    for (const { contentHash, docId } of apart) {
      if (!recalled.has(docId)) counts.set(contentHash, (counts.get(contentHash) ?? 0) - 1);
    }
    return (contentHash) => (counts.get(contentHash) ?? 0) > 0;
  }

  /** By path, the documents that are there; as they were recalled where the manifest has none. */
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

  /** Those whose path is not there any more, or belongs to another document by now. */
  async #recalledElsewhere(manifest: Manifest): Promise<readonly ManifestEntry[]> {
    if (this.#recalled.length === 0) return [];
    const { toRead, unreadable } = this.#comparison;
    const there = new Set(toRead.map(({ path }) => path));
    const hidden = new Hidden(unreadable);
    const known = await manifest.knownAt([...this.#recalledAt.keys()]);
    return this.#recalled.filter((entry) => {
      const { path } = entry;
      const isHere = there.has(path) && !known.has(path) && this.#recalledAt.get(path) === entry;
      return !isHere && !hidden.has(path);
    });
  }

  /** The same file with the same content: whatever else the file system says of it is only noted. */
  #touch(read: ReadFile, entry: ManifestEntry, manifest: Manifest): void {
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
   * Nobody knows what they are. One that is new may be any that vanished, unless their nodes tell otherwise: those are returned,
   * and keep their places.
   */
  async #giveUp(
    failed: readonly FailedFile[],
    vanished: readonly ManifestEntry[],
    manifest: Manifest,
  ): Promise<ReadonlySet<ManifestEntry>> {
    const held = new Set<ManifestEntry>();
    if (failed.length === 0) return held;
    const present = await this.#presentAt(
      failed.map(({ file }) => file.path),
      manifest,
    );
    const byNode = Map.groupBy(vanished, ({ node }) => node);
    for (const { file, reason } of failed) {
      this.#cannotRead(file.path, reason, present, manifest);
      if (present.has(file.path)) continue;
      const why = `it may be '${file.path}' now: ${reason}`;
      for (const node of hasInode(file.node)
        ? [...byNode.keys()].filter((one) => one === file.node || !hasInode(one))
        : [...byNode.keys()]) {
        for (const entry of byNode.get(node) ?? []) {
          held.add(entry);
          manifest.put(asUnreadable(entry, why));
          this.unreadable.push({ kind: "unreadable", path: entry.path, reason: why, itemId: entry.docId });
        }
        byNode.delete(node);
      }
    }
    return held;
  }

  #cannotRead(path: string, reason: string, present: ReadonlyMap<string, ManifestEntry>, manifest: Manifest): void {
    const entry = path === "" ? undefined : present.get(path);
    if (entry) manifest.put(asUnreadable(entry, reason));
    this.unreadable.push({ kind: "unreadable", path, reason, ...(entry && { itemId: entry.docId }) });
  }
}

function isWhatItWas({ file, contentHash }: ReadFile, entry: ManifestEntry): boolean {
  return contentHash === entry.contentHash && (!hasInode(file.node) || file.node === entry.node);
}

/**
 * Files that left their path after it was looked at, or where nobody looked, and are among those that were read: the same node
 * with the same content. A second look tells them from hard links, whose first path is still there.
 */
async function movedMeanwhile(
  read: readonly ReadFile[],
  /** What is known to have left its path, or was read there. */
  apart: ReadonlySet<ItemId>,
  manifest: Manifest,
  tree: FileTree,
  signal: AbortSignal,
): Promise<readonly ManifestEntry[]> {
  const suspects = await findSuspects(read, apart, manifest);
  if (suspects.size === 0) return [];
  const folders = new Set([...suspects.keys()].map(folderOf));
  const unreadable: Unreadable[] = [];
  for await (const page of tree.walk(signal, folders)) {
    unreadable.push(...page.unreadable);
    if (!folders.has(page.folder)) continue;
    for (const { path, node } of page.files) if (suspects.get(path)?.node === node) suspects.delete(path);
  }
  const hidden = new Hidden(unreadable);
  return [...suspects.values()].filter(({ path }) => !hidden.has(path));
}

async function findSuspects(
  read: readonly ReadFile[],
  apart: ReadonlySet<ItemId>,
  manifest: Manifest,
): Promise<Map<string, ManifestEntry>> {
  const marks = read.flatMap(({ contentHash, file: { node } }) => (hasInode(node) ? [{ contentHash, node }] : []));
  const suspects = new Map<string, ManifestEntry>();
  for (const entry of await manifest.withNodes(marks)) if (!apart.has(entry.docId)) suspects.set(entry.path, entry);
  return suspects;
}

interface Recognized {
  /** What the manifest is to say of the files that were read. */
  readonly entries: readonly ManifestEntry[];
  readonly lost: readonly ManifestEntry[];
}

/** Which document is each of the files? */
async function recognizeFiles(
  question: LineageQuestion,
  tools: Pick<TreeTools, "tree" | "keptText" | "textOf" | "log" | "now">,
  signal: AbortSignal,
): Promise<Recognized> {
  const { traced, lost } = await followEdits(question, tools, signal);
  const now = tools.now();
  return { entries: traced.map((one) => asSeen(one, now, newDocId)), lost };
}

/** By their texts: what was renamed and edited at once, and what is back at its path, edited. */
async function followEdits(
  question: LineageQuestion,
  tools: Pick<TreeTools, "tree" | "keptText" | "textOf" | "log">,
  signal: AbortSignal,
): Promise<LineageAnswer> {
  const { traced, lost } = traceLineage(question);
  const found = traced.filter(({ kind }) => kind === "found").map(({ read }) => read);
  const paths = new Set(found.map(({ file }) => file.path));
  const placed = new Set(traced.flatMap((one) => ("entry" in one ? one.entry.docId : [])));
  const back = question.absent.filter(
    ({ status, path, docId }) => status === "missing" && paths.has(path) && !placed.has(docId),
  );
  const pairs = await pairEdited(found, [...lost, ...back], tools, signal);
  if (pairs.size === 0) return { traced, lost };
  const kept = new Set([...pairs.values()].map(({ entry }) => entry.docId));
  return {
    traced: traced.map((one): Traced => {
      const pair = pairs.get(one.read);
      if (!pair) return one;
      return { kind: pair.entry.status === "missing" ? "restored" : "moved-and-edited", read: one.read, ...pair };
    }),
    lost: lost.filter(({ docId }) => !kept.has(docId)),
  };
}

/** Those that are born together are neighbours in every index that has them. */
function newDocId(): ItemId {
  const bornAt = Date.now().toString(16).padStart(12, "0");
  return `doc_${bornAt}${randomBytes(10).toString("hex")}` as ItemId;
}

/** Texts have to be made for this, which takes a process each: of so many files in one look, and not of huge ones. */
const MAX_COMPARED = 200;
const MAX_COMPARED_BYTES = 16 * 1024 * 1024;
/** Texts on their way at the same time: mostly that is waiting for the disk. */
const TEXTS_AT_ONCE = 4;

/** By the file that appeared: the lost document that it is, renamed and edited, and how similar the texts are. */
type EditedPairs = ReadonlyMap<ReadFile, { readonly entry: ManifestEntry; readonly certainty: number }>;

interface Appeared {
  readonly path: string;
  readonly size: number;
  readonly read: ReadFile;
}

async function pairEdited(
  found: readonly ReadFile[],
  lost: readonly ManifestEntry[],
  tools: Pick<TreeTools, "tree" | "keptText" | "textOf" | "log">,
  signal: AbortSignal,
): Promise<EditedPairs> {
  const pairs = new Map<ReadFile, { entry: ManifestEntry; certainty: number }>();
  if (found.length === 0 || lost.length === 0) return pairs;
  const candidatesOf = candidateFinder(lost.filter(({ size }) => size <= MAX_COMPARED_BYTES));
  const keptSketch = rememberSketches(tools.keptText);
  const scored: ScoredPair<Appeared, ManifestEntry>[] = [];
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
      const kept = await keptSketch(vanished.docId);
      if (kept) scored.push({ appeared, vanished, score: similarityOf(sketch, kept) });
    }
  });
  if (compared > MAX_COMPARED) {
    tools.log(
      `${plural(compared - MAX_COMPARED, "new file")} could not be compared with what vanished; they count as new.`,
    );
  }
  for (const { appeared, vanished, score } of pairBest(scored)) {
    pairs.set(appeared.read, { entry: vanished, certainty: score });
  }
  return pairs;
}

function rememberSketches(keptText: TreeTools["keptText"]): (docId: ItemId) => Promise<TextSketch | undefined> {
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
    // It went, or changed, since it was read: it has no text that could be compared.
    return undefined;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function spool(tree: FileTree, path: string, target: string, signal: AbortSignal): Promise<void> {
  await pipeline(Readable.from(tree.read(path, signal)), createWriteStream(target), { signal });
}

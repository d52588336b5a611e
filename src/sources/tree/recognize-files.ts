import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { FileTree } from "../../contracts/file-tree.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { ManifestEntry } from "../../contracts/manifest.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { plural } from "../../lib/plural.ts";
import { nameOf } from "../../lib/tree-path.ts";
import { candidateFinder, pairBest, type ScoredPair } from "../../plan/lineage/pair-similar.ts";
import { asSeen } from "../../plan/lineage/seen-entry.ts";
import { similarityOf, sketchText, type TextSketch } from "../../plan/lineage/text-similarity.ts";
import {
  type LineageAnswer,
  type LineageQuestion,
  type ReadFile,
  type Traced,
  traceLineage,
} from "../../plan/lineage/trace-lineage.ts";
import type { TreeTools } from "./open-tree-source.ts";

interface Recognized {
  /** What the manifest is to say of the files that were read. */
  readonly entries: readonly ManifestEntry[];
  readonly lost: readonly ManifestEntry[];
}

/** Which document is each of the files? */
export async function recognizeFiles(
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
const MAX_FILES = 200;
const MAX_BYTES = 16 * 1024 * 1024;
/** Texts on their way at the same time: mostly that is waiting for the disk. */
const AT_ONCE = 4;

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
  const candidatesOf = candidateFinder(lost.filter(({ size }) => size <= MAX_BYTES));
  const keptSketch = rememberSketches(tools.keptText);
  const scored: ScoredPair<Appeared, ManifestEntry>[] = [];
  let compared = 0;
  await forEachConcurrent(found, AT_ONCE, async (read) => {
    const { path, size } = read.file;
    const appeared = { path, size, read };
    const candidates = size <= MAX_BYTES ? candidatesOf(appeared) : [];
    if (candidates.length === 0) return;
    compared += 1;
    if (compared > MAX_FILES) return;
    const text = await textAt(path, tools, signal);
    if (!text) return;
    const sketch = sketchText(text);
    for (const vanished of candidates) {
      const kept = await keptSketch(vanished.docId);
      if (kept) scored.push({ appeared, vanished, score: similarityOf(sketch, kept) });
    }
  });
  if (compared > MAX_FILES) {
    tools.log(
      `${plural(compared - MAX_FILES, "new file")} could not be compared with what vanished; they count as new.`,
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

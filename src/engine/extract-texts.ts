import { join } from "node:path";
import { ExtractError, isEmptyReason, ReaderError } from "../contracts/document.ts";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { LedgerEntry } from "../contracts/ledger.ts";
import type { ManifestEntry } from "../contracts/manifest.ts";
import type { DocumentFile } from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { pathExists } from "../lib/file-system.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { slicesOf } from "../lib/slices-of.ts";
import { plural } from "../lib/text.ts";
import { toUtcMicros } from "../lib/time.ts";
import { KnowledgeBase } from "../mirror/knowledge-base.ts";
import type { Mirror } from "../mirror/mirror.ts";
import { type ExtractedText, FIRST_VERSION, type StoredVersion } from "../mirror/stored-version.ts";
import { judgeText, type TextChange } from "../plan/judge.ts";
import type { StepCounts } from "./crawl-request.ts";
import type { StepResult } from "./crawl-source.ts";
import { stopWhenFull } from "./disk-full.ts";
import type { EngineParts } from "./engine-parts.ts";
import { ITEM_PROBLEMS } from "./failures.ts";
import { FETCHED } from "./planned-changes.ts";
import { MAX_READER_TRIES, readerTries } from "./reader-tries.ts";
import type { ListingResult, SourceStep } from "./run-context.ts";
import { noCounts, Progress, sumUp } from "./tally.ts";

const JUDGED_AT_ONCE = 1000;

type ProcessStep = Pick<SourceStep, "run" | "request" | "ledger" | "mirror" | "job">;
type TextParts = Pick<EngineParts, "acceptedTypes" | "extractor" | "retention" | "now" | "openKnowledge">;

/** The step with its knowledge base. */
interface TextStep extends ProcessStep {
  readonly base: KnowledgeBase;
  /** Nothing was kept before. */
  readonly isFirst: boolean;
}

/**
 * The process step of a tree: extracts the text of every file with new content into the knowledge base, and updates the
 * manifest. All texts are made again when the extractor's revision changed, the knowledge base is gone, or on request (force).
 */
export async function extractTexts(
  given: ProcessStep,
  listing: Pick<ListingResult, "plan"> | undefined,
  parts: TextParts,
): Promise<StepResult> {
  const { run, request, ledger, mirror, job } = given;
  const base = parts.openKnowledge(run);
  await base.recover();
  const isFirst = !(await pathExists(join(mirror.folder, "knowledge_base")));
  const step: TextStep = { ...given, base, isFirst };
  const { revision } = parts.extractor;
  const isSame = ledger.textsBy === revision && !isFirst;
  const judgeAll = !isSame || request.mode === "full" || request.retryFailed;
  const tasks = await findTasks(await findCandidates(listing, judgeAll, step, parts), step, parts);
  if (job.dryRun) return { counts: countPlanned(tasks, job), problems: [], itemProblem: "" };
  const { counts, retries } = await extractAll(tasks, step, parts);
  if (retries === 0) ledger.noteTexts(revision);
  const unreadable = counts.failed - retries;
  return {
    counts,
    problems: retries > 0 ? [`${plural(retries, "text")} could not be kept; the next run tries again`] : [],
    itemProblem: unreadable > 0 ? ITEM_PROBLEMS.text(plural(unreadable, "file")) : "",
  };
}

/**
 * Returns the files to judge: those without a text, those that this run changed (a moved one keeps its text), and, if
 * `judgeAll`, all others.
 */
async function findCandidates(
  listing: Pick<ListingResult, "plan"> | undefined,
  judgeAll: boolean,
  { ledger: { manifest } }: TextStep,
  parts: TextParts,
): Promise<readonly ItemId[]> {
  const candidates = new Set<ItemId>();
  for await (const page of manifest.withoutText()) {
    for (const { docId, path } of page) if (isReadable(path, parts)) candidates.add(docId);
  }
  for await (const page of listing?.plan.items("download", ["moved", ...FETCHED]) ?? []) {
    for (const { itemId } of page) candidates.add(itemId);
  }
  if (judgeAll) for await (const page of manifest.active()) for (const { docId } of page) candidates.add(docId);
  return [...candidates];
}

async function findTasks(
  candidates: readonly ItemId[],
  step: TextStep,
  parts: TextParts,
): Promise<readonly TextTask[]> {
  const tasks: TextTask[] = [];
  for (const page of slicesOf(candidates, JUDGED_AT_ONCE)) {
    const known = await step.ledger.manifest.find(page);
    for (const docId of page) {
      await step.job.checkpoint();
      const entry = known.get(docId);
      if (entry?.status !== "active" || !isReadable(entry.path, parts)) continue;
      const change = await judgeEntry(entry, step, parts);
      if (change) tasks.push({ docId, change });
    }
  }
  return tasks;
}

/** Only a full crawl reads the stored text; an unreadable one is made again, and with force every one. */
async function judgeEntry(
  entry: ManifestEntry,
  { base, isFirst, request: { mode, force, retryFailed } }: TextStep,
  { extractor }: TextParts,
): Promise<TextChange | undefined> {
  const stored = isFirst ? undefined : await base.current(entry.docId).catch(() => undefined);
  const change = judgeText(entry, stored, { extractor: extractor.revision, retryFailed });
  if (force && stored) return "changed";
  if (mode !== "full" || stored?.error !== "" || change === "changed") return change;
  const whole = await base.read(entry.docId).catch(() => undefined);
  return whole ? change : "changed";
}

/** Whether the type is accepted and can be extracted; other files are skipped silently, as in the embed step. */
function isReadable(path: string, { acceptedTypes, extractor }: TextParts): boolean {
  const fileType = fileTypeOf(path);
  return acceptedTypes.has(fileType) && extractor.types.has(fileType);
}

/** Several texts are in memory at once. */
const AT_ONCE = 4;
/** Manifest entries per flush. A crash in between costs nothing: stored texts are found again. */
const BATCH = 500;

interface TextTask {
  readonly docId: ItemId;
  readonly change: TextChange;
}

/** A failing file never stops the others. `retries`: failures that may succeed next time. */
async function extractAll(
  tasks: readonly TextTask[],
  step: TextStep,
  parts: TextParts,
): Promise<{ readonly counts: StepCounts; readonly retries: number }> {
  const { ledger, job } = step;
  const counts = noCounts();
  let retries = 0;
  if (tasks.length === 0) return { counts, retries };
  const progress = new Progress(job, tasks.length);
  job.log(`Texts to be kept: ${plural(tasks.length, "document")}.`);
  for (const batch of slicesOf(tasks, BATCH)) {
    const docIds = batch.map(({ docId }) => docId);
    const known = await ledger.getMany(docIds);
    const entries = await ledger.manifest.find(docIds);
    await forEachConcurrent(batch.entries(), AT_ONCE, async ([i, task]) => {
      await job.checkpoint();
      const entry = entries.get(task.docId);
      if (!entry) return;
      try {
        const { change, line } = await applyChange(task.change, entry, known[i], step, parts);
        counts[change] += 1;
        progress.step(line);
      } catch (error) {
        if (job.signal.aborted) throw new CancelledError("keeping texts stopped", { cause: error });
        stopWhenFull(error);
        retries += 1;
        counts.failed += 1;
        progress.step(`ERROR: keep '${entry.path}': ${explain(error)}`);
      }
    });
    await ledger.manifest.flush();
  }
  job.log(`Kept: ${sumUp(counts)}.`);
  return { counts, retries };
}

/** Only counts: a dry run reads no files, so it does not know which have text. */
function countPlanned(tasks: readonly TextTask[], job: JobContext): StepCounts {
  const counts = noCounts();
  for (const { change } of tasks) counts[change] += 1;
  job.log(`Texts to be kept: ${sumUp(counts)}.`);
  return counts;
}

interface TextOutcome {
  readonly change: TextChange | "skipped" | "failed" | "empty";
  readonly line: string;
  readonly stored?: StoredVersion;
}

async function applyChange(
  change: TextChange,
  entry: ManifestEntry,
  known: LedgerEntry | undefined,
  step: TextStep,
  parts: TextParts,
): Promise<TextOutcome> {
  const { docId, path } = entry;
  const { base, ledger } = step;
  let done: TextOutcome = { change, line: `'${path}' has its text.` };
  if (change === "added" || change === "changed") done = await extractOne(change, entry, known, step, parts);
  if (done.change === "skipped") return done;
  if (change === "moved") await base.relocate(docId, path);
  const isFirst = done.stored?.versionId === FIRST_VERSION;
  const versions = isFirst && done.stored ? [done.stored] : await base.history(docId, entry.versions);
  ledger.manifest.put({ ...entry, versions: versions.map(({ versionId, at, hash }) => ({ versionId, at, hash })) });
  return done;
}

/** Stores a text only if it was made from exactly these bytes: readers identify it by their hash. */
async function extractOne(
  change: "added" | "changed",
  { docId, path, contentHash, modifiedAt }: ManifestEntry,
  known: LedgerEntry | undefined,
  { base, request, mirror, job }: TextStep,
  parts: TextParts,
): Promise<TextOutcome> {
  const { file = "", observed = null } = known?.mirrored ?? {};
  if (!file || (observed && observed.sha256 !== contentHash)) {
    return { change: "skipped", line: `'${path}' waits until it is downloaded.` };
  }
  const fileType = fileTypeOf(path);
  // The embed step counts how often readers failed on it.
  const { revision } = parts.extractor;
  const isGivenUp = known && !request.retryFailed && readerTries(known, revision) >= MAX_READER_TRIES;
  const text: ExtractedText = isGivenUp
    ? { error: known.indexed?.embeddingError ?? "" }
    : await textOf(mirror.absolute(file), fileType, contentHash, job.signal, parts);
  const now = parts.now();
  const content = { at: toUtcMicros(now), hash: contentHash, path, fileType, modifiedAt };
  const stored = await base.keep(docId, { ...content, extractor: revision }, text);
  if (change === "changed") await base.prune(docId, parts.retention, now);
  if ("error" in text && isEmptyReason(text.error)) {
    return { change: "empty", line: `'${path}' has nothing to index: ${text.error}`, stored };
  }
  if ("error" in text) return { change: "failed", line: `ERROR: read '${path}': ${text.error}`, stored };
  return { change, line: `Kept '${path}'.`, stored };
}

async function textOf(
  file: string,
  fileType: string,
  sha256: string,
  signal: AbortSignal,
  { extractor }: TextParts,
): Promise<ExtractedText> {
  return await extractor.extract(file, fileType, signal, sha256).catch((error: unknown) => {
    if (error instanceof ExtractError && !(error instanceof ReaderError)) return { error: error.message };
    throw error;
  });
}

/** Adds the text that the process step made from the same bytes, so that it need not be made again. */
export function withStoredText(file: DocumentFile, run: SourceRun, mirror: Mirror): DocumentFile {
  if (!run.config.kind.abilities.keepsTexts) return file;
  const base = new KnowledgeBase(mirror.folder);
  return {
    ...file,
    async cachedText(extractor) {
      const kept = await base.read(file.itemId);
      const { sha256, label } = file;
      const isOfThese = kept?.hash === sha256 && kept.fileType === label.fileType && kept.extractor === extractor;
      return isOfThese ? kept : undefined;
    },
  };
}

import { join } from "node:path";
import { ExtractError, isEmptyReason, ReaderError } from "../contracts/document.ts";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger, LedgerEntry } from "../contracts/ledger.ts";
import type { Manifest, ManifestEntry } from "../contracts/manifest.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { forEachConcurrent } from "../lib/concurrency.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { hashFile } from "../lib/hash-file.ts";
import { pathExists } from "../lib/path-exists.ts";
import { plural } from "../lib/plural.ts";
import { toUtcMicros } from "../lib/time.ts";
import type { KeptDocument, KeptText } from "../mirror/knowledge/kept-document.ts";
import { KnowledgeBase } from "../mirror/knowledge/knowledge-base.ts";
import { FIRST_VERSION } from "../mirror/knowledge/version-id.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { CrawlRequest, StepCounts } from "./crawl-request.ts";
import { stopWhenFull } from "./disk-full.ts";
import type { SourceLook } from "./download.ts";
import type { EngineParts } from "./engine-parts.ts";
import { FETCHED } from "./planned-changes.ts";
import { MAX_READER_TRIES, readerTries } from "./reader-tries.ts";
import { noCounts, Progress, sumUp } from "./tally.ts";

const JUDGED_AT_ONCE = 1000;

interface KeepWork {
  readonly run: SourceRun;
  readonly request: CrawlRequest;
  /** What the download saw before; undefined when this run did not look. */
  readonly look: SourceLook | undefined;
  readonly parts: Pick<EngineParts, "acceptedTypes" | "extractor" | "keeping" | "now">;
  readonly ledger: Ledger;
  readonly mirror: Mirror;
  readonly job: JobContext;
}

interface Kept {
  readonly counts: StepCounts;
  readonly problems: readonly string[];
}

/**
 * The process step of a tree: the text of every file whose content is new goes into the knowledge base, and the manifest says so.
 * A text is made again when another revision of the extractor would make it otherwise, or when all of them are gone.
 */
export async function keepDocuments(work: KeepWork): Promise<Kept> {
  const { parts, request, ledger, mirror, job } = work;
  const base = new KnowledgeBase(mirror.folder);
  if (!job.dryRun) await base.recover();
  const { manifest, textsBy } = ledger;
  const { revision } = parts.extractor;
  const isSame = textsBy === revision && (await pathExists(join(mirror.folder, "knowledge_base")));
  const lookAtAll = !isSame || request.mode === "full" || request.retryFailed;
  const tasks = await findTasks(manifest, base, lookAtAll, work);
  const { counts, retries } = await keepAll(tasks, { manifest, base }, work);
  if (retries === 0) ledger.noteTexts(revision);
  return { counts, problems: problemsOf(counts, retries) };
}

function problemsOf({ failed }: StepCounts, retries: number): readonly string[] {
  const problems: string[] = [];
  const unreadable = failed - retries;
  if (unreadable > 0) problems.push(`${plural(unreadable, "file")} could not be read as a document; the log says why`);
  if (retries > 0) problems.push(`${plural(retries, "text")} could not be kept; the next run tries again`);
  return problems;
}

/** Those that wait; those this run touched, for a file that only moved keeps its text; when asked for, every other one. */
async function findTasks(
  manifest: Manifest,
  base: KnowledgeBase,
  lookAtAll: boolean,
  work: KeepWork,
): Promise<readonly KeepTask[]> {
  const isReadable = readableIn(work);
  const candidates = new Set<ItemId>();
  for await (const page of manifest.unkept()) {
    for (const { docId, path } of page) if (isReadable(path)) candidates.add(docId);
  }
  for await (const page of work.look?.plan.items("download", ["moved", ...FETCHED]) ?? []) {
    for (const { itemId } of page) candidates.add(itemId);
  }
  if (lookAtAll) for await (const page of manifest.active()) for (const { docId } of page) candidates.add(docId);
  const tasks: KeepTask[] = [];
  const all = [...candidates];
  for (let from = 0; from < all.length; from += JUDGED_AT_ONCE) {
    const some = all.slice(from, from + JUDGED_AT_ONCE);
    const known = await manifest.find(some);
    for (const docId of some) {
      await work.job.checkpoint();
      const entry = known.get(docId);
      if (entry?.status !== "active" || !isReadable(entry.path)) continue;
      const change = await judgeKept(docId, entry, base, work);
      if (change) tasks.push({ docId, change });
    }
  }
  return tasks;
}

/** What the index takes and the extractor can read; the rest is skipped without a word, as the embed step does. */
function readableIn({ parts }: KeepWork): (path: string) => boolean {
  return (path) => {
    const fileType = fileTypeOf(path);
    return parts.acceptedTypes.has(fileType) && parts.extractor.types.has(fileType);
  };
}

/** Texts are made in this process or in a few others, and several are in memory at once. */
const AT_ONCE = 4;
/** So many are noted in the manifest together. A crash in between costs nothing: what is kept is found again. */
const BATCH = 500;

/** added, changed: its text is to be made. moved: it has its text. unchanged: the same, but the manifest does not know. */
interface KeepTask {
  readonly docId: ItemId;
  readonly change: "added" | "changed" | "moved" | "unchanged";
}

interface KeepTools {
  readonly manifest: Manifest;
  readonly base: KnowledgeBase;
}

/** What there is to do for a file that is there; undefined: nothing. Only a full crawl reads the text that is kept. */
async function judgeKept(
  docId: ItemId,
  { path, contentHash, versions }: Pick<ManifestEntry, "path" | "contentHash" | "versions">,
  base: KnowledgeBase,
  { parts, request }: Pick<KeepWork, "parts" | "request">,
): Promise<KeepTask["change"] | undefined> {
  // What cannot be read is to be made anew, and says so if it cannot be either.
  const kept = await base.current(docId).catch(() => undefined);
  const isMade =
    kept?.hash === contentHash && kept.fileType === fileTypeOf(path) && kept.extractor === parts.extractor.revision;
  if (!isMade || (kept.error !== "" && request.retryFailed)) return kept ? "changed" : "added";
  if (request.mode === "full" && kept.error === "") {
    const whole = await base.read(docId).catch(() => undefined);
    if (!whole) return "changed";
  }
  if (kept.path !== path) return "moved";
  return versions.at(-1)?.hash === contentHash ? undefined : "unchanged";
}

/** One bad file never stops the others. `retries` are those of the failed ones that may do better next time. */
async function keepAll(
  tasks: readonly KeepTask[],
  tools: KeepTools,
  work: KeepWork,
): Promise<{ readonly counts: StepCounts; readonly retries: number }> {
  const { job } = work;
  const counts = noCounts();
  let retries = 0;
  if (job.dryRun) return { counts: foresee(tasks, job), retries };
  if (tasks.length === 0) return { counts, retries };
  const progress = new Progress(job, tasks.length);
  job.log(`Texts to be kept: ${plural(tasks.length, "document")}.`);
  for (let from = 0; from < tasks.length; from += BATCH) {
    const batch = tasks.slice(from, from + BATCH);
    const docIds = batch.map(({ docId }) => docId);
    const known = await work.ledger.getMany(docIds);
    const entries = await tools.manifest.find(docIds);
    await forEachConcurrent(batch.entries(), AT_ONCE, async ([i, task]) => {
      await job.checkpoint();
      const entry = entries.get(task.docId);
      if (!entry) return;
      try {
        const { change, line } = await carryOut(entry, known[i], task, tools, work);
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
    await tools.manifest.flush();
  }
  job.log(`Kept: ${sumUp(counts)}.`);
  return { counts, retries };
}

/** A dry run reads nothing: whether a file has text, only its bytes tell. */
function foresee(tasks: readonly KeepTask[], job: JobContext): StepCounts {
  const counts = noCounts();
  for (const { change } of tasks) counts[change] += 1;
  job.log(`Texts to be kept: ${sumUp(counts)}.`);
  return counts;
}

interface Done {
  readonly change: KeepTask["change"] | "skipped" | "failed" | "empty";
  readonly line: string;
  readonly kept?: KeptDocument;
}

async function carryOut(
  entry: ManifestEntry,
  known: LedgerEntry | undefined,
  { change }: KeepTask,
  tools: KeepTools,
  work: KeepWork,
): Promise<Done> {
  const { docId, path } = entry;
  let done: Done = { change, line: `'${path}' has its text.` };
  if (change === "added" || change === "changed") done = await make(entry, known, { ...tools, change }, work);
  if (done.change === "skipped") return done;
  if (change === "moved") await tools.base.relocate(docId, path);
  const isFirst = done.kept?.versionId === FIRST_VERSION;
  const versions = isFirst && done.kept ? [done.kept] : await tools.base.history(docId, entry.versions);
  tools.manifest.put({ ...entry, versions: versions.map(({ versionId, at, hash }) => ({ versionId, at, hash })) });
  return done;
}

/** The text is that of the very bytes, or it is not kept: whoever finds it goes by their hash. */
async function make(
  { docId, path, contentHash, modifiedAt }: ManifestEntry,
  known: LedgerEntry | undefined,
  { base, change }: KeepTools & Pick<KeepTask, "change">,
  { parts, request, mirror, job }: KeepWork,
): Promise<Done> {
  const { file = "", observed = null } = known?.mirrored ?? {};
  if (!file || (observed && observed.sha256 !== contentHash)) {
    return { change: "skipped", line: `'${path}' waits until it is downloaded.` };
  }
  const fileType = fileTypeOf(path);
  // The embed step counts how often readers failed at it.
  const { revision } = parts.extractor;
  const isGivenUp = known && !request.retryFailed && readerTries(known, revision) >= MAX_READER_TRIES;
  const text: KeptText = isGivenUp
    ? { error: known.indexed?.embeddingError ?? "" }
    : await textOf(mirror.absolute(file), fileType, contentHash, { parts, job });
  const now = parts.now();
  const content = { at: toUtcMicros(now), hash: contentHash, path, fileType, modifiedAt };
  const kept = await base.keep(docId, { ...content, extractor: revision }, text);
  if (change === "changed") await base.prune(docId, parts.keeping, now);
  if ("error" in text && isEmptyReason(text.error)) {
    return { change: "empty", line: `'${path}' has nothing to index: ${text.error}`, kept };
  }
  if ("error" in text) return { change: "failed", line: `ERROR: read '${path}': ${text.error}`, kept };
  return { change, line: `Kept '${path}'.`, kept };
}

/** The hash is taken after reading, so that it also covers a refusal. */
async function textOf(
  file: string,
  fileType: string,
  sha256: string,
  { parts, job }: Pick<KeepWork, "parts" | "job">,
): Promise<KeptText> {
  const text = await parts.extractor.extract(file, fileType, job.signal).catch((error: unknown) => {
    if (error instanceof ExtractError && !(error instanceof ReaderError)) return { error: error.message };
    throw error;
  });
  if ((await hashFile(file)) !== sha256) throw new Error(`read ${file}: it is not what was downloaded`);
  return text;
}

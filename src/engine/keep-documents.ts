import { join } from "node:path";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Manifest } from "../contracts/manifest.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { pathExists } from "../lib/path-exists.ts";
import { plural } from "../lib/plural.ts";
import { KnowledgeBase } from "../mirror/knowledge/knowledge-base.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { CrawlRequest, StepCounts } from "./crawl-request.ts";
import type { SourceLook } from "./download.ts";
import type { EngineParts } from "./engine-parts.ts";
import { judgeKept, type KeepTask, keepAll } from "./keep-text.ts";
import { FETCHED } from "./planned-changes.ts";

const JUDGED_AT_ONCE = 1000;

export interface KeepWork {
  readonly run: SourceRun;
  readonly request: CrawlRequest;
  /** What the download saw before; undefined when this run did not look. */
  readonly look: SourceLook | undefined;
  readonly parts: Pick<EngineParts, "acceptedTypes" | "extractor" | "keeping" | "now">;
  readonly ledger: Ledger;
  readonly mirror: Mirror;
  readonly job: JobContext;
}

export interface Kept {
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

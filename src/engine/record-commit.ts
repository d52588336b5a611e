import { hash } from "node:crypto";
import { stat } from "node:fs/promises";
import { isEmptyReason } from "../contracts/document.ts";
import { explain } from "../contracts/errors.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Indexed, Ledger, LedgerEntry, Mirrored } from "../contracts/ledger.ts";
import type { FailedRef, IndexedRef } from "../contracts/search-index.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { MTIME_TOLERANCE_MS } from "../plan/detect-changes.ts";
import type { EmbedTools } from "./embed.ts";
import type { IndexPlan } from "./plan-index.ts";
import { readerTries, withReader, withTries } from "./reader-tries.ts";

const ROWS_PER_FLUSH = 1000;

/** By item, what was put: see markOf. */
export type PutMarks = Map<ItemId, string>;

interface CommitOutcome {
  readonly plan: IndexPlan;
  readonly marks: PutMarks;
  /** Gets those of the failed items whose bytes may be the fault. */
  readonly doubtful: Set<ItemId>;
  readonly ready: readonly IndexedRef[];
  readonly failed: readonly FailedRef[];
}

/** Writes down what the index now holds. A run killed before finds the documents in the index without a row, adopts them, and comes through here again. */
export async function recordCommit(outcome: CommitOutcome, tools: EmbedTools, job: JobContext): Promise<void> {
  const { plan, failed } = outcome;
  const { ledger } = tools;
  const failedItems = new Set(failed.map(({ itemId }) => itemId));
  for (let from = 0; from < outcome.ready.length; from += ROWS_PER_FLUSH) {
    const refs = outcome.ready.slice(from, from + ROWS_PER_FLUSH).filter(({ itemId }) => plan.put.has(itemId));
    const entries = await entriesAsPut(
      refs.map(({ itemId }) => itemId),
      outcome,
      ledger,
      job,
    );
    for (const ref of refs) {
      const entry = entries.get(ref.itemId);
      if (entry) ledger.putEmbedded(entry, rowOf(entry, tools, ref));
    }
    // A first crawl writes a row for everything there is: not all of them wait in memory at once.
    await ledger.flush();
  }
  const labelled = [...plan.adopt.keys(), ...plan.relabel].filter((itemId) => !failedItems.has(itemId));
  for (let from = 0; from < labelled.length; from += ROWS_PER_FLUSH) {
    const entries = await entriesAsPut(labelled.slice(from, from + ROWS_PER_FLUSH), outcome, ledger, job);
    for (const [itemId, entry] of entries) {
      const held = plan.adopt.get(itemId);
      if (held) ledger.putEmbedded(entry, rowOf(entry, tools, held));
      else if (entry.indexed) ledger.putEmbedded(entry, { ...entry.indexed, ...copiedFrom(entry.mirrored) });
    }
    await ledger.flush();
  }
  for (const itemId of plan.remove) {
    // A document that could not be removed keeps its row: the next run sees it and tries again.
    if (!failedItems.has(itemId)) ledger.put(itemId, { indexed: null });
  }
  await recordFailures(outcome, { ...tools, ledger }, job);
  await ledger.flush();
}

/** Tells whether a file, its name or its place is another one by now. */
export function markOf(mirrored: Mirrored): string {
  return hash("sha256", JSON.stringify(mirrored), "base64");
}

/** Of those that a download beside us changed, nothing is written down: what the index has is not what the ledger then says. */
async function entriesAsPut(
  items: readonly ItemId[],
  { marks }: CommitOutcome,
  ledger: Ledger,
  job: JobContext,
): Promise<ReadonlyMap<ItemId, LedgerEntry>> {
  const found = new Map<ItemId, LedgerEntry>();
  for (const entry of await ledger.getMany(items)) {
    if (!entry?.mirrored) continue;
    if (marks.get(entry.itemId) === markOf(entry.mirrored)) found.set(entry.itemId, entry);
    else job.log(`'${entry.mirrored.file}' was replaced meanwhile; the next run judges what is there now.`);
  }
  return found;
}

function rowOf(entry: LedgerEntry, tools: EmbedTools, ref: IndexedRef): Indexed {
  return {
    ...copiedFrom(entry.mirrored),
    fileId: ref.fileId,
    vectorStoreId: tools.store,
    uploadedAt: ref.uploadedAt,
    embeddedAt: ref.embeddedAt,
    embeddingError: "",
    sha256: entry.mirrored?.observed?.sha256 ?? ref.sha256,
  };
}

function copiedFrom(
  mirrored: Mirrored | null,
): Pick<
  Indexed,
  "file" | "listItemId" | "name" | "size" | "modifiedAt" | "downloadedAt" | "sourceError" | "processingError"
> {
  return {
    file: mirrored?.file ?? "",
    listItemId: mirrored?.listItemId ?? 0,
    name: mirrored?.name ?? "",
    size: mirrored?.fingerprint.size ?? 0,
    modifiedAt: mirrored?.fingerprint.modifiedAt ?? "",
    downloadedAt: mirrored?.downloadedAt ?? "",
    sourceError: mirrored?.sourceError ?? "",
    processingError: mirrored?.processingError ?? "",
  };
}

/**
 * A file that will fail again goes to `03_failed/`; one that may succeed next time keeps its old version and its place.
 * All leave, then the map files say where they are, then all arrive: whoever finds them on the way after a crash reads
 * the map files.
 */
async function recordFailures(
  outcome: CommitOutcome,
  tools: Omit<EmbedTools, "ledger"> & { readonly ledger: Ledger },
  job: JobContext,
): Promise<void> {
  const { plan, failed, doubtful } = outcome;
  const put = failed.flatMap(({ itemId }) => (plan.put.has(itemId) ? [itemId] : []));
  const entries = await entriesAsPut(put, outcome, tools.ledger, job);
  const leaving: { itemId: ItemId; file: string }[] = [];
  for (const failure of failed) {
    const entry = entries.get(failure.itemId);
    const told = withoutPath(failure.reason, entry?.mirrored?.file ?? "", tools);
    const reason =
      failure.byReader && entry ? withTries(told, entry, tools.reader, readerTries(entry, tools.reader) + 1) : told;
    job.log(sayFailure({ ...failure, reason }, entry));
    if (!entry?.mirrored) continue;
    const { itemId } = entry;
    const mayBeBytes = isDoubtful(entry.mirrored, entry.indexed);
    if (mayBeBytes) doubtful.add(itemId);
    if (await wasReplaced(entry.mirrored, tools)) {
      job.log(`'${entry.mirrored.file}' was replaced meanwhile; the next run judges what is there now.`);
      continue;
    }
    const permanent = failure.permanent && tools.isOwn && !mayBeBytes;
    const mirrored = permanent
      ? await leave(itemId, entry.mirrored, tools, job)
      : withDoubt(entry.mirrored, { ...failure, reason });
    if (mirrored.file !== entry.mirrored.file) leaving.push({ itemId, file: mirrored.file });
    const refused = { ...NOT_INDEXED, sha256: entry.mirrored.observed?.sha256 ?? "" };
    const kept = failure.permanent ? refused : versionOf(entry.indexed);
    tools.ledger.put(itemId, {
      ...(tools.isOwn ? { mirrored } : {}),
      indexed: { ...copiedFrom(mirrored), ...kept, embeddingError: withReader(reason, tools.reader) },
    });
  }
  if (leaving.length > 0) await tools.ledger.flush();
  for (const { itemId, file } of leaving) await arrive(itemId, file, tools, job);
}

/** Map files and reports travel: where this server has its files is nobody's business. */
function withoutPath(reason: string, file: string, { mirror }: Pick<EmbedTools, "mirror">): string {
  if (!mirror.owns(file)) return reason;
  const path = mirror.absolute(file);
  return reason.includes(path) && !mirror.find(file) ? `'${file}' is missing on disk` : reason.replaceAll(path, file);
}

/** What nobody can mend is no error; what was found before and is not any more is worth a word. */
function sayFailure({ itemId, reason }: FailedRef, entry: LedgerEntry | undefined): string {
  const name = entry?.mirrored?.serverPath ?? itemId;
  if (!isEmptyReason(reason)) return `ERROR: index '${name}': ${reason}`;
  const said = `'${name}' has nothing to index: ${reason}`;
  return entry?.indexed?.fileId ? `WARNING: ${said} It had before, and has left the search.` : said;
}

/** A download beside us may have brought other bytes: what was said of those before is not said of these. */
async function wasReplaced({ file, observed }: Mirrored, { mirror }: Pick<EmbedTools, "mirror">): Promise<boolean> {
  if (!observed || !mirror.owns(file)) return false;
  const now = await stat(mirror.absolute(file)).catch(() => undefined);
  return (
    now !== undefined && (now.size !== observed.size || Math.abs(now.mtimeMs - observed.mtimeMs) > MTIME_TOLERANCE_MS)
  );
}

/**
 * Bytes that are not as many as were listed may be the fault, not the file: they are fetched again by the next run. If the
 * very same bytes come a second time, they are what the file is. What came out of the process step never has the listed size.
 */
function isDoubtful({ name, file, observed, fingerprint }: Mirrored, indexed: Indexed | null): boolean {
  const isProcessed = fileTypeOf(name) !== fileTypeOf(file);
  const cameBefore = indexed?.fileId === "" && indexed.embeddingError !== "" && indexed.sha256 === observed?.sha256;
  if (observed === null || isProcessed || cameBefore) return false;
  return fingerprint.size !== 0 && observed.size !== fingerprint.size;
}

function withDoubt(mirrored: Mirrored, failure: FailedRef): Mirrored {
  if (failure.isAltered) return { ...mirrored, sourceError: "altered on disk: other content" };
  return failure.permanent ? { ...mirrored, sourceError: `cannot be read as it came: ${failure.reason}` } : mirrored;
}

type IndexIds = Pick<Indexed, "fileId" | "vectorStoreId" | "uploadedAt" | "embeddedAt" | "sha256">;
const NOT_INDEXED: IndexIds = { fileId: "", vectorStoreId: "", uploadedAt: "", embeddedAt: "", sha256: "" };

/** What a row says of the version that stays in the index; its name and place follow the file. */
function versionOf(indexed: Indexed | null): IndexIds & Partial<Indexed> {
  if (!indexed?.fileId) return NOT_INDEXED;
  const { fileId, vectorStoreId, uploadedAt, embeddedAt, sha256, size, modifiedAt, downloadedAt } = indexed;
  return { fileId, vectorStoreId, uploadedAt, embeddedAt, sha256, size, modifiedAt, downloadedAt };
}

async function leave(
  itemId: ItemId,
  mirrored: Mirrored,
  { mirror }: Pick<EmbedTools, "mirror">,
  job: JobContext,
): Promise<Mirrored> {
  try {
    await mirror.moveOut(itemId, mirrored.file);
    return { ...mirrored, file: mirror.failedFile(mirrored.file) };
  } catch (error) {
    job.log(`WARNING: cannot move '${mirrored.file}' to 03_failed: ${explain(error)}`);
    return mirrored;
  }
}

async function arrive(
  itemId: ItemId,
  file: string,
  { mirror }: Pick<EmbedTools, "mirror">,
  job: JobContext,
): Promise<void> {
  try {
    await mirror.moveIn(itemId, file);
  } catch (error) {
    job.log(`WARNING: cannot move to '${file}': ${explain(error)}`);
    await mirror.dropWaiting(itemId);
  }
}

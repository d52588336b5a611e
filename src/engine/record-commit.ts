import { explain } from "../contracts/errors.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Indexed, LedgerEntry, Mirrored } from "../contracts/ledger.ts";
import type { FailedRef, IndexedRef } from "../contracts/search-index.ts";
import { updateFilesMetadata } from "../domains/files-metadata.ts";
import type { EmbedTools, IndexPlan } from "./embed.ts";
import type { SourceRun } from "./engine-parts.ts";
import { metadataEntry } from "./metadata-entry.ts";

export interface CommitOutcome {
  readonly plan: IndexPlan;
  readonly ready: readonly IndexedRef[];
  readonly failed: readonly FailedRef[];
}

/**
 * Writes down what the index now holds. `files_metadata.json` comes before the map rows: a run killed in between finds
 * the documents in the index without a row, adopts them, and comes through here again.
 */
export async function recordCommit(
  run: SourceRun,
  outcome: CommitOutcome,
  tools: EmbedTools,
  job: JobContext,
): Promise<void> {
  const { plan, failed } = outcome;
  const putEntries = new Map(plan.put.map((entry) => [entry.itemId, entry]));
  const failedItems = new Set(failed.map(({ itemId }) => itemId));
  const nowHeld: { entry: LedgerEntry; indexed: Indexed }[] = [];
  for (const ref of outcome.ready) {
    const entry = putEntries.get(ref.itemId);
    if (entry) nowHeld.push({ entry, indexed: rowOf(entry, tools, ref) });
  }
  for (const { entry, held } of plan.adopt) nowHeld.push({ entry, indexed: rowOf(entry, tools, held) });
  const relabelled = plan.relabel
    .filter(({ entry }) => !failedItems.has(entry.itemId))
    .map(({ entry, indexed }) => ({ entry, indexed: relabelledRow(entry, indexed) }));

  const warnings = await updateFilesMetadata(tools.metadataPath, {
    embedded: nowHeld.map(({ entry, indexed }) => metadataEntry(run, entry, indexed)),
    relabelled: relabelled.map(({ entry, indexed }) => metadataEntry(run, entry, indexed)),
  });
  for (const warning of warnings) job.log(`WARNING: ${warning}`);

  for (const { entry, indexed } of [...nowHeld, ...relabelled]) tools.ledger.put(entry.itemId, { indexed });
  for (const itemId of plan.remove) {
    // A document that could not be removed keeps its row: the next run sees it and tries again.
    if (!failedItems.has(itemId)) tools.ledger.put(itemId, { indexed: null });
  }
  for (const failure of failed) await recordFailure(failure, putEntries, tools, job);
  await tools.ledger.flush();
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

function relabelledRow(entry: LedgerEntry, indexed: Indexed): Indexed {
  return { ...indexed, ...copiedFrom(entry.mirrored) };
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

/** A file that will fail again goes to `03_failed/`; one that may succeed next time keeps its old version and its place. */
async function recordFailure(
  failure: FailedRef,
  entries: ReadonlyMap<ItemId, LedgerEntry>,
  tools: EmbedTools,
  job: JobContext,
): Promise<void> {
  const entry = entries.get(failure.itemId);
  job.log(`ERROR: index '${entry?.mirrored?.serverPath ?? failure.itemId}': ${failure.reason}`);
  if (!entry?.mirrored) return;
  const blank = { fileId: "", vectorStoreId: "", uploadedAt: "", embeddedAt: "", sha256: "" } as const;
  const before = failure.permanent ? blank : (entry.indexed ?? blank);
  const mirrored = failure.permanent ? await setAside(entry.itemId, entry.mirrored, tools, job) : entry.mirrored;
  const indexed: Indexed = { ...copiedFrom(mirrored), ...before, embeddingError: failure.reason };
  tools.ledger.put(entry.itemId, { mirrored, indexed });
}

async function setAside(
  itemId: ItemId,
  mirrored: Mirrored,
  { ledger, mirror }: EmbedTools,
  job: JobContext,
): Promise<Mirrored> {
  const moved = { ...mirrored, file: mirror.failedFile(mirrored.file) };
  try {
    await mirror.moveOut(itemId, mirrored.file);
    ledger.put(itemId, { mirrored: moved });
    await ledger.flush();
    await mirror.moveIn(itemId, moved.file);
    return moved;
  } catch (error) {
    job.log(`WARNING: cannot move '${mirrored.file}' to '${moved.file}': ${explain(error)}`);
    return mirrored;
  }
}

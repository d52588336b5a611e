import type { AbsentChange, ListedChange } from "../contracts/change.ts";
import { explain } from "../contracts/errors.ts";
import type { Ledger, LedgerEntry } from "../contracts/ledger.ts";
import type { Plan } from "../contracts/plan.ts";
import { plural } from "../lib/text.ts";
import { fetchItems, placeRows, removeVacated } from "./fetch-items.ts";
import type { DownloadPlan } from "./make-plan.ts";
import { type ApplyStep, moveItems, takeFreedPaths } from "./move-items.ts";
import { PathClaims } from "./path-claims.ts";
import { FETCHED, listedChanges, removedItems } from "./planned-changes.ts";
import type { DownloadStep } from "./run-context.ts";

/**
 * Carries out the plan on disk and in the ledger. A failing item never stops the others; `counts` has the number of
 * failures.
 */
export async function applyPlan(
  plan: DownloadPlan,
  download: DownloadStep & Pick<ApplyStep, "counts">,
): Promise<{ readonly notRemoved: number }> {
  const { items, size } = plan;
  // `notRemoved`: items that are gone at the source and could not be removed here.
  if (size.removed + size.moved + size.fetched === 0) return { notRemoved: 0 };
  const { ledger, mirror, source, request, counts, job } = download;
  const { isOfNamedFolders = false, inSync } = plan.delta ?? {};
  const claims =
    isOfNamedFolders || inSync ? PathClaims.onDisk(mirror, inSync?.marked) : await PathClaims.of(ledger, mirror);
  // A run of named folders did not scan the mirror.
  const mayAdopt = isOfNamedFolders || plan.disk.size > 0;
  const step: ApplyStep = { ...download, claims, vacated: [], mayAdopt };
  // The table first: it no longer has the removed rows, and a run that is killed in between removes them again.
  const rows = source.table ? await gather(listedChanges(items, FETCHED, ledger), isRow) : [];
  const unplaced = await placeRows(rows, plan, step);
  const notRemoved = await removeAll(items, step);
  const unmoved = await moveItems(await gather(listedChanges(items, ["moved"], ledger)), step);
  const total = size.fetched - rows.length + unmoved.length;
  let unfetched = await fetchItems(files(items, ledger, unmoved), total, step);
  for (let batch = 2; batch <= request.retryBatches && unfetched.length > 0; batch++) {
    job.log(`Trying ${plural(unfetched.length, "failed item")} once more.`);
    unfetched = await fetchItems(unfetched, unfetched.length, step);
  }
  await removeVacated(step);
  await takeFreedPaths(step);
  for (const { kind } of [...unplaced, ...unfetched]) counts[kind] -= 1;
  counts.failed += unplaced.length + unfetched.length + notRemoved;
  return { notRemoved };
}

function isRow({ sighting }: ListedChange): boolean {
  return sighting.form === "row";
}

async function gather(
  pages: AsyncIterable<readonly ListedChange[]>,
  isWanted: (change: ListedChange) => boolean = () => true,
): Promise<ListedChange[]> {
  return (await Array.fromAsync(pages)).flat().filter(isWanted);
}

/** Yields the items that are fetched one by one. Entries are read page by page: a first crawl fetches every item. */
async function* files(plan: Plan, ledger: Ledger, unmoved: readonly ListedChange[]): AsyncGenerator<ListedChange> {
  for await (const page of listedChanges(plan, FETCHED, ledger)) {
    for (const change of page) if (!isRow(change)) yield change;
  }
  yield* unmoved;
}

/** Returns how many could not be removed: they keep their ledger entry, and the next run tries again. */
async function removeAll(plan: Plan, step: ApplyStep): Promise<number> {
  const { ledger, job } = step;
  let failed = 0;
  for await (const page of removedItems(plan, ledger)) {
    for (const change of page) {
      await job.checkpoint();
      try {
        await removeOne(change, step);
      } catch (error) {
        failed += 1;
        job.log(`ERROR: remove '${change.entry.mirrored?.file}': ${explain(error)}`);
      }
    }
  }
  await ledger.flush();
  return failed;
}

async function removeOne(change: AbsentChange, step: ApplyStep): Promise<void> {
  const { itemId, entry, stillListed, reason } = change;
  const { ledger, mirror, claims, job } = step;
  const file = entry.mirrored?.file ?? "";
  if (file) {
    for (const own of ownFiles(entry, step)) await mirror.remove(own);
    claims.release(itemId, file);
    job.log(`Removed '${entry.mirrored?.serverPath}': ${reason}.`);
  }
  ledger.put(itemId, stillListed ? { mirrored: null } : { mirrored: null, seen: null });
  await ledger.flushNowAndThen();
}

/** Returns the files to remove with an item: a shared original stays, an own one (of a page) goes. */
function ownFiles({ itemId, mirrored }: LedgerEntry, { mirror, converter }: ApplyStep): string[] {
  if (!mirrored) return [];
  const { file, listItemId, name } = mirrored;
  const path = mirror.relativePath(file);
  const isOwn = converter?.documentPath({ itemId, listItemId, name }, path) === path;
  if (isOwn) return [...new Set([mirror.originalFile(path), mirror.embeddedFile(path), file])];
  return mirror.isOriginal(file) ? [] : [file];
}

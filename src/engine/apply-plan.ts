import type { AbsentChange } from "../contracts/change.ts";
import { explain } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { LedgerEntry } from "../contracts/ledger.ts";
import { plural } from "../lib/plural.ts";
import type { StepCounts } from "./crawl-request.ts";
import type { DownloadTools, Plan } from "./download.ts";
import { fetchItems, removeVacated } from "./fetch-items.ts";
import { moveItems, takeFreedPlaces } from "./move-items.ts";
import { PathClaims } from "./path-claims.ts";
import { placeRows } from "./place-rows.ts";

/** What came of the plan, besides the counts. */
export interface Applied {
  /** Items that are gone and could not be removed. */
  readonly stuck: number;
}

export type ApplyTools = DownloadTools & {
  readonly claims: PathClaims;
  /** Files whose items now have another one. They leave when all have arrived: until then somebody may just be taking their place. */
  readonly vacated: string[];
};

/** Carries the plan out on disk and in the ledger. One bad item never stops the others; `counts` tells how many failed. */
export async function applyPlan(
  plan: Plan,
  download: DownloadTools & { readonly retryBatches: number },
  job: JobContext,
  counts: StepCounts,
): Promise<Applied> {
  if (plan.removed.length + plan.moved.length + plan.fetched.length === 0) return { stuck: 0 };
  const { ledger, mirror } = download;
  const { isHinted = false, inStep } = plan.news ?? {};
  const claims = isHinted || inStep ? PathClaims.onDisk(mirror, inStep?.marked) : await PathClaims.of(ledger, mirror);
  const tools = { ...download, claims, vacated: [] };
  // First the table, which no longer has the rows that are removed: a run that is killed in between removes them again.
  const rows = plan.fetched.filter(({ sighting }) => sighting.form === "row");
  let failed = await placeRows(rows, plan, tools, job);
  const stuck = await removeAll(plan.removed, tools, job);
  const unmoved = await moveItems(plan.moved, tools, job);
  let waiting = [...plan.fetched.filter(({ sighting }) => sighting.form !== "row"), ...unmoved];
  for (let batch = 1; batch <= download.retryBatches && waiting.length > 0; batch++) {
    if (batch > 1) job.log(`Trying ${plural(waiting.length, "failed item")} once more.`);
    waiting = await fetchItems(waiting, tools, job, counts);
  }
  failed = [...failed, ...waiting];
  await removeVacated(tools, job);
  await takeFreedPlaces(tools, job);
  for (const { kind } of failed) counts[kind] -= 1;
  counts.failed += failed.length + stuck;
  return { stuck };
}

/** Returns how many could not be removed: they keep their ledger entry, and the next run tries again. */
async function removeAll(removed: readonly AbsentChange[], tools: ApplyTools, job: JobContext): Promise<number> {
  let failed = 0;
  for (const change of removed) {
    await job.checkpoint();
    try {
      await removeOne(change, tools, job);
    } catch (error) {
      failed += 1;
      job.log(`ERROR: remove '${change.entry.mirrored?.file}': ${explain(error)}`);
    }
  }
  await tools.ledger.flush();
  return failed;
}

async function removeOne(change: AbsentChange, tools: ApplyTools, job: JobContext): Promise<void> {
  const { itemId, entry, stillListed, reason } = change;
  const { ledger, mirror, claims } = tools;
  const file = entry.mirrored?.file ?? "";
  if (file) {
    for (const own of ownFiles(entry, tools)) await mirror.remove(own);
    claims.release(itemId, file);
    job.log(`Removed '${entry.mirrored?.serverPath}': ${reason}.`);
  }
  ledger.put(itemId, stillListed ? { mirrored: null } : { mirrored: null, seen: null });
  await ledger.flushNowAndThen();
}

/** An original that others share stays. One of its own, as a page has it, goes with its document. */
function ownFiles({ itemId, mirrored }: LedgerEntry, { mirror, converter }: ApplyTools): string[] {
  if (!mirrored) return [];
  const { file, listItemId, name } = mirrored;
  const path = mirror.relativePath(file);
  const isOwn = converter?.documentPath({ itemId, listItemId, name }, path) === path;
  if (isOwn) return [...new Set([mirror.originalFile(path), mirror.embeddedFile(path), file])];
  return mirror.isOriginal(file) ? [] : [file];
}

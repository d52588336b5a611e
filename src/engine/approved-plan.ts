import type { Domain } from "../contracts/domain.ts";
import { NotFoundError } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledgers } from "../contracts/ledger.ts";
import type { Plan, PlanDraft, PlannedItem } from "../contracts/plan.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { plural } from "../lib/plural.ts";
import type { CrawlRequest, StepCounts } from "./crawl-request.ts";
import type { PlanSize } from "./download.ts";
import type { IndexPlan } from "./plan-index.ts";
import { TOUCHED } from "./planned-changes.ts";

/** The plan that a run makes; and the one that somebody approved, outside of which it does nothing. */
export interface RunPlan {
  readonly plan: PlanDraft;
  readonly approved: Plan | undefined;
}

/** A dry run stores its plan where an id is given; a run keeps to the one of that id, which has nothing of a source that it does not know. */
export async function openRunPlan(
  run: SourceRun,
  { planId }: CrawlRequest,
  { ledgers }: { readonly ledgers: Ledgers },
  { dryRun }: Pick<JobContext, "dryRun">,
): Promise<RunPlan> {
  if (planId === undefined) return { plan: ledgers.openPlan(), approved: undefined };
  if (dryRun) return { plan: await ledgers.storePlan(run, planId), approved: undefined };
  return { plan: ledgers.openPlan(), approved: (await ledgers.findPlan(run, planId)) ?? ledgers.openPlan() };
}

/** NotFoundError when no source of the domain has such a plan. */
export async function requirePlan(
  { domainId, sources }: Domain,
  { planId }: CrawlRequest,
  { ledgers }: { readonly ledgers: Ledgers },
): Promise<void> {
  if (planId === undefined) return;
  for (const config of sources) if (await ledgers.findPlan({ domainId, config }, planId)) return;
  throw new NotFoundError(`Domain '${domainId}' has no plan '${planId}'. A dry run stores one.`);
}

/**
 * What the approved plan does not have, or has otherwise, is left alone: it stays as if it had not been listed. Returns how many
 * that are.
 */
export async function keepToPlan(
  approved: Plan,
  { draft, size, counts }: { readonly draft: PlanDraft; readonly size: PlanSize; readonly counts: StepCounts },
  job: JobContext,
): Promise<number> {
  let left = 0;
  for await (const page of draft.items("download", [...TOUCHED, "returned"])) {
    await job.checkpoint();
    const planned = await approved.find("download", idsOf(page));
    const added = await approved.findNew(newPaths(page));
    for (const item of page) {
      const same = planned.get(item.itemId) ?? added.get(item.sighting?.path ?? "");
      if (isSame(item, same)) continue;
      left += 1;
      leaveOut(item, size, counts);
      draft.replace({ ...item, change: "kept", told: undefined, strayedTo: undefined });
      job.log(`Not as planned, so it is left alone: ${sayItem(item)}.`);
    }
  }
  for await (const page of approved.items("download", TOUCHED)) {
    const now = await draft.find("download", idsOf(page));
    const added = await draft.findNew(newPaths(page));
    for (const item of page) {
      if (!now.has(item.itemId) && !added.has(item.sighting?.path ?? ""))
        job.log(`Planned, and not to be done any more: ${sayItem(item)}.`);
    }
  }
  if (left > 0) job.log(`WARNING: ${plural(left, "change is", "changes are")} not in the plan. Make a new one.`);
  return left;
}

function idsOf(page: readonly PlannedItem[]) {
  return page.map(({ itemId }) => itemId);
}

function newPaths(page: readonly PlannedItem[]): string[] {
  return page.flatMap(({ change, sighting }) => (change === "added" && sighting ? [sighting.path] : []));
}

/** The source still says of it what it said then. A date that is only shown may be the time of the look. */
function isSame(now: PlannedItem, planned: PlannedItem | undefined): boolean {
  const said = ({ change, sighting, strayedTo }: PlannedItem): string => {
    const { serverPath, fingerprint, contentHash, dateIsLabel } = sighting ?? {};
    const declared = dateIsLabel ? { ...fingerprint, modifiedAt: "" } : fingerprint;
    return JSON.stringify([change, serverPath, declared, contentHash, strayedTo]);
  };
  return planned !== undefined && said(now) === said(planned);
}

function leaveOut({ change, anomaly, strayedTo }: PlannedItem, size: PlanSize, counts: StepCounts): void {
  size.staying += 1;
  if (strayedTo) size.strayed -= 1;
  if (change === "removed" || change === "moved") size[change] -= 1;
  if (change === "added" || change === "changed") size.fetched -= 1;
  if (anomaly && (change === "added" || change === "changed")) size.healed = Math.max(0, size.healed - 1);
  if (change !== "returned" && change !== "kept") counts[change] -= 1;
  if (change !== "returned") counts.skipped += 1;
}

function sayItem({ itemId, sighting, told, reason }: PlannedItem): string {
  return `'${told?.path ?? sighting?.path ?? itemId}': ${reason}`;
}

/**
 * Likewise for the index. What was approved to be fetched is approved to be embedded, and that the index holds something already needs no
 * approval. Returns how many are left out.
 */
export async function keepIndexToPlan(
  approved: Plan,
  { plan, counts }: { readonly plan: IndexPlan; readonly counts: StepCounts },
  done: Plan,
): Promise<number> {
  const { put, revive, relabel, remove } = plan;
  const planned = await approved.find("embed", [...put.keys(), ...relabel, ...remove]);
  const fetched = await done.find("download", [...put.keys()]);
  const isPut = (change?: PlannedItem["change"]): boolean => change === "added" || change === "changed";
  let left = 0;
  const leave = (kind: keyof StepCounts): void => {
    counts[kind] -= 1;
    counts.skipped += 1;
    left += 1;
  };
  for (const [itemId, kind] of put) {
    if (isPut(planned.get(itemId)?.change) || isPut(fetched.get(itemId)?.change)) continue;
    put.delete(itemId);
    leave(kind);
  }
  for (const itemId of revive.splice(0)) if (put.has(itemId)) revive.push(itemId);
  for (const itemId of relabel.splice(0)) {
    const change = planned.get(itemId)?.change;
    if (change === "moved" || isPut(change)) relabel.push(itemId);
    else leave("moved");
  }
  for (const itemId of remove.splice(0)) {
    if (planned.get(itemId)?.change === "removed") remove.push(itemId);
    else leave("removed");
  }
  return left;
}

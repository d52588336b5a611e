import type { Domain } from "../contracts/domain.ts";
import { ConflictError, NotFoundError } from "../contracts/errors.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { LedgerEntry, Ledgers } from "../contracts/ledger.ts";
import type { Plan, PlanDraft, PlannedItem, PlanStep } from "../contracts/plan.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { plural } from "../lib/text.ts";
import { judgeFile } from "../plan/judge.ts";
import type { CrawlRequest, StepCounts } from "./crawl-request.ts";
import type { PlanSize } from "./make-plan.ts";
import { isTouched, TOUCHED } from "./planned-changes.ts";

/** The plan that a run makes; and what somebody approved, outside of which it does nothing. */
interface RunPlan {
  readonly plan: PlanDraft;
  readonly approval: Approval | undefined;
}

/** A dry run stores its plan where an id is given; a run keeps to the one of that id, which has nothing of a source that it does not know. */
export async function openRunPlan(
  run: SourceRun,
  { planId }: CrawlRequest,
  { ledgers }: { readonly ledgers: Ledgers },
  { dryRun }: Pick<JobContext, "dryRun">,
): Promise<RunPlan> {
  if (planId === undefined) return { plan: ledgers.openPlan(), approval: undefined };
  if (dryRun) return { plan: await ledgers.storePlan(run, planId), approval: undefined };
  const approved = (await ledgers.findPlan(run, planId)) ?? ledgers.openPlan();
  return { plan: ledgers.openPlan(), approval: new Approval(approved) };
}

/** A dry run begins its plan anew; another run is refused one that is not there, or that nobody could see as a whole. */
export async function preparePlan(
  { domainId }: Domain,
  { planId }: CrawlRequest,
  { ledgers }: { readonly ledgers: Ledgers },
  { dryRun }: Pick<JobContext, "dryRun">,
): Promise<void> {
  if (planId === undefined) return;
  if (dryRun) return await ledgers.dropPlan(domainId, planId);
  const state = await ledgers.planState(domainId, planId);
  if (state === "none") throw new NotFoundError(`Domain '${domainId}' has no plan '${planId}'. A dry run stores one.`);
  if (state === "incomplete") {
    throw new ConflictError(
      `Plan '${planId}' of domain '${domainId}' is incomplete: its dry run has not come to its end. Make a new one.`,
    );
  }
}

/** What a step is about to do with an item. */
interface Intent extends Omit<PlannedItem, "step" | "told"> {
  /** For people. */
  readonly path: string;
  /** As the ledger has it now; a later step than the download goes by it. */
  readonly entry?: LedgerEntry | undefined;
}

/** What a plan that has this change of an item allows to be done with it. */
const ALLOWED: Partial<Record<PlannedItem["change"], readonly PlannedItem["change"][]>> = {
  added: ["added", "changed", "moved"],
  changed: ["added", "changed", "moved"],
  moved: ["moved"],
  removed: ["removed"],
};

/** Steps whose rows allow something to be done in this one. */
const UP_TO = { download: [], process: ["process"], embed: ["process", "embed"] } as const;

/** What the plan has of one item: its download, and the steps after it. */
interface Rows {
  readonly download: PlannedItem | undefined;
  readonly later: readonly PlannedItem[];
}

/** A plan that somebody approved. */
export class Approval {
  readonly #plan: Plan;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  /** The items that may not be done. The log names each with its step and what was to be done: they stay as they are. */
  async leaveOut(
    step: PlanStep,
    intents: readonly Intent[],
    job: Pick<JobContext, "log">,
  ): Promise<ReadonlySet<ItemId>> {
    const left = new Set<ItemId>();
    const rowsOf = await this.#read(step, intents);
    for (const intent of intents) {
      if (allows(step, intent, rowsOf(intent))) continue;
      left.add(intent.itemId);
      job.log(`Not as planned, so it is left alone: '${intent.path}', ${step}: ${intent.reason}.`);
    }
    return left;
  }

  /** Names what the download was to do, and has no reason to do now. */
  async nameUndone(plan: Plan, job: JobContext): Promise<void> {
    for await (const page of this.#plan.items("download", TOUCHED)) {
      await job.checkpoint();
      const now = await plan.find(
        "download",
        page.map(({ itemId }) => itemId),
      );
      const added = await plan.findNew(page.flatMap(({ sighting }) => sighting?.path ?? []));
      for (const item of page) {
        if (now.has(item.itemId) || added.has(item.sighting?.path ?? "")) continue;
        job.log(`Planned, and not to be done any more: '${pathOf(item)}': ${item.reason}.`);
      }
    }
  }

  /** New items of trees have another id in every look until one is remembered, and are found by their path. */
  async #read(step: PlanStep, intents: readonly Intent[]): Promise<(intent: Intent) => Rows> {
    const ids = intents.map(({ itemId }) => itemId);
    const downloads = await this.#plan.find("download", ids);
    const added = await this.#plan.findNew(intents.map(placeOf));
    const later = await Promise.all(UP_TO[step].map((one) => this.#plan.find(one, ids)));
    return (intent) => ({
      download: downloads.get(intent.itemId) ?? added.get(placeOf(intent)),
      later: later.flatMap((rows) => rows.get(intent.itemId) ?? []),
    });
  }
}

/**
 * The one rule. The download does what is still as planned. A later step may go on with an item when the mirror has what the planned download was to
 * bring, and does with it what follows from that, or what the plan has of its own step or one before. Where the plan has no download of it, only the latter.
 */
function allows(step: PlanStep, intent: Intent, { download, later }: Rows): boolean {
  if (step === "download") return download !== undefined && isSame(intent, download);
  const fetched = isTouched(download) ? download : undefined;
  if (fetched && !isDone(fetched, intent.entry)) return false;
  return [...later, ...(fetched ? [fetched] : [])].some(({ change }) => ALLOWED[change]?.includes(intent.change));
}

/** The source still says of it what it said then. A date that is only shown may be the time of the look. */
function isSame(now: Intent, planned: PlannedItem): boolean {
  const said = ({ change, sighting, strayedTo }: Omit<PlannedItem, "step">): string => {
    const { serverPath, fingerprint, contentHash, dateIsLabel } = sighting ?? {};
    const declared = dateIsLabel ? { ...fingerprint, modifiedAt: "" } : fingerprint;
    return JSON.stringify([change, serverPath, declared, contentHash, strayedTo]);
  };
  return said(now) === said(planned);
}

/** The mirror has it as the plan wants it, whoever brought it there. */
function isDone({ sighting }: PlannedItem, entry: LedgerEntry | undefined): boolean {
  const mirrored = entry?.mirrored;
  if (!sighting || !mirrored) return !sighting && !mirrored;
  const { observed, fingerprint } = mirrored;
  const disk = () => observed ?? { size: fingerprint.size, mtimeMs: 0 };
  return judgeFile(sighting, entry, disk, { mode: "incremental" }).kind === "unchanged";
}

/** Below the source's root. */
function placeOf({ sighting, entry }: Intent): string {
  return sighting?.path ?? entry?.mirrored?.serverPath.replace(/^\//, "") ?? "";
}

function pathOf({ itemId, sighting, told }: PlannedItem): string {
  return told?.path ?? sighting?.path ?? itemId;
}

/** What is not approved stays as if it had not been listed. Returns how many that are. */
export async function keepToPlan(
  approval: Approval,
  { plan, size, counts }: { readonly plan: PlanDraft; readonly size: PlanSize; readonly counts: StepCounts },
  job: JobContext,
): Promise<number> {
  let left = 0;
  for await (const page of plan.items("download", [...TOUCHED, "returned"])) {
    await job.checkpoint();
    const intents = page.map((item) => ({ ...item, path: pathOf(item) }));
    const unapproved = await approval.leaveOut("download", intents, job);
    for (const item of page) {
      if (!unapproved.has(item.itemId)) continue;
      leaveAlone(item, size, counts);
      plan.replace({ ...item, change: "kept", told: undefined, strayedTo: undefined });
    }
    left += unapproved.size;
  }
  await approval.nameUndone(plan, job);
  if (left > 0) job.log(`WARNING: ${plural(left, "change is", "changes are")} not in the plan. Make a new one.`);
  return left;
}

function leaveAlone({ change, anomaly, strayedTo }: PlannedItem, size: PlanSize, counts: StepCounts): void {
  size.staying += 1;
  if (strayedTo) size.strayed -= 1;
  if (change === "removed" || change === "moved") size[change] -= 1;
  if (change === "added" || change === "changed") size.fetched -= 1;
  if (anomaly && (change === "added" || change === "changed")) size.healed = Math.max(0, size.healed - 1);
  if (change !== "returned" && change !== "kept") counts[change] -= 1;
  if (change !== "returned") counts.skipped += 1;
}

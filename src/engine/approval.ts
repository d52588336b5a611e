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

/** The plan that a run makes, and the approved plan that limits it. */
interface RunPlan {
  readonly plan: PlanDraft;
  readonly approval: Approval | undefined;
}

/**
 * A dry run with a plan id stores its plan; a run with a plan id only does what that plan has. The plan is empty for a
 * source it does not have.
 */
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

/** A dry run drops the plan of that id first. A run throws if the plan does not exist or is incomplete. */
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
      `Plan '${planId}' of domain '${domainId}' is incomplete: its dry run did not finish. Make a new one.`,
    );
  }
}

/** What a step is about to do with an item. */
interface Intent extends Omit<PlannedItem, "step" | "told"> {
  /** Shown in logs. */
  readonly path: string;
  /** The current ledger entry; needed by the steps after the download. */
  readonly entry?: LedgerEntry | undefined;
}

/** Which changes an approved change of an item allows. */
const ALLOWED: Partial<Record<PlannedItem["change"], readonly PlannedItem["change"][]>> = {
  added: ["added", "changed", "moved"],
  changed: ["added", "changed", "moved"],
  moved: ["moved"],
  removed: ["removed"],
};

/** The steps whose planned rows allow a change in this step. */
const UP_TO = { download: [], process: ["process"], embed: ["process", "embed"] } as const;

/** The planned rows of one item: its download, and the later steps. */
interface Rows {
  readonly download: PlannedItem | undefined;
  readonly later: readonly PlannedItem[];
}

/** An approved plan. */
export class Approval {
  readonly #plan: Plan;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  /** Returns the items whose change is not approved, and logs each with step and reason. They stay as they are. */
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
      job.log(`Not in the approved plan, so it is left unchanged: '${intent.path}', ${step}: ${intent.reason}.`);
    }
    return left;
  }

  /** Logs approved downloads that are no longer needed. */
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
        job.log(`Planned, but no longer needed: '${pathOf(item)}': ${item.reason}.`);
      }
    }
  }

  /** New items of trees get another id in every run until one is stored, so they are found by path. */
  async #read(step: PlanStep, intents: readonly Intent[]): Promise<(intent: Intent) => Rows> {
    const ids = intents.map(({ itemId }) => itemId);
    const downloads = await this.#plan.find("download", ids);
    const added = await this.#plan.findNew(intents.map(sourcePath));
    const later = await Promise.all(UP_TO[step].map((planned) => this.#plan.find(planned, ids)));
    return (intent) => ({
      download: downloads.get(intent.itemId) ?? added.get(sourcePath(intent)),
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

/**
 * Whether the source still says what it said when the plan was made. A date that is only a label is ignored: it may be
 * the time of the visit.
 */
function isSame(now: Intent, planned: PlannedItem): boolean {
  const said = ({ change, sighting, strayedTo }: Omit<PlannedItem, "step">): string => {
    const { serverPath, fingerprint, contentHash, dateIsLabel } = sighting ?? {};
    const declared = dateIsLabel ? { ...fingerprint, modifiedAt: "" } : fingerprint;
    return JSON.stringify([change, serverPath, declared, contentHash, strayedTo]);
  };
  return said(now) === said(planned);
}

/** Whether the mirror has the item as the plan wants it, whichever run did that. */
function isDone({ sighting }: PlannedItem, entry: LedgerEntry | undefined): boolean {
  const mirrored = entry?.mirrored;
  if (!sighting || !mirrored) return !sighting && !mirrored;
  const { observed, fingerprint } = mirrored;
  const disk = () => observed ?? { size: fingerprint.size, mtimeMs: 0 };
  return judgeFile(sighting, entry, disk, { mode: "incremental" }).kind === "unchanged";
}

/** The path below the source's root. */
function sourcePath({ sighting, entry }: Intent): string {
  return sighting?.path ?? entry?.mirrored?.serverPath.replace(/^\//, "") ?? "";
}

function pathOf({ itemId, sighting, told }: PlannedItem): string {
  return told?.path ?? sighting?.path ?? itemId;
}

/** Leaves out unapproved changes, as if they had not been listed; returns how many. */
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

import { type Domain, isSameSource, type SourceConfig } from "../contracts/domain.ts";
import { ConflictError, NotFoundError } from "../contracts/errors.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger, LedgerEntry, Ledgers } from "../contracts/ledger.ts";
import type { Plan, PlanDraft, PlannedItem, PlanStep, StoredPlan } from "../contracts/plan.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { retiredConfig } from "../domains/source-codec.ts";
import { plural } from "../lib/text.ts";
import { judgeFile } from "../plan/judge.ts";
import type { CrawlRequest, Deviation, KeptToPlan, SourceResult, StepCounts } from "./crawl-request.ts";
import type { EngineParts } from "./engine-parts.ts";
import { encodePlanRequest } from "./plan-file.ts";
import { isTouched, type PlanSize, TOUCHED } from "./planned-changes.ts";
import type { DomainCrawl } from "./run-context.ts";
import { digestPolicy } from "./scan-source.ts";

/** The plan that a run makes, and the approved plan that limits it. */
interface RunPlan {
  readonly plan: PlanDraft;
  readonly approval: Approval | undefined;
}

type PlanParts = Pick<EngineParts, "ledgers" | "acceptedTypes" | "maxFileBytes">;

/** Drops what does not apply: only a dry run stores its plan, and only a real run is strict. */
export function requestOf(asked: CrawlRequest, { dryRun }: Pick<JobContext, "dryRun">): CrawlRequest {
  const { storePlan, ...request } = asked;
  return dryRun ? { ...asked, strict: false } : request;
}

/** Opens the plan of a source. The approved one is empty for a source that it does not have. */
export async function openRunPlan(
  { domainId, config }: SourceRun,
  { storePlan, approvedPlan, strict = false }: CrawlRequest,
  parts: PlanParts,
): Promise<RunPlan> {
  const { ledgers } = parts;
  const key = { domainId, sourceType: config.sourceType, sourceId: config.sourceId };
  const plan =
    storePlan !== undefined
      ? await ledgers.plans.write({ ...key, planId: storePlan }, digestPolicy(config, parts))
      : ledgers.openPlan();
  if (approvedPlan === undefined) return { plan, approval: undefined };
  const approved = (await ledgers.plans.read({ ...key, planId: approvedPlan })) ?? ledgers.openPlan();
  return { plan, approval: new Approval(approved, { strict }) };
}

/**
 * A dry run begins the plan that it is to store. Returns the approved plan; throws if it does not exist, is incomplete,
 * or is of another domain.
 */
export async function preparePlan(
  { domainId }: Domain,
  request: CrawlRequest,
  { ledgers }: { readonly ledgers: Ledgers },
): Promise<StoredPlan | undefined> {
  const { storePlan, approvedPlan } = request;
  if (storePlan !== undefined) {
    await ledgers.plans.begin({ planId: storePlan, domainId, request: encodePlanRequest(request) });
  }
  if (approvedPlan === undefined) return undefined;
  const plan = await findCompletePlan(approvedPlan, ledgers);
  if (plan.domainId === domainId) return plan;
  throw new ConflictError(`Plan '${approvedPlan}' is of domain '${plan.domainId}', not of '${domainId}'.`);
}

export async function findPlan(planId: string, { plans }: Pick<Ledgers, "plans">): Promise<StoredPlan> {
  const plan = await plans.find(planId);
  if (plan) return plan;
  throw new NotFoundError(`There is no plan '${planId}'. A dry run stores one; maintenance removes it after a while.`);
}

/** Also throws if a run must not keep to it. */
export async function findCompletePlan(planId: string, ledgers: Pick<Ledgers, "plans">): Promise<StoredPlan> {
  const plan = await findPlan(planId, ledgers);
  if (plan.completedAt !== "") return plan;
  throw new ConflictError(
    `Plan '${planId}' of domain '${plan.domainId}' is incomplete: its dry run is running, or did not finish. Make a new one.`,
  );
}

/**
 * Returns the sources to crawl: with an approved plan, those that it has and whose settings are the same. What the plan
 * says of others was judged by other rules, or is nothing.
 */
export function sourcesInPlan(
  configs: readonly SourceConfig[],
  { approved, domain, job, problems }: Pick<DomainCrawl, "approved" | "domain" | "job" | "problems">,
  parts: PlanParts,
): readonly SourceConfig[] {
  if (!approved) return configs;
  return configs.filter((config) => {
    const planned = approved.sources.find((one) => isSameSource(one, config));
    if (!planned) job.log(`Source '${config.sourceId}' is not in the plan, so it is left alone.`);
    else if (planned.policy === digestPolicy(config, parts)) return true;
    else if (domain.sources.includes(config)) problems.push(sayEdited(config));
    return false;
  });
}

function sayEdited({ sourceId }: SourceConfig): string {
  return `The settings of source '${sourceId}', or what is accepted of it, changed since the plan was made, so nothing of it was done. Make a new plan.`;
}

/** Notes the planned sources that left the domain since. One that had left before is gone now, as planned. */
export function noteMissingSources(
  crawled: readonly SourceResult[],
  { approved, domain, problems }: Pick<DomainCrawl, "approved" | "domain" | "problems">,
  parts: PlanParts & Pick<EngineParts, "domains">,
): void {
  for (const planned of approved?.sources ?? []) {
    const { sourceType, sourceId, policy } = planned;
    const isCrawled = crawled.some((one) => one.source_type === sourceType && one.source_id === sourceId);
    if (isCrawled || domain.sources.some((one) => isSameSource(one, planned))) continue;
    const kind = parts.domains.kinds.find(sourceType);
    if (kind && digestPolicy(retiredConfig(kind, sourceId), parts) === policy) continue;
    problems.push(`Source '${sourceId}' is not in the domain any more, so nothing of it was done. Make a new plan.`);
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

/** As many as a result names. */
const MAX_NAMED = 500;

/** An approved plan, and what a run finds that is not as planned. */
export class Approval {
  readonly #plan: Plan;
  /** The source is left alone if anything of it is not as planned. */
  readonly strict: boolean;
  readonly #deviations: Deviation[] = [];
  #deviationCount = 0;
  #doneBefore = 0;
  /** Documents that the plan has, and this run still has to do with. */
  #plannedDocuments = 0;

  constructor(plan: Plan, { strict }: { readonly strict: boolean }) {
    this.#plan = plan;
    this.strict = strict;
  }

  result(): KeptToPlan {
    const [not_as_planned, more] = [this.#deviations, this.#deviationCount - this.#deviations.length];
    return { not_as_planned, not_as_planned_more: more, done_before: this.#doneBefore };
  }

  /** Returns the items whose change is not approved, and logs each with step and reason. They stay as they are. */
  async leaveOut(
    step: PlanStep,
    intents: readonly Intent[],
    job: Pick<JobContext, "log">,
  ): Promise<ReadonlySet<ItemId>> {
    const unapproved = new Set<ItemId>();
    const rowsOf = await this.#read(step, intents);
    for (const intent of intents) {
      const rows = rowsOf(intent);
      if (step === "embed" && rows.later.some((row) => row.step === step && isTouched(row)))
        this.#plannedDocuments += 1;
      if (allows(step, intent, rows)) continue;
      unapproved.add(intent.itemId);
      const { path, reason } = intent;
      job.log(`Not in the approved plan, so it is left unchanged: '${path}', ${step}: ${reason}.`);
      this.#note({ step, path, reason });
    }
    return unapproved;
  }

  /** Notes and logs approved downloads that are no longer needed or possible; counts those that were done before. */
  async nameUndone(plan: Plan, ledger: Ledger, job: JobContext): Promise<void> {
    let doneBefore = 0;
    for await (const page of this.#plan.items("download", TOUCHED)) {
      await job.checkpoint();
      const ids = page.map(({ itemId }) => itemId);
      const paths = page.flatMap(({ sighting }) => sighting?.path ?? []);
      const [now, added] = await Promise.all([plan.find("download", ids), plan.findNew(paths)]);
      const undone = page.filter(({ itemId, sighting }) => {
        return !isTouched(now.get(itemId)) && !added.has(sighting?.path ?? "");
      });
      const entries = undone.length > 0 ? await entriesOf(undone, ledger) : [];
      for (const [at, item] of undone.entries()) {
        const judged = now.get(item.itemId);
        const isUnchanged = judged === undefined || judged.change === "returned";
        if (isUnchanged && isDone(item, entries[at])) {
          doneBefore += 1;
          continue;
        }
        const path = pathOf(item);
        const [outcome, why] = isUnchanged
          ? ["no longer needed", item.reason]
          : [`now ${judged.change}`, judged.reason];
        job.log(`Planned, but ${outcome}: '${path}': ${why}.`);
        this.#note({ step: "download", path, reason: `planned, but ${outcome}: ${why}` });
      }
    }
    this.#noteDone(doneBefore, job);
  }

  /** For a run without a download: counts approved documents that are as planned already. Call it when all were judged. */
  async noteDoneDocuments(job: JobContext): Promise<void> {
    let planned = 0;
    for await (const page of this.#plan.items("embed", TOUCHED)) planned += page.length;
    this.#noteDone(planned - this.#plannedDocuments, job);
  }

  #noteDone(count: number, job: JobContext): void {
    this.#doneBefore += count;
    if (count > 0) job.log(`${plural(count, "planned change was", "planned changes were")} done before.`);
  }

  #note(change: Deviation): void {
    this.#deviationCount += 1;
    if (this.#deviations.length < MAX_NAMED) this.#deviations.push(change);
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
 * Whether the approved plan allows a change. Download: the plan has the same change, and the source is as it was. Later steps: the plan has a
 * change of this item in this step, or in an earlier one, that implies it; a planned download must have been done.
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
  const said = ({ change, sighting, strayedTo = "" }: Omit<PlannedItem, "step">): string => {
    const { serverPath, fingerprint, contentHash = "", dateIsLabel } = sighting ?? {};
    const { size, modifiedAt, etag, contentVersion } = fingerprint ?? {};
    const date = dateIsLabel ? "" : modifiedAt;
    return JSON.stringify([change, strayedTo, serverPath, size, date, etag, contentVersion, contentHash]);
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

/** In the order of the items. A new item of a tree has another id than in the plan, so it is found by its path. */
async function entriesOf(items: readonly PlannedItem[], ledger: Ledger): Promise<readonly (LedgerEntry | undefined)[]> {
  const present = await ledger.manifest.knownAt(
    items.flatMap(({ change, sighting }) => (change === "added" && sighting ? [sighting.path] : [])),
  );
  return await ledger.getMany(
    items.map(({ itemId, change, sighting }) => {
      return (change === "added" && present.get(sighting?.path ?? "")?.docId) || itemId;
    }),
  );
}

function pathOf({ itemId, sighting, told }: PlannedItem): string {
  return told?.path ?? sighting?.path ?? itemId;
}

/** Leaves out unapproved changes, as if they had not been listed; returns how many. A strict one throws instead. */
export async function keepToPlan(
  approval: Approval,
  { plan, size, counts }: { readonly plan: PlanDraft; readonly size: PlanSize; readonly counts: StepCounts },
  ledger: Ledger,
  job: JobContext,
): Promise<number> {
  await approval.nameUndone(plan, ledger, job);
  let count = 0;
  for await (const page of plan.items("download", [...TOUCHED, "returned"])) {
    await job.checkpoint();
    const intents = page.map((item) => ({ ...item, path: pathOf(item) }));
    const unapproved = await approval.leaveOut("download", intents, job);
    for (const item of page) {
      if (!unapproved.has(item.itemId)) continue;
      leaveAlone(item, size, counts);
      plan.replace({ ...item, change: "kept", told: undefined, strayedTo: undefined });
    }
    count += unapproved.size;
  }
  const { not_as_planned, not_as_planned_more } = approval.result();
  const moved = not_as_planned.length + not_as_planned_more;
  if (approval.strict && moved > 0) throw new ConflictError(sayMoved(moved));
  if (count > 0) job.log(`WARNING: ${plural(count, "change is", "changes are")} not in the plan. Make a new one.`);
  return count;
}

/** Why a strict run did nothing. */
export function sayMoved(count: number): string {
  return `${plural(count, "change is", "changes are")} not as planned (the log names them), so nothing was done, as strict asks for. Make a new plan, or apply this one without strict.`;
}

function leaveAlone({ change, anomaly, strayedTo }: PlannedItem, size: PlanSize, counts: StepCounts): void {
  size.staying += 1;
  if (strayedTo) size.strayed -= 1;
  if (change === "removed" || change === "moved") size[change] -= 1;
  if (change === "added" || change === "changed") size.fetched -= 1;
  if (anomaly && (change === "added" || change === "changed")) size.healed = Math.max(0, size.healed - 1);
  if (change !== "returned" && change !== "kept" && change !== "adopted") counts[change] -= 1;
  if (change !== "returned") counts.skipped += 1;
}

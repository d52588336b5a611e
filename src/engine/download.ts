import type { Converter } from "../contracts/converter.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Plan, PlanDraft } from "../contracts/plan.ts";
import type { LookOutcome, Source, Unreadable } from "../contracts/source.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { plural } from "../lib/plural.ts";
import type { FilesOnDisk } from "../mirror/files-on-disk.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { Detected } from "../plan/detect-changes.ts";
import { applyPlan } from "./apply-plan.ts";
import type { Approval } from "./approval.ts";
import { PARTS } from "./check-hashes.ts";
import type { CrawlRequest, StepCounts } from "./crawl-request.ts";
import type { EngineParts } from "./engine-parts.ts";
import { makePlan } from "./make-plan.ts";
import { STAYING } from "./planned-changes.ts";
import { returnMisplaced } from "./return-misplaced.ts";
import { type News, type View, viewSource } from "./scan-source.ts";
import { HOW_TO_CONFIRM, noCounts, silently, sumUp } from "./tally.ts";
import { compareMirror, verifyMirror } from "./verify.ts";

interface Downloaded {
  readonly counts: StepCounts;
  readonly look: SourceLook;
  /** One sentence each: an incomplete look, held removals, failed items. */
  readonly problems: readonly string[];
}

/** What the download learnt about the source, for the steps that follow. */
export interface SourceLook {
  readonly complete: boolean;
  /** Complete, all of it readable, and believed: only then is what we have no record of gone. */
  readonly sawAll: boolean;
  readonly listed: number;
  /** Rows that the source counts and does not show. */
  readonly hiddenRows: number;
  /** What was, or in a dry run would be, done to the mirror. */
  readonly plan: Plan;
}

/** What is to be done with one source. */
export interface DownloadPlan {
  /** The judged items. Unchanged ones are not in it. */
  readonly items: Plan;
  readonly size: PlanSize;
  readonly detected: Detected;
  /** The mirror; it goes along with what is done to it. */
  readonly disk: FilesOnDisk;
  /** How many files were met in it whose items need nothing. */
  readonly found: number;
  /** Files that were due were read and hashed, and how many. */
  readonly isHashed: boolean;
  readonly hashed: number;
  readonly startedAtMs: number;
  /** Only this was judged. */
  readonly news: News | undefined;
  /** How many changes are left alone since they are not in the approved plan; undefined: whatever is judged may be done. */
  readonly left: number | undefined;
}

/** How many items there are of each sort. */
export interface PlanSize {
  removed: number;
  moved: number;
  fetched: number;
  /** Left as they are: not listed and yet not removed, or not approved. */
  staying: number;
  /** Their file goes back to its place in the mirror, whatever else is done to it. */
  strayed: number;
  /** Fetched because our own copy is not what it should be. Rows of a list share their export: lost, it is one thing that was missing. */
  healed: number;
}

export interface DownloadTools {
  readonly source: Source;
  readonly ledger: Ledger;
  readonly mirror: Mirror;
  readonly converter: Converter | undefined;
}

export type DownloadSetting = DownloadTools & {
  readonly draft: PlanDraft;
  readonly approval: Approval | undefined;
};

/** list ▶ detect ▶ plan ▶ fetch ▶ mirror, for one source. Throws when the source cannot be listed at all. */
export async function download(
  run: SourceRun,
  request: CrawlRequest,
  setting: DownloadSetting,
  parts: EngineParts,
  job: JobContext,
): Promise<Downloaded> {
  const view = await viewSource(run, request, setting, parts, job);
  const counts = noCounts();
  const plan = await makePlan(view, { run, request, setting, parts, job, counts });
  const hiddenRows = countHidden(view, setting.source);
  const problems = planProblems(plan.detected, counts);
  const { removed, moved, fetched, staying, strayed } = plan.size;
  const isIdle = removed + moved + fetched + staying + strayed === 0;
  const before = isIdle ? await compareMirror(plan, setting) : undefined;
  const isQuiet = view.isNext && problems.length + (before ? before.missing.length + before.orphans.length : 1) === 0;
  const by = !run.config.kind.abilities.hasIds ? " by what changed since the last look" : " by the change log";
  const how = view.looking.by === "feed" ? by : "";
  job.log(
    isQuiet
      ? `Nothing changed since the last look, neither at the source nor in the mirror: ${sumUp(counts)}.`
      : `Listed ${plural(plan.detected.listed, "item")}${how}: ${sumUp(counts)}.`,
  );
  sayHidden(hiddenRows, job);
  if (plan.detected.unreadable.length > NAMED) nameUnreadable(plan.detected, job);
  for (const problem of problems) job.log(`WARNING: ${problem}`);
  const returned = await returnMisplaced(plan, setting, job);
  const look = lookOf(plan, hiddenRows);
  const applying = { ...setting, retryBatches: request.retryBatches };
  const { stuck } = await applyPlan(plan, applying, silently(job), counts);
  if (setting.source.conclude) await setting.source.conclude(await outcomeOf(plan, setting.ledger));
  await verifyMirror(plan, { ...setting, returned, before }, job, counts);
  if (counts.failed > 0)
    problems.push(`${plural(counts.failed, "item")} could not be brought up to date on disk; the next run tries again`);
  // An incomplete look teaches nothing that a later one could build on.
  if (plan.detected.completeness === "complete" && plan.detected.unreadable.length === 0) {
    const { owed, next } = view.rotation;
    // What was found to be altered and is left alone is to be found again.
    const rotation =
      plan.isHashed && !plan.left
        ? { hashesOwed: 0, nextHashes: (next + owed) % PARTS }
        : { hashesOwed: owed, nextHashes: next };
    // The feed tells only once that something happened. Until it has left, a listing is to miss it again.
    const mark = stuck + counts.held + (plan.left ?? 0) > 0 ? "" : view.memory.mark;
    setting.ledger.noteListing({ ...view.memory, mark, hiddenRows, ...rotation });
  }
  return { counts, look, problems };
}

/** As the listing found it; where only the changes were asked for, as the last listing did. */
function countHidden({ looking, memory }: View, source: Source): number {
  return (looking.by === "listing" ? source.hiddenRows?.() : memory.hiddenRows) ?? 0;
}

function sayHidden(rows: number, job: JobContext): void {
  if (rows === 0) return;
  job.log(
    `The source counts ${plural(rows, "row")} that ${rows === 1 ? "is" : "are"} not shown to the app. ${HIDDEN_ROWS}`,
  );
}

const HIDDEN_ROWS =
  "They are checked out and were never checked in, are drafts, wait for approval, or have rights of their own: check them in, publish or approve them, or give the app access to them, and they can be found.";

/** What could not be removed still has its entry. */
async function outcomeOf({ detected, items }: DownloadPlan, ledger: Ledger): Promise<LookOutcome> {
  const stillHeld = new Set<ItemId>();
  for await (const page of items.items("download", STAYING)) for (const { itemId } of page) stillHeld.add(itemId);
  for await (const page of items.items("download", ["removed"])) {
    const entries = await ledger.getMany(page.map(({ itemId }) => itemId));
    for (const entry of entries) if (entry?.mirrored) stillHeld.add(entry.itemId);
  }
  return { complete: detected.completeness === "complete", stillHeld };
}

function lookOf({ detected, items, left = 0 }: DownloadPlan, hiddenRows: number): SourceLook {
  const complete = detected.completeness === "complete";
  const sawAll = complete && detected.unreadable.length === 0 && detected.heldBecause === "" && left === 0;
  return { complete, sawAll, listed: detected.listed, hiddenRows, plan: items };
}

/** A site in trouble has thousands of them; the log names every one. */
const NAMED = 10;

function sayUnreadable({ path, reason }: Unreadable): string {
  return path ? `'${path}' (${reason.replace(/\.$/, "")})` : reason.replace(/\.$/, "");
}

function someOf(names: readonly string[]): string {
  const different = [...new Set(names)];
  const rest = different.length - NAMED;
  return [...different.slice(0, NAMED), ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ");
}

function nameUnreadable({ unreadable }: Detected, job: JobContext): void {
  for (const { path, reason } of unreadable) job.log(`  Not readable: '${path}': ${reason}`);
}

const PUT_ASIDE =
  "Some of them are still at the source, and were never published: publish them, or set 'drafts' of the source to true.";

function planProblems(detected: Detected, counts: StepCounts): string[] {
  const problems: string[] = [];
  if (detected.completeness === "partial") {
    const why = someOf(detected.unreadable.map(sayUnreadable)) || "the listing is incomplete";
    const kept = counts.removed + counts.held > 0 ? "only what is known to be gone leaves" : "nothing was removed";
    problems.push(`${kept}, because ${why}`);
  } else if (detected.unreadable.length > 0) {
    const names = someOf(detected.unreadable.map(sayUnreadable));
    problems.push(`could not be read, so what is known there is kept: ${names}`);
  }
  if (detected.heldBecause) {
    const aside = detected.withheld.length > 0 ? ` ${PUT_ASIDE}` : "";
    problems.push(
      `${plural(counts.held, "removal is", "removals are")} held because ${detected.heldBecause}.${aside} ${HOW_TO_CONFIRM}`,
    );
  }
  return problems;
}

import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { ListingOutcome, Source, Unreadable } from "../contracts/source.ts";
import { joinFirst, plural } from "../lib/text.ts";
import type { Detected } from "../plan/detect-changes.ts";
import { applyPlan } from "./apply-plan.ts";
import { PARTS } from "./check-hashes.ts";
import { countLeftOut, type StepCounts } from "./crawl-request.ts";
import type { StepResult } from "./crawl-source.ts";
import { silentIfDry } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";
import { ITEM_PROBLEMS, notAcknowledged } from "./failures.ts";
import { type DownloadPlan, makePlan } from "./make-plan.ts";
import { returnMisplaced } from "./misplaced-files.ts";
import { STAYING } from "./planned-changes.ts";
import type { DownloadStep, ListingResult } from "./run-context.ts";
import { type SourceScan, scanSource } from "./scan-source.ts";
import { HOW_TO_CONFIRM, noCounts, sumUp } from "./tally.ts";
import { compareMirror, verifyMirror } from "./verify-mirror.ts";

export interface Downloaded extends StepResult {
  readonly listing: ListingResult;
}

/** list ▶ judge ▶ plan ▶ mirror, for one source. A kind that reads its items to list them (`isReadWhileListed`) fetches from its own copy. Throws when the source cannot be listed at all. */
export async function download(step: DownloadStep, parts: EngineParts): Promise<Downloaded> {
  const { source, ledger, job } = step;
  const counts = noCounts();
  const scan = await scanSource(step, parts);
  const plan = await makePlan(scan, step, counts, parts);
  const hiddenRows = countHidden(scan, source);
  const fresh = await notAcknowledged(plan.detected.unreadable, step, parts);
  const problems = planProblems({ ...plan.detected, unreadable: fresh }, counts);
  const before = isIdle(plan) ? await compareMirror(plan, step) : undefined;
  const isQuiet = scan.isNext && problems.length + (before ? before.missing.length + before.orphans.length : 1) === 0;
  logListing(isQuiet, scan, { detected: plan.detected, counts, hiddenRows, problems }, step);

  const returned = await returnMisplaced(plan, step);
  const { notRemoved } = await applyPlan(plan, { ...step, counts, job: silentIfDry(job) });
  await source.conclude?.(await outcomeOf(plan, ledger));
  await verifyMirror(plan, { counts, returned, before }, step);

  noteListing(scan, plan, { undone: notRemoved + counts.held + (plan.unapproved ?? 0), hiddenRows }, ledger);
  const leftOut = source.leftOut?.();
  if (leftOut) counts.skipped += countLeftOut(leftOut);
  const itemProblem = counts.failed > 0 ? ITEM_PROBLEMS.download(plural(counts.failed, "item")) : "";
  return { counts, problems, itemProblem, listing: { ...listingResult(plan, hiddenRows), leftOut } };
}

function isIdle({ size: { removed, moved, fetched, staying, strayed } }: DownloadPlan): boolean {
  return removed + moved + fetched + staying + strayed === 0;
}

/** Stores the checkpoint for the next run. An incomplete listing stores none. */
function noteListing(
  { rotation, checkpoint }: SourceScan,
  { detected, isHashed, unapproved }: DownloadPlan,
  { undone, hiddenRows }: { readonly undone: number; readonly hiddenRows: number },
  ledger: Ledger,
): void {
  if (detected.completeness !== "complete" || detected.unreadable.length > 0) return;
  const { owed, next } = rotation;
  // Altered files that the plan leaves out must be found again.
  const hashes =
    isHashed && !unapproved
      ? { hashesOwed: 0, nextHashes: (next + owed) % PARTS }
      : { hashesOwed: owed, nextHashes: next };
  // The feed reports a change only once: if something was left undone, the next run must list everything.
  const cursor = undone > 0 ? "" : checkpoint.cursor;
  ledger.noteListing({ ...checkpoint, cursor, hiddenRows, ...hashes });
}

function logListing(
  isQuiet: boolean,
  { listing }: SourceScan,
  {
    detected,
    counts,
    hiddenRows,
    problems,
  }: {
    readonly detected: Detected;
    readonly counts: StepCounts;
    readonly hiddenRows: number;
    readonly problems: readonly string[];
  },
  { run, job }: DownloadStep,
): void {
  const by = run.config.kind.abilities.hasIds ? " by the change log" : " by what changed since the last crawl";
  const how = listing.by === "feed" ? by : "";
  job.log(
    isQuiet
      ? `Nothing changed since the last crawl, neither at the source nor in the mirror: ${sumUp(counts)}.`
      : `Listed ${plural(detected.listed, "item")}${how}: ${sumUp(counts)}.`,
  );
  logHidden(hiddenRows, job);
  if (detected.unreadable.length > NAMED) logUnreadable(detected, job);
  for (const problem of problems) job.log(`WARNING: ${problem}`);
}

/** Returns the number of hidden rows of this listing, or of the last one if only changes were listed. */
function countHidden({ listing, checkpoint }: SourceScan, source: Source): number {
  return (listing.by === "listing" ? source.hiddenRows?.() : checkpoint.hiddenRows) ?? 0;
}

function logHidden(rows: number, job: JobContext): void {
  if (rows === 0) return;
  job.log(
    `The source counts ${plural(rows, "row")} that ${rows === 1 ? "is" : "are"} not shown to the app. ${HIDDEN_ROWS}`,
  );
}

const HIDDEN_ROWS =
  "They are checked out and were never checked in, are drafts, wait for approval, or have rights of their own: check them in, publish or approve them, or give the app access to them, and they can be found.";

/** Items that could not be removed still have their entry. */
async function outcomeOf({ detected, items }: DownloadPlan, ledger: Ledger): Promise<ListingOutcome> {
  const staying = new Set<ItemId>();
  for await (const page of items.items("download", STAYING)) for (const { itemId } of page) staying.add(itemId);
  for await (const page of items.items("download", ["removed"])) {
    const entries = await ledger.getMany(page.map(({ itemId }) => itemId));
    for (const entry of entries) if (entry?.mirrored) staying.add(entry.itemId);
  }
  return { complete: detected.completeness === "complete", staying };
}

function listingResult(
  { detected, items, unapproved = 0 }: DownloadPlan,
  hiddenRows: number,
): Omit<ListingResult, "leftOut"> {
  const complete = detected.completeness === "complete";
  const sawAll = complete && detected.unreadable.length === 0 && detected.heldBecause === "" && unapproved === 0;
  return { complete, sawAll, listed: detected.listed, hiddenRows, plan: items };
}

/** A failing site has thousands of them; a problem names only the first, the log names all. */
const NAMED = 10;

function describeUnreadable({ path, reason }: Unreadable): string {
  return path ? `'${path}' (${reason.replace(/\.$/, "")})` : reason.replace(/\.$/, "");
}

function logUnreadable({ unreadable }: Detected, job: JobContext): void {
  for (const { path, reason } of unreadable) job.log(`  Not readable: '${path}': ${reason}`);
}

const PUT_ASIDE =
  "Some of them are still at the source, and were never published: publish them, or set 'drafts' of the source to true.";

function planProblems(detected: Detected, counts: StepCounts): string[] {
  const problems: string[] = [];
  if (detected.completeness === "partial") {
    const why = joinFirst(detected.unreadable.map(describeUnreadable), NAMED) || "the listing is incomplete";
    const kept = counts.removed + counts.held > 0 ? "only what is known to be gone leaves" : "nothing was removed";
    problems.push(`${kept}, because ${why}`);
  } else if (detected.unreadable.length > 0) {
    const names = joinFirst(detected.unreadable.map(describeUnreadable), NAMED);
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

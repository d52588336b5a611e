import type { AbsentChange, Change, ChangeKind, ListedChange } from "../contracts/change.ts";
import type { Converter } from "../contracts/converter.ts";
import { isTree } from "../contracts/domain.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { LookOutcome, Source, Unreadable } from "../contracts/source.ts";
import type { Detected } from "../detect/detect-changes.ts";
import { plural } from "../lib/plural.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { FileOnDisk } from "../mirror/visit-files.ts";
import { applyPlan } from "./apply-plan.ts";
import type { CrawlRequest, StepCounts } from "./crawl-request.ts";
import type { EngineParts, SourceRun } from "./engine-parts.ts";
import type { LastLook, SettledLook, SettledPage } from "./last-look.ts";
import { makePlan } from "./make-plan.ts";
import { type PlannedChanges, plannedDownload } from "./planned-changes.ts";
import { returnMisplaced } from "./return-misplaced.ts";
import { HOW_TO_CONFIRM, noCounts, sumUp } from "./tally.ts";
import { type Checked, previewOrphans, verifyMirror } from "./verify.ts";
import { type News, type View, viewSource } from "./view-source.ts";

export interface Downloaded {
  readonly counts: StepCounts;
  readonly look: SourceLook;
  /** One sentence each: an incomplete look, held removals, failed items. */
  readonly problems: readonly string[];
  /** To be remembered once the map files are written, but for their version; undefined: the look is not worth it. */
  readonly lastLook: Omit<LastLook, "maps"> | undefined;
}

/** What the download learnt about the source, for the steps that follow. */
export interface SourceLook {
  readonly complete: boolean;
  /** Complete, all of it readable, and believed: only then is what we have no record of gone. */
  readonly sawAll: boolean;
  readonly listed: number;
  /** Rows that the source counts and does not show. */
  readonly hiddenRows: number;
  /** Gone at the source, and removed from the mirror by this run. */
  readonly removed: ReadonlySet<ItemId>;
  /** What was, or in a dry run would be, done to the mirror. */
  readonly touched: ReadonlyMap<ItemId, ChangeKind>;
  /** The same with all that is known of it, of a dry run: a first crawl touches everything there is. */
  readonly planned: ReadonlyMap<ItemId, Change>;
}

/** What is to be done with one source, in the order it is done. Unchanged items are not in it. */
export interface Plan {
  readonly removed: AbsentChange[];
  readonly moved: ListedChange[];
  readonly fetched: ListedChange[];
  readonly detected: Detected;
  /** The mirror as it was before anything of this was done. */
  readonly disk: ReadonlyMap<string, FileOnDisk>;
  /** List item ids of rows that stay although they were not listed. */
  readonly keptRows: ReadonlySet<number>;
  /** Items that were not listed and are not removed. */
  readonly staying: readonly ItemId[];
  readonly pages: readonly SettledPage[];
  /** Every page was recognised: nothing was judged, nothing is to be done, and the ledger was not needed. */
  readonly allFamiliar: boolean;
  /** How many files were read and hashed. */
  readonly hashed: number;
  readonly startedAtMs: number;
  /** Only this was judged. */
  readonly news: News | undefined;
}

export interface DownloadTools {
  readonly source: Source;
  readonly ledger: Ledger;
  readonly mirror: Mirror;
  readonly converter: Converter | undefined;
}

/** The same, before anybody has needed the ledger: opening it means reading the map files. */
export type DownloadSetting = Omit<DownloadTools, "ledger"> & {
  readonly ledger: () => Promise<Ledger>;
  /** The map files as they are. */
  readonly maps: string;
  /** Of a dry run. */
  readonly planned: PlannedChanges;
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
  if (view.looking.nothingNew && view.inOrder) return await nothingToDo(view, view.inOrder, setting, job);
  const counts = noCounts();
  const plan = await makePlan(view, { run, request, setting, parts, job, counts });
  const hiddenRows = countHidden(view, setting.source);
  const { withheld } = plan.detected;
  if (plan.allFamiliar && view.inOrder) {
    return await nothingToDo({ ...view, memory: { ...view.memory, withheld } }, view.inOrder, setting, job);
  }
  const by = isTree(run.config) ? " by what changed since the last look" : " by the change log";
  const how = view.looking.by === "feed" ? by : "";
  job.log(`Listed ${plural(plan.detected.listed, "item")}${how}: ${sumUp(counts)}.`);
  sayHidden(hiddenRows, job);
  const problems = planProblems(plan.detected, counts);
  if (plan.detected.unreadable.length > NAMED) nameUnreadable(plan.detected, job);
  for (const problem of problems) job.log(`WARNING: ${problem}`);
  const tools = { ...setting, ledger: await setting.ledger() };
  const returned = await returnMisplaced(plan, tools, request, job, counts);
  const look = lookOf(plan, hiddenRows, job);
  if (job.dryRun) {
    writeDown(plan, run, setting);
    await previewOrphans(plan, { ...tools, returned, rotation: view.rotation }, job);
    return { counts, look, problems, lastLook: undefined };
  }
  const { vanished } = await applyPlan(plan, { ...tools, retryBatches: request.retryBatches }, job, counts);
  await setting.source.conclude?.(await outcomeOf(plan, tools.ledger));
  const check = await verifyMirror(plan, { ...tools, returned, rotation: view.rotation }, request, job, counts);
  if (counts.failed > 0)
    problems.push(`${plural(counts.failed, "item")} could not be brought up to date on disk; the next run tries again`);
  return {
    counts,
    look,
    problems,
    lastLook: memoryOf(view, plan, { ...check, hiddenRows, isDone: problems.length + vanished === 0 }, counts),
  };
}

/** The very plan that would be applied; what is held or skipped was written down when it was judged. */
function writeDown(
  { removed, moved, fetched }: Plan,
  { config }: SourceRun,
  { planned, mirror }: DownloadSetting,
): void {
  for (const change of [...removed, ...moved, ...fetched]) {
    const one = plannedDownload(change, config, mirror);
    if (one) planned.add(one);
  }
}

async function nothingToDo(
  view: View,
  { counts, files, listed }: SettledLook,
  { source }: DownloadSetting,
  job: JobContext,
): Promise<Downloaded> {
  if (!job.dryRun) await source.conclude?.({ complete: true, stillHeld: new Set() });
  job.log(`Nothing changed since the last look, neither at the source nor in the mirror: ${sumUp(counts)}.`);
  job.log(`Integrity check passed: ${plural(files, "file")} verified`);
  const hiddenRows = countHidden(view, source);
  sayHidden(hiddenRows, job);
  const nothing = { removed: new Set<ItemId>(), touched: new Map(), planned: new Map() };
  const look = { complete: true, sawAll: true, listed, hiddenRows, ...nothing };
  const { owed, next } = view.rotation;
  const lastLook = {
    ...view.memory,
    hiddenRows,
    hashesOwed: owed,
    nextHashes: next,
    settled: view.inOrder,
  };
  return { counts: { ...counts }, look, problems: [], lastLook: job.dryRun ? undefined : lastLook };
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

/** undefined: an incomplete look teaches nothing that a later one could build on. */
function memoryOf(
  view: View,
  plan: Plan,
  check: Checked & { readonly isDone: boolean; readonly hiddenRows: number },
  counts: StepCounts,
): Downloaded["lastLook"] {
  if (plan.detected.completeness !== "complete" || plan.detected.unreadable.length > 0) return undefined;
  const { unchanged, added, changed, moved, skipped } = counts;
  const next = { ...noCounts(), unchanged: unchanged + added + changed + moved, skipped };
  const pages = view.looking.by === "listing" ? plan.pages : [];
  const settled = {
    disk: check.digest,
    listed: plan.detected.listed,
    files: check.files,
    counts: next,
    pages,
  };
  const { hashesOwed, nextHashes, hiddenRows } = check;
  return {
    ...view.memory,
    hiddenRows,
    withheld: plan.detected.withheld,
    hashesOwed,
    nextHashes,
    settled: check.isDone && check.inOrder ? settled : null,
  };
}

/** What could not be removed still has its entry. */
async function outcomeOf({ detected, removed, staying }: Plan, ledger: Ledger): Promise<LookOutcome> {
  const stillHeld = new Set(staying);
  const entries = await ledger.getMany(removed.map(({ itemId }) => itemId));
  for (const entry of entries) if (entry?.mirrored) stillHeld.add(entry.itemId);
  return { complete: detected.completeness === "complete", stillHeld };
}

function lookOf({ detected, removed, moved, fetched }: Plan, hiddenRows: number, { dryRun }: JobContext): SourceLook {
  const changes = [...removed, ...moved, ...fetched];
  const complete = detected.completeness === "complete";
  return {
    complete,
    sawAll: complete && detected.unreadable.length === 0 && detected.heldBecause === "",
    listed: detected.listed,
    hiddenRows,
    removed: new Set(removed.map(({ itemId }) => itemId)),
    touched: new Map(changes.map(({ itemId, kind }) => [itemId, kind])),
    planned: new Map(dryRun ? changes.map((change) => [change.itemId, change]) : []),
  };
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

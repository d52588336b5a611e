import type { AbsentChange, Change, ListedChange } from "../contracts/change.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger, Seen } from "../contracts/ledger.ts";
import type { Completeness, Sighting, Source, Unreadable } from "../contracts/source.ts";
import { type Detected, detectChanges } from "../detect/detect-changes.ts";
import { startEarly } from "../lib/start-early.ts";
import { Turn } from "../lib/turn.ts";
import type { FileOnDisk, Mirror } from "../mirror/mirror.ts";
import { applyPlan } from "./apply-plan.ts";
import type { CrawlRequest, StepCounts } from "./crawl-request.ts";
import type { EngineParts, SourceRun } from "./engine-parts.ts";
import { HOW_TO_CONFIRM, noCounts, sumUp } from "./tally.ts";
import { verifyMirror } from "./verify.ts";

export interface Downloaded {
  readonly counts: StepCounts;
  readonly look: SourceLook;
  /** One sentence each: an incomplete look, held removals, failed items. */
  readonly problems: readonly string[];
}

/** What the download learnt about the source, for the step that follows. */
export interface SourceLook {
  readonly complete: boolean;
  /** Complete, all of it readable, and believed: only then is what we have no record of gone. */
  readonly sawAll: boolean;
  readonly listed: number;
  /** Gone at the source, and removed from the mirror by this run. */
  readonly removed: ReadonlySet<ItemId>;
  /** What was, or in a dry run would be, done to the mirror. */
  readonly planned: ReadonlyMap<ItemId, Change>;
}

/** What is to be done with one source, in the order it is done. Unchanged items are not in it. */
export interface Plan {
  readonly removed: AbsentChange[];
  readonly moved: ListedChange[];
  readonly fetched: ListedChange[];
  readonly detected: Detected;
  /** The mirror as it was before anything of this was done, and the files of it that stay as they are. */
  readonly disk: ReadonlyMap<string, FileOnDisk>;
  readonly kept: ReadonlySet<string>;
  readonly startedAtMs: number;
}

export interface DownloadTools {
  readonly source: Source;
  readonly ledger: Ledger;
  readonly mirror: Mirror;
}

/** list ▶ detect ▶ plan ▶ fetch ▶ mirror, for one source. Throws when the source cannot be listed at all. */
export async function download(
  run: SourceRun,
  request: CrawlRequest,
  from: Omit<DownloadTools, "ledger"> & { readonly ledger: Promise<Ledger> },
  parts: EngineParts,
  job: JobContext,
): Promise<Downloaded> {
  // The first page is on its way while ledger and disk are being looked at.
  const listing = startEarly(from.source.list(job.signal));
  const ledger = await from.ledger;
  const tools = { ...from, ledger };
  const { mirror } = tools;
  if (!job.dryRun) await mirror.recover(async (item) => (await ledger.get(item))?.mirrored?.file ?? "");
  const counts = noCounts();
  const plan = await makePlan(run, request, { ...tools, listing }, parts, job, counts);
  job.log(`Listed ${plan.detected.listed} items: ${sumUp(counts)}.`);
  const problems = planProblems(plan.detected, counts);
  for (const problem of problems) job.log(`WARNING: ${problem}`);
  const look = lookOf(plan);
  if (job.dryRun) return { counts, look, problems };
  const failures = await applyPlan(plan, tools, job, counts);
  await verifyMirror({ ...tools, plan }, job);
  if (failures > 0)
    problems.push(`${failures} items could not be brought up to date on disk; the next run tries them again`);
  return { counts, look, problems };
}

function lookOf({ detected, removed, moved, fetched }: Plan): SourceLook {
  const complete = detected.completeness === "complete";
  return {
    complete,
    sawAll: complete && detected.unreadable.length === 0 && detected.heldBecause === "",
    listed: detected.listed,
    removed: new Set(removed.map(({ itemId }) => itemId)),
    planned: new Map([...removed, ...moved, ...fetched].map((change) => [change.itemId, change])),
  };
}

type Page = readonly (Sighting | Unreadable)[];

async function makePlan(
  run: SourceRun,
  request: CrawlRequest,
  { listing, ledger, mirror }: DownloadTools & { readonly listing: ReturnType<typeof startEarly<Page, Completeness>> },
  parts: EngineParts,
  job: JobContext,
  counts: StepCounts,
): Promise<Plan> {
  const startedAtMs = Date.now();
  const disk = await mirror.scan();
  const changes = detectChanges(listing, ledger, (file) => disk.get(file), {
    mode: request.mode,
    acceptedTypes: parts.acceptedTypes,
    maxBytes: parts.maxFileBytes,
    limits: run.config.limits,
    confirmDeletes: request.confirmDeletes,
  });
  const removed: AbsentChange[] = [];
  const moved: ListedChange[] = [];
  const fetched: ListedChange[] = [];
  const kept = new Set<string>();
  const turn = new Turn();
  let step = await changes.next();
  for (; !step.done; step = await changes.next()) {
    await job.checkpoint();
    for (const change of step.value) {
      const file = change.entry?.mirrored?.file;
      if (file && STAYING.has(change.kind)) kept.add(file);
      if (change.kind === "kept") continue;
      counts[change.kind] += 1;
      if (job.dryRun) preview(change, job);
      else remember(change, ledger);
      if (change.kind === "skipped" && !change.entry && !job.dryRun) {
        job.log(`Skipped '${change.sighting.path}': ${change.reason}.`);
      }
      if (change.kind === "removed") removed.push(change);
      else if (change.kind === "moved") moved.push(change);
      else if (change.kind === "added" || change.kind === "changed") fetched.push(change);
      if (turn.isOver()) await turn.next();
    }
  }
  return { removed, moved, fetched, detected: step.value, disk, kept, startedAtMs };
}

const STAYING: ReadonlySet<Change["kind"]> = new Set(["unchanged", "kept", "held"]);

/** A dry run names every item that would change; unchanged ones are only counted. */
function preview(change: Change, job: JobContext): void {
  if (change.kind === "unchanged") return;
  const path = "sighting" in change ? change.sighting.path : (change.entry.mirrored?.serverPath ?? change.itemId);
  job.log(`  ${change.kind.toUpperCase()} '${path}': ${change.reason}`);
}

/** What the source said is true whatever becomes of the rest of the run. */
function remember(change: Change, ledger: Ledger): void {
  if (!("sighting" in change)) {
    if (change.kind === "held" && !change.stillListed) ledger.put(change.itemId, { seen: null });
    return;
  }
  ledger.put(change.itemId, { seen: seenOf(change.sighting) });
  const known = change.entry?.mirrored;
  if (change.kind !== "unchanged" || !known) return;
  const { etag, contentVersion } = change.sighting.fingerprint;
  if (etag !== known.fingerprint.etag || contentVersion !== known.fingerprint.contentVersion) {
    const fingerprint = { ...known.fingerprint, etag, contentVersion };
    ledger.put(change.itemId, { mirrored: { ...known, fingerprint } });
  }
}

function seenOf(sighting: Sighting): Seen {
  const { listItemId, name, serverPath, rawUrl, fingerprint } = sighting;
  return {
    listItemId,
    name,
    serverPath,
    get url() {
      return sighting.url;
    },
    rawUrl,
    size: fingerprint.size,
    modifiedAt: fingerprint.modifiedAt,
  };
}

function planProblems(detected: Detected, counts: StepCounts): string[] {
  const problems: string[] = [];
  if (detected.completeness === "partial") {
    const why = detected.unreadable.map(({ reason }) => reason).join("; ");
    problems.push(`nothing was removed, because ${why || "the listing is incomplete"}`);
  } else if (detected.unreadable.length > 0) {
    const names = detected.unreadable.map(({ path, reason }) => `'${path}' (${reason})`);
    problems.push(`could not be read, so what is known there is kept: ${names.join("; ")}`);
  }
  if (detected.heldBecause) {
    problems.push(`${counts.held} removals are held because ${detected.heldBecause}. ${HOW_TO_CONFIRM}`);
  }
  return problems;
}

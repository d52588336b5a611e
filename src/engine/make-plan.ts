import type { Change, ListedChange } from "../contracts/change.ts";
import type { Converter } from "../contracts/converter.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger, Seen } from "../contracts/ledger.ts";
import type { Plan } from "../contracts/plan.ts";
import type { Sighting } from "../contracts/source.ts";
import { TimeSlice } from "../lib/time-slice.ts";
import type { FilesOnDisk } from "../mirror/files-on-disk.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { FileOnDisk } from "../mirror/scan-files.ts";
import { type Detected, detectChanges } from "../plan/detect-changes.ts";
import { MTIME_TOLERANCE_MS } from "../plan/judge.ts";
import { keepToPlan } from "./approval.ts";
import { confirmContent, findAltered, isDue } from "./check-hashes.ts";
import type { StepCounts } from "./crawl-request.ts";
import { logDone, logPlanned } from "./dry-run.ts";
import type { EngineParts } from "./engine-parts.ts";
import { findMisplaced, lostFile } from "./misplaced-files.ts";
import { type PlanSize, toItem } from "./planned-changes.ts";
import type { DownloadStep } from "./run-context.ts";
import { type FeedDelta, recallListing, type SourceScan } from "./scan-source.ts";

/** The changes that the download step makes for one source: the run's plan (`items`), and what is needed to carry it out. */
export interface DownloadPlan {
  /** The judged items, without the unchanged ones. */
  readonly items: Plan;
  readonly size: PlanSize;
  readonly detected: Detected;
  /** The files of the mirror, kept up to date while the plan is applied. */
  readonly disk: FilesOnDisk;
  /** How many unchanged items have their file in the mirror. */
  readonly found: number;
  /** Whether the files that were due were hashed, and how many. */
  readonly isHashed: boolean;
  readonly hashed: number;
  readonly startedAtMs: number;
  /** undefined: everything that was listed was judged. */
  readonly delta: FeedDelta | undefined;
  /** How many changes are left out because they are not in the approved plan; undefined: there is no such plan. */
  readonly unapproved: number | undefined;
}

/** Erased items that are named in the log, by their ids. */
const MAX_TOLD = 20;

/** list ▶ judge ▶ plan. Puts every sighting into the ledger (`seen`) on the way; the changes themselves go into the run's plan. */
export async function makePlan(
  scan: SourceScan,
  step: DownloadStep,
  counts: StepCounts,
  parts: EngineParts,
): Promise<DownloadPlan> {
  const startedAtMs = Date.now();
  const { disk, delta, rotation } = scan;
  const { mirror, converter, ledger, approval, plan, job } = step;
  const changes = judgeListing(scan, step, parts);
  const sorted = new SortedChanges(step, counts);
  const due: ListedChange[] = [];
  const originals = new OriginalsCheck(mirror, converter, disk);
  const timeSlice = new TimeSlice();
  let found = delta?.found ?? 0;
  let next = await changes.next();
  for (; !next.done; next = await changes.next()) {
    await job.checkpoint();
    const { unchanged } = next.value;
    counts.unchanged += unchanged;
    sorted.known += unchanged;
    found += unchanged;
    for (const judged of next.value.changes) {
      const confirmed = confirmContent(judged, mirror);
      const change = originals.judge(confirmed instanceof Promise ? await confirmed : confirmed);
      sorted.add(change);
      if (!delta && change.kind === "unchanged" && disk.has(change.entry?.mirrored?.file ?? "")) found += 1;
      if (change.kind === "unchanged" && isDue(change.itemId, rotation)) due.push(change);
      announce(change, job);
      recordSighting(change, ledger);
      if (timeSlice.isOver()) await timeSlice.next();
    }
    await ledger.flush();
  }
  const skipped = step.source.skipped?.() ?? [];
  counts.skipped += skipped.length;
  for (const { key, reason } of skipped.slice(0, MAX_TOLD)) job.log(`Skipped item '${key}': ${reason}.`);
  if (skipped.length > MAX_TOLD) job.log(`Skipped ${skipped.length - MAX_TOLD} more that were erased.`);
  const unreported = delta ? Math.max(0, delta.expected - sorted.known) : 0;
  counts.unchanged += unreported;
  // If nothing else is to do, or only changes are judged, hashing can wait for a few runs.
  const isHashed = rotation.isNow || !(delta || (scan.isNext && isIdle(sorted)));
  for (const altered of isHashed ? await findAltered(due, mirror, job) : []) {
    counts.unchanged -= 1;
    sorted.add(altered);
    announce(altered, job);
  }
  const { size, lostSizes } = sorted;
  if (lostSizes.size > 0) await findMisplaced({ disk, size, counts, lostSizes }, step);
  const unapproved = approval && (await keepToPlan(approval, { plan, size, counts }, ledger, job));
  const detected: Detected = { ...next.value, listed: next.value.listed + unreported };
  const hashed = isHashed ? due.length : 0;
  return { items: plan, unapproved, size, detected, disk, found, isHashed, hashed, startedAtMs, delta };
}

function isIdle({ size: { removed, moved, fetched, staying } }: SortedChanges): boolean {
  return removed + moved + fetched + staying === 0;
}

/** Judges everything that is listed or, with a feed, what it reports and the suspects. */
function judgeListing(
  { listing, disk, delta, rotation }: SourceScan,
  { run, request, ledger, mirror }: DownloadStep,
  parts: EngineParts,
): ReturnType<typeof detectChanges> {
  const policy = {
    mode: request.mode,
    acceptedTypes: parts.acceptedTypes,
    maxBytes: parts.maxFileBytes,
    limits: run.config.limits,
    confirmDeletes: request.confirmDeletes,
    ...(request.gathered && !run.config.kind.abilities.hasIds && { justLeft: () => countJustLeft(ledger, parts) }),
  };
  // Look again: another step may have moved a file since the scan.
  const find = (file: string): FileOnDisk | undefined => disk.get(file) ?? mirror.find(file);
  if (listing.by === "listing") {
    // Those that are due are hashed, which takes their entries.
    const mayOnlyCount = (item: ItemId): boolean => !isDue(item, rotation);
    return detectChanges(listing.pages, ledger, find, { ...policy, mayOnlyCount });
  }
  const { gone = [], suspects = [], expected = 0 } = delta ?? {};
  const pages = recallListing(listing.changes, suspects, ledger);
  const reported = {
    getMany: (items: readonly ItemId[]) => ledger.getMany(items),
    unchangedFiles: async () => [],
    count: async () => ({ items: Number.NaN }),
    async *items(): AsyncGenerator<readonly ItemId[]> {
      yield [...gone, ...suspects, ...listing.changes.touched.map(({ itemId }) => itemId)];
    },
  };
  return detectChanges(pages, reported, find, { ...policy, knownBefore: expected });
}

/** Writes the changes into the plan, and counts them. */
class SortedChanges {
  readonly size: PlanSize = { removed: 0, moved: 0, fetched: 0, staying: 0, strayed: 0, healed: 0 };
  /** Sizes of missing files: they may lie elsewhere in the mirror. */
  readonly lostSizes = new Set<number>();
  /** Items that had a file or a document before. */
  known = 0;
  #hasTable = false;
  readonly #step: DownloadStep;
  readonly #counts: StepCounts;

  constructor(step: DownloadStep, counts: StepCounts) {
    this.#step = step;
    this.#counts = counts;
  }

  add(change: Change): void {
    const { size } = this;
    const { run, mirror, plan } = this.#step;
    const counts = this.#counts;
    const mirrored = change.entry?.mirrored;
    if (mirrored || change.entry?.indexed) this.known += 1;
    if (change.kind === "kept" || change.kind === "held") size.staying += 1;
    if (change.kind === "kept" && change.isUndecided && mirrored) counts.skipped += 1;
    if (change.kind !== "kept") counts[change.kind] += 1;
    if (change.kind === "removed" || change.kind === "moved") size[change.kind] += 1;
    else if (change.kind === "added" || change.kind === "changed") this.#addFetched(change);
    if (change.kind === "unchanged") return;
    const item = toItem(change, run, mirror);
    // An unwanted item that we have is in the plan as removed or held.
    if (item.told || change.kind !== "skipped") plan.add(item);
  }

  #addFetched(change: ListedChange): void {
    const { sighting, anomaly } = change;
    const { mirror } = this.#step;
    this.size.fetched += 1;
    const isOfTable = anomaly === "original" && sighting.form === "row";
    if (anomaly && !(isOfTable && this.#hasTable)) this.size.healed += 1;
    this.#hasTable ||= isOfTable;
    const lost = lostFile(change, mirror)?.observed?.size;
    if (lost !== undefined) this.lostSizes.add(lost);
  }
}

/**
 * Logs the change. A dry run names every item that would change; a run names only skipped items, the rest is in the
 * plan.
 */
function announce(change: Change, job: JobContext): void {
  if (change.kind === "unchanged") return;
  const path = "sighting" in change ? change.sighting.path : (change.entry.mirrored?.serverPath ?? change.itemId);
  logPlanned(job, `  ${change.kind.toUpperCase()} '${path}': ${change.reason}`);
  const skipped = skippedPath(change);
  if (skipped !== undefined) logDone(job, `Skipped '${skipped}': ${change.reason}.`);
}

/** Returns the path of an item that is skipped for the first time, or may be gone. */
function skippedPath(change: Change): string | undefined {
  if ("sighting" in change) return change.kind === "skipped" && !change.entry ? change.sighting.path : undefined;
  return change.isUndecided ? change.entry.mirrored?.serverPath.replace(/^\//, "") : undefined;
}

/** Writes what the source listed into the ledger. It stays true even if the rest of the run fails. */
function recordSighting(change: Change, ledger: Ledger): void {
  if (!("sighting" in change)) {
    if (change.kind === "held" && !change.stillListed) ledger.put(change.itemId, { seen: null });
    const { mirrored } = change.entry;
    if (change.isUndecided && mirrored)
      ledger.put(change.itemId, { mirrored: { ...mirrored, sourceError: change.reason } });
    return;
  }
  if (!isSeen(change.sighting, change.entry?.seen)) ledger.put(change.itemId, { seen: seenOf(change.sighting) });
  const known = change.entry?.mirrored;
  if (change.kind !== "unchanged" || !known) return;
  const { etag, contentVersion, modifiedAt } = change.sighting.fingerprint;
  const was = known.fingerprint;
  // A version that the source does not give now is compared when it gives it again.
  if (was.contentVersion && !contentVersion) return;
  if (etag !== was.etag || contentVersion !== was.contentVersion || modifiedAt !== was.modifiedAt) {
    const fingerprint = { ...was, etag, contentVersion, modifiedAt };
    ledger.put(change.itemId, { mirrored: { ...known, fingerprint } });
  }
}

/** Whether the ledger has this sighting already. `url` is derived from `rawUrl` and is not compared. */
function isSeen(
  { listItemId, name, serverPath, rawUrl, fingerprint, withheld }: Sighting,
  seen?: Seen | null,
): boolean {
  return (
    seen?.name === name &&
    seen.serverPath === serverPath &&
    seen.rawUrl === rawUrl &&
    seen.listItemId === listItemId &&
    seen.size === fingerprint.size &&
    seen.modifiedAt === fingerprint.modifiedAt &&
    (seen.withheld ?? false) === (withheld !== undefined)
  );
}

function seenOf(sighting: Sighting): Seen {
  const { listItemId, name, serverPath, url, rawUrl, fingerprint, withheld } = sighting;
  return {
    listItemId,
    name,
    serverPath,
    url,
    rawUrl,
    size: fingerprint.size,
    modifiedAt: fingerprint.modifiedAt,
    ...(withheld !== undefined && { withheld: true }),
  };
}

/** Checks the originals of unchanged documents: one that is missing or altered is fetched again. */
class OriginalsCheck {
  readonly #mirror: Mirror;
  readonly #converter: Converter | undefined;
  readonly #disk: ReadonlyMap<string, FileOnDisk>;
  #originals: ReadonlySet<string> | undefined;

  constructor(mirror: Mirror, converter: Converter | undefined, disk: ReadonlyMap<string, FileOnDisk>) {
    this.#mirror = mirror;
    this.#converter = converter;
    this.#disk = disk;
  }

  /** Returns the change, or "changed" for an unchanged item whose original is missing or altered. */
  judge(change: Change): Change {
    if (change.kind !== "unchanged" || change.sighting.form === "document" || !this.#converter) return change;
    const reason = this.#problem(change, this.#converter);
    return reason ? { ...change, kind: "changed", reason, anomaly: "original" } : change;
  }

  #problem({ itemId, sighting, entry }: ListedChange, converter: Converter): string {
    const mirrored = entry?.mirrored;
    if (!mirrored || this.#mirror.isOriginal(mirrored.file) || this.#mirror.isFailed(mirrored.file)) return "";
    const item = { itemId, listItemId: mirrored.listItemId, name: mirrored.name };
    const path = converter.originalPath(item, this.#mirror.relativePath(mirrored.file), this.#originalsOnDisk());
    if (path === undefined) return "its original is missing on disk";
    // A page's original has the page's time; a table is rewritten with every change of any row.
    const file = sighting.form === "original" ? this.#disk.get(this.#mirror.originalFile(path)) : undefined;
    const isTouched = file && Math.abs(file.mtimeMs - Date.parse(sighting.fingerprint.modifiedAt)) > MTIME_TOLERANCE_MS;
    return isTouched ? "its original was altered on disk" : "";
  }

  #originalsOnDisk(): ReadonlySet<string> {
    this.#originals ??= this.#mirror.originalsAmong(this.#disk.keys());
    return this.#originals;
  }
}

const JUST_MS = 10 * 60_000;

/**
 * Counts the files of a tree that went missing in the last ten minutes. In watch mode a mass deletion is seen piece by
 * piece; together the pieces must not pass the removal guard.
 */
async function countJustLeft({ manifest }: Ledger, parts: Pick<EngineParts, "now">): Promise<number> {
  const since = new Date(parts.now().getTime() - JUST_MS).toISOString();
  let count = 0;
  for await (const page of manifest.withStatus("missing", "deleted")) {
    for (const { lineage } of page) {
      if (lineage.some(({ event, at }) => event === "missing" && at >= since)) count += 1;
    }
  }
  return count;
}

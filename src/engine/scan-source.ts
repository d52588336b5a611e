import { createHash } from "node:crypto";
import type { SourceConfig } from "../contracts/domain.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { ItemState, Ledger, ListingCheckpoint } from "../contracts/ledger.ts";
import type { ChangesSince, Completeness, Listed, Listing, Sighting, Source } from "../contracts/source.ts";
import { slicesOf } from "../lib/slices-of.ts";
import { FilesOnDisk } from "../mirror/files-on-disk.ts";
import type { FileOnDisk } from "../mirror/scan-files.ts";
import { isAsMeasured } from "../plan/judge.ts";
import { isDue, PARTS } from "./check-hashes.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { DownloadStep } from "./run-context.ts";

/** The state of source and mirror at the start of a run. */
export interface SourceScan {
  readonly listing: SourceListing;
  /** The files of the mirror, kept up to date while this run changes them. Empty if only `delta` is judged. */
  readonly disk: FilesOnDisk;
  /** What to judge; undefined: everything that is listed. */
  readonly delta: FeedDelta | undefined;
  /** There was an earlier listing, with the same settings. */
  readonly isNext: boolean;
  /** Written to the ledger for the next run. */
  readonly checkpoint: Pick<
    ListingCheckpoint,
    "policy" | "cursor" | "listedAt" | "checkedAt" | "runsByFeed" | "hiddenRows"
  >;
  /** Hash rotation: `owed` of 100 parts are due, starting with part `next`. `isNow`: they are hashed in this run. */
  readonly rotation: { readonly owed: number; readonly next: number; readonly isNow: boolean };
}

/** What changed at the source since the last run, and which files of the mirror differ from the ledger. */
export interface FeedDelta {
  readonly gone: readonly ItemId[];
  /** Items that the feed does not report and that are judged too: they differ on disk, or are due to be hashed. */
  readonly suspects: readonly ItemId[];
  /** How many items should have a file in the mirror, and how many of them have one. */
  readonly expected: number;
  readonly found: number;
  /**
   * Present if ledger and mirror had the same files at the start of this run. `marked`: files whose names may have a
   * `~` mark.
   */
  readonly inSync?: { readonly marked: ReadonlyMap<ItemId, string> };
  /** Watch mode reported the changed folders: only they are scanned, and the mirror is not. */
  readonly isOfNamedFolders: boolean;
}

/** After so many runs without hashing, all parts that are due are hashed together. */
const MAX_OWED = 10;

/** Scans the mirror while the source lists its items or its changes. */
export async function scanSource(step: DownloadStep, parts: EngineParts): Promise<SourceScan> {
  const { run, request, mirror, source, ledger, job } = step;
  const policy = digestPolicy(run.config, parts);
  const before = ledger.listing;
  const last = request.mode === "incremental" && before?.policy === policy ? before : undefined;
  const isOfNamedFolders = request.onlyFolders?.has(run.config.sourceId) ?? false;
  const owed = request.checksum ? PARTS : (before?.hashesOwed ?? 0) + (isOfNamedFolders ? 0 : 1);
  const rotation = { owed, next: before?.nextHashes ?? 0, isNow: owed >= MAX_OWED && !isOfNamedFolders };
  // Before the scan: it must see the mirror as this run will use it.
  await mirror.recover(async (item) => (await ledger.get(item))?.mirrored?.file ?? "");
  const scanEnd = new AbortController();
  const files = await ledger.countFiles();
  const scanning = isOfNamedFolders && last ? undefined : mirror.scan({ expected: files, signal: scanEnd.signal });
  scanning?.catch(() => undefined);
  try {
    const startedAt = new Date().toISOString();
    let listing = await openListing(source, last, ledger, job);
    const checkpoint = (): SourceScan["checkpoint"] => ({
      policy,
      cursor: listing.cursor,
      ...listingAge(listing, last, { isOfNamedFolders, startedAt }),
    });
    if (listing.by === "feed" && isOfNamedFolders) {
      const delta = { gone: listing.changes.gone, suspects: [], expected: files, found: 0, isOfNamedFolders };
      return { listing, disk: new FilesOnDisk(), delta, isNext: true, checkpoint: checkpoint(), rotation };
    }
    const disk = (await scanning) ?? (await mirror.scan());
    mirror.follow(disk);
    const delta = listing.by === "feed" ? await findDelta(listing, step, disk, rotation) : undefined;
    if (listing.by === "feed" && !delta) listing = await listInstead(source, "a file was not in the last listing", job);
    return { listing, disk, delta, isNext: last !== undefined, checkpoint: checkpoint(), rotation };
  } finally {
    scanEnd.abort();
  }
}

/**
 * Returns the items to judge: those that differ from the ledger, at the source or on disk, and those due to be hashed.
 * undefined: a file belongs to an item that was not listed and that the feed does not report, or most belong to none. A
 * run was interrupted, or a map file or the ledger was edited; only a full listing shows whether the item is gone.
 */
async function findDelta(
  { changes: { touched, gone } }: Extract<SourceListing, { by: "feed" }>,
  { ledger, converter, job }: DownloadStep,
  disk: SourceScan["disk"],
  rotation: SourceScan["rotation"],
): Promise<FeedDelta | undefined> {
  const reported = new Set([...gone, ...touched.map(({ itemId }) => itemId)]);
  const suspects: ItemId[] = [];
  const marked = new Map<ItemId, string>();
  let [expected, found] = [0, 0];
  for await (const page of ledger.states()) {
    for (const state of page) {
      const { itemId, file, isListed } = state;
      if (file !== null) expected += 1;
      const onDisk = file ? disk.get(file) : undefined;
      if (onDisk) found += 1;
      if (file?.includes("~")) marked.set(itemId, file);
      if (reported.has(itemId)) continue;
      if (!isListed) return undefined;
      // The original of a document (a page or a table) is judged together with the document.
      if (converter || !isInOrder(state, onDisk) || (rotation.isNow && isDue(itemId, rotation))) suspects.push(itemId);
    }
  }
  // Most files belong to no item: the ledger lost items, which the feed does not report.
  if (!converter && disk.size - found > found) return undefined;
  // Not in a dry run: `inSync` lets later steps look at the disk, where a dry run changes nothing.
  const isInSync = !converter && !job.dryRun && expected === found && found === disk.size;
  return { gone, suspects, expected, found, isOfNamedFolders: false, ...(isInSync && { inSync: { marked } }) };
}

function isInOrder({ observed, isCurrent }: ItemState, found: FileOnDisk | undefined): boolean {
  if (!found || !isCurrent) return false;
  if (!observed) return true;
  return isAsMeasured(found, observed);
}

function listingAge(
  listing: SourceListing,
  last: ListingCheckpoint | undefined,
  { isOfNamedFolders, startedAt }: Pick<FeedDelta, "isOfNamedFolders"> & { readonly startedAt: string },
): Pick<ListingCheckpoint, "listedAt" | "checkedAt" | "runsByFeed" | "hiddenRows"> {
  if (listing.by === "listing" || !last) {
    return { listedAt: new Date().toISOString(), checkedAt: startedAt, runsByFeed: 0, hiddenRows: 0 };
  }
  const { listedAt, hiddenRows } = last;
  // Watch mode scans everything every few minutes; only those scans count.
  if (isOfNamedFolders) return { listedAt, hiddenRows, checkedAt: last.checkedAt, runsByFeed: last.runsByFeed };
  return { listedAt, hiddenRows, checkedAt: startedAt, runsByFeed: last.runsByFeed + 1 };
}

/** Digest of the settings that decide which items are wanted. */
export function digestPolicy(
  config: SourceConfig,
  { acceptedTypes, maxFileBytes }: Pick<EngineParts, "acceptedTypes" | "maxFileBytes">,
): string {
  const { kind: _kind, ...settings } = config;
  const wanted = [settings, [...acceptedTypes].sort(), maxFileBytes];
  return createHash("sha256").update(JSON.stringify(wanted)).digest("base64");
}

export type Page = readonly Listed[];

type FeedChanges = Pick<ChangesSince, "touched" | "gone" | "recall">;

/** An open listing. `cursor` is where the feed begins in the next run; "" if the source has no feed. */
type SourceListing =
  /** The source reported its changes since the last run. */
  | { readonly by: "feed"; readonly changes: FeedChanges; readonly cursor: string }
  /** The source lists everything. */
  | { readonly by: "listing"; readonly pages: AsyncIterator<Page, Completeness>; readonly cursor: string };

/** After so many runs, or so many days, by the feed, everything is listed again. */
const RUNS_BY_FEED = 9;
const DAYS_BY_FEED = 7;

/** Uses the change feed if it can be trusted, otherwise lists everything. */
async function openListing(
  source: Source,
  last: ListingCheckpoint | undefined,
  ledger: Ledger,
  job: Pick<JobContext, "signal" | "log">,
): Promise<SourceListing> {
  const { signal } = job;
  const mayUseFeed = last !== undefined && isFeedUsable(source, last);
  const changes = mayUseFeed ? await readFeed(source, last.cursor, ledger, signal) : undefined;
  if (changes) return { by: "feed", changes, cursor: changes.cursor };
  return mayUseFeed
    ? await listInstead(source, "the source cannot tell what changed", job)
    : await startListing(source, signal);
}

async function listInstead(
  source: Source,
  reason: string,
  job: Pick<JobContext, "signal" | "log">,
): Promise<SourceListing> {
  job.log(`Change feed unusable (${reason}): listing everything.`);
  return await startListing(source, job.signal);
}

async function startListing(source: Source, signal: AbortSignal): Promise<SourceListing> {
  // Before the first page: changes during the listing are then reported by the next run.
  const cursor = await readCursor(source, signal);
  return { by: "listing", pages: startEarly(source.list(signal)), cursor };
}

function isFeedUsable({ feed }: Source, { cursor, listedAt, runsByFeed }: ListingCheckpoint): boolean {
  const days = (Date.now() - Date.parse(listedAt)) / 86_400_000;
  return feed !== undefined && cursor !== "" && runsByFeed < RUNS_BY_FEED && days >= 0 && days < DAYS_BY_FEED;
}

/** Returns undefined on any error: the listing meets the same error, and explains it better. */
async function readFeed(
  source: Source,
  cursor: string,
  ledger: Ledger,
  signal: AbortSignal,
): Promise<ChangesSince | undefined> {
  const isKnown = async (item: ItemId): Promise<boolean> => (await ledger.get(item)) !== undefined;
  return await source.feed?.since(cursor, isKnown, signal).catch(() => undefined);
}

async function readCursor(source: Source, signal: AbortSignal): Promise<string> {
  return (await source.feed?.cursor(signal).catch(() => "")) ?? "";
}

const WITHHELD = "not to be indexed, as the last listing says";
const PAGE = 1000;

/** Yields what a listing would say: suspects as the ledger has them, touched items as they are now. */
export async function* recallListing(
  { touched, recall }: FeedChanges,
  suspects: readonly ItemId[],
  ledger: Ledger,
): Listing {
  for (const slice of slicesOf(suspects, PAGE)) {
    const page: Sighting[] = [];
    for (const entry of await ledger.getMany(slice)) {
      if (!entry?.seen) continue;
      const { itemId, seen, mirrored } = entry;
      const { size, modifiedAt } = seen;
      const { etag = "", contentVersion = "" } = mirrored?.fingerprint ?? {};
      const sighting = recall({ itemId, ...seen, fingerprint: { size, modifiedAt, etag, contentVersion } });
      page.push(seen.withheld ? { ...sighting, withheld: WITHHELD } : sighting);
    }
    yield page;
  }
  yield touched;
  return "complete";
}

/**
 * Requests the first value of a generator now, so that its work runs while the caller does something else. Not a generator itself: wrapping
 * one in another costs several rounds of the event loop per value.
 */
function startEarly<T, R>(generator: AsyncGenerator<T, R>): AsyncIterator<T, R> {
  let first: Promise<IteratorResult<T, R>> | undefined = generator.next();
  // The reader gets the failure; until then it must not count as unhandled.
  first.catch(() => undefined);
  return {
    next() {
      const step = first ?? generator.next();
      first = undefined;
      return step;
    },
  };
}

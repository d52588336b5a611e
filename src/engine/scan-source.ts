import { createHash } from "node:crypto";
import type { SourceConfig } from "../contracts/domain.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { ItemState, Ledger, ListingCheckpoint } from "../contracts/ledger.ts";
import type { ChangesSince, Completeness, Listed, Listing, Sighting, Source } from "../contracts/source.ts";
import { startEarly } from "../lib/start-early.ts";
import { FilesOnDisk } from "../mirror/files-on-disk.ts";
import type { FileOnDisk } from "../mirror/scan-files.ts";
import { MTIME_TOLERANCE_MS } from "../plan/judge.ts";
import { isDue, PARTS } from "./check-hashes.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { DownloadStep } from "./run-context.ts";

/** The source and the mirror as this run finds them. */
export interface SourceScan {
  readonly listing: SourceListing;
  /** The mirror; it goes along with what this run does there. Empty where only `delta` is looked at. */
  readonly disk: FilesOnDisk;
  /** Only this has to be judged; undefined: everything that is listed. */
  readonly delta: FeedDelta | undefined;
  /** Something was listed before, and what is wanted has not changed since. */
  readonly isNext: boolean;
  /** What this look leaves for the next, whatever else comes of it. */
  readonly checkpoint: Pick<ListingCheckpoint, "policy" | "mark" | "listedAt" | "runsByFeed" | "hiddenRows">;
  /** How many parts in a hundred of the files are due to be hashed, the first of them, and whether that is put off no longer. */
  readonly rotation: { readonly owed: number; readonly next: number; readonly isNow: boolean };
}

/** What happened at the source since it was last looked at, and what of the mirror is not as it should be. */
export interface FeedDelta {
  readonly gone: readonly ItemId[];
  /** Items of which nothing was heard and that are to be judged all the same. */
  readonly suspects: readonly ItemId[];
  /** How many items belong on disk, and how many of them have a file there. */
  readonly held: number;
  readonly found: number;
  /** Every file of the ledger lay on disk when this run began, and no other; and those whose names look marked. */
  readonly inStep?: { readonly marked: ReadonlyMap<ItemId, string> };
  /** Somebody watches the source and told where something changed: nothing but that is looked at, not even on disk. */
  readonly isHinted: boolean;
}

/** So many runs may pass without hashing any file; then those parts are hashed together. */
const MAX_OWED = 10;

/** Scans the mirror while the source is asked what it has, or what changed. */
export async function scanSource(step: DownloadStep, parts: EngineParts): Promise<SourceScan> {
  const { run, request, mirror, source, ledger, job } = step;
  const policy = digestPolicy(run.config, parts);
  const before = ledger.listing;
  const last = request.mode === "incremental" && before?.policy === policy ? before : undefined;
  const isHinted = request.onlyFolders?.has(run.config.sourceId) ?? false;
  const owed = request.checksum ? PARTS : (before?.hashesOwed ?? 0) + (isHinted ? 0 : 1);
  const rotation = { owed, next: before?.nextHashes ?? 0, isNow: owed >= MAX_OWED && !isHinted };
  // First of all: the mirror that is looked at is the one this run will work with.
  await mirror.recover(async (item) => (await ledger.get(item))?.mirrored?.file ?? "");
  const stop = new AbortController();
  const files = await ledger.countFiles();
  const scanning = isHinted && last ? undefined : mirror.scan({ expected: files, signal: stop.signal });
  scanning?.catch(() => undefined);
  try {
    let listing = await openListing(source, last, ledger, job);
    const checkpoint = (): SourceScan["checkpoint"] => ({
      policy,
      mark: listing.mark,
      ...ageOf(listing, last, { isHinted }),
    });
    if (listing.by === "feed" && isHinted) {
      const delta = { gone: listing.changes.gone, suspects: [], held: files, found: 0, isHinted };
      return { listing, disk: new FilesOnDisk(), delta, isNext: true, checkpoint: checkpoint(), rotation };
    }
    const disk = (await scanning) ?? (await mirror.scan());
    mirror.follow(disk);
    const delta = listing.by === "feed" ? await findDelta(listing, step, disk, rotation) : undefined;
    if (listing.by === "feed" && !delta) listing = await listEverything(source, job);
    return { listing, disk, delta, isNext: last !== undefined, checkpoint: checkpoint(), rotation };
  } finally {
    stop.abort();
  }
}

/**
 * What is not as the ledger says, here or there; and what is due to be hashed. undefined: a file has an item that was not listed, and
 * the feed says nothing of it. A run was cut off, or somebody edited a map file: only a listing tells whether it is gone.
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
  let [held, found] = [0, 0];
  for await (const page of ledger.states()) {
    for (const state of page) {
      const { itemId, file, isListed } = state;
      if (file !== null) held += 1;
      const onDisk = file ? disk.get(file) : undefined;
      if (onDisk) found += 1;
      if (file?.includes("~")) marked.set(itemId, file);
      if (reported.has(itemId)) continue;
      if (!isListed) return undefined;
      // What lies behind a document, a page or a table, is judged with it.
      if (converter || !isInOrder(state, onDisk) || (rotation.isNow && isDue(itemId, rotation))) suspects.push(itemId);
    }
  }
  // A dry run changes nothing on disk, where those look who rely on this.
  const isInStep = !converter && !job.dryRun && held === found && found === disk.size;
  return { gone, suspects, held, found, isHinted: false, ...(isInStep && { inStep: { marked } }) };
}

function isInOrder({ observed, isCurrent }: ItemState, found: FileOnDisk | undefined): boolean {
  if (!found || !isCurrent) return false;
  if (!observed) return true;
  return found.size === observed.size && Math.abs(found.mtimeMs - observed.mtimeMs) <= MTIME_TOLERANCE_MS;
}

function ageOf(
  listing: SourceListing,
  last: ListingCheckpoint | undefined,
  { isHinted }: Pick<FeedDelta, "isHinted">,
): Pick<ListingCheckpoint, "listedAt" | "runsByFeed" | "hiddenRows"> {
  if (listing.by === "listing" || !last) return { listedAt: new Date().toISOString(), runsByFeed: 0, hiddenRows: 0 };
  const { listedAt, hiddenRows } = last;
  // A watch looks at everything every few minutes, and that counts.
  return { listedAt, hiddenRows, runsByFeed: last.runsByFeed + (isHinted ? 0 : 1) };
}

function digestPolicy(
  config: SourceConfig,
  { acceptedTypes, maxFileBytes }: Pick<EngineParts, "acceptedTypes" | "maxFileBytes">,
): string {
  const { kind: _kind, ...settings } = config;
  const wanted = [settings, [...acceptedTypes].sort(), maxFileBytes];
  return createHash("sha256").update(JSON.stringify(wanted)).digest("base64");
}

export type Page = readonly Listed[];

type FeedChanges = Pick<ChangesSince, "touched" | "gone" | "recall">;

/** A look at the source on its way. `mark` is where the next look by the feed begins; "" when there is no feed. */
type SourceListing =
  /** The source told what changed since the last look. */
  | { readonly by: "feed"; readonly changes: FeedChanges; readonly mark: string }
  /** Everything was asked for. */
  | { readonly by: "listing"; readonly pages: AsyncIterator<Page, Completeness>; readonly mark: string };

/** The feed is believed for so many runs and so long; then everything is listed again. */
const RUNS_BY_FEED = 9;
const DAYS_BY_FEED = 7;

/** The cheap way where it can be trusted, otherwise the listing, which is the truth. */
async function openListing(
  source: Source,
  last: ListingCheckpoint | undefined,
  ledger: Ledger,
  job: Pick<JobContext, "signal" | "log">,
): Promise<SourceListing> {
  const { signal } = job;
  const mayAsk = last !== undefined && mayGoByFeed(source, last);
  const changes = mayAsk ? await askFeed(source, last.mark, ledger, signal) : undefined;
  if (changes) return { by: "feed", changes: changes, mark: changes.cursor };
  return mayAsk ? await listEverything(source, job) : await startListing(source, signal);
}

/** What the feed told is not enough. */
async function listEverything(source: Source, job: Pick<JobContext, "signal" | "log">): Promise<SourceListing> {
  job.log("What changed since the last look cannot be told for sure: listing everything.");
  return await startListing(source, job.signal);
}

async function startListing(source: Source, signal: AbortSignal): Promise<SourceListing> {
  // Taken before the first page is asked for: what happens while we list is heard of next time.
  const mark = await askMark(source, signal);
  return { by: "listing", pages: startEarly(source.list(signal)), mark };
}

function mayGoByFeed({ feed }: Source, { mark, listedAt, runsByFeed }: ListingCheckpoint): boolean {
  const days = (Date.now() - Date.parse(listedAt)) / 86_400_000;
  return feed !== undefined && mark !== "" && runsByFeed < RUNS_BY_FEED && days >= 0 && days < DAYS_BY_FEED;
}

/** Whatever keeps the feed from answering, the listing meets it too, and says it better. */
async function askFeed(
  source: Source,
  mark: string,
  ledger: Ledger,
  signal: AbortSignal,
): Promise<ChangesSince | undefined> {
  const isKnown = async (item: ItemId): Promise<boolean> => (await ledger.get(item)) !== undefined;
  return await source.feed?.since(mark, isKnown, signal).catch(() => undefined);
}

async function askMark(source: Source, signal: AbortSignal): Promise<string> {
  return (await source.feed?.cursor(signal).catch(() => "")) ?? "";
}

const WITHHELD = "as at the last listing, it is not to be taken";
const PAGE = 1000;

/** What a listing would say of these: what was touched as it is now, what was not as it was. */
export async function* recallListing(
  { touched, recall }: FeedChanges,
  suspects: readonly ItemId[],
  ledger: Ledger,
): Listing {
  for (let from = 0; from < suspects.length; from += PAGE) {
    const page: Sighting[] = [];
    for (const entry of await ledger.getMany(suspects.slice(from, from + PAGE))) {
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

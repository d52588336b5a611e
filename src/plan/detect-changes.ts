import type { AbsentChange, Change, ListedChange } from "../contracts/change.ts";
import type { RemovalLimits } from "../contracts/domain.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { Ledger, LedgerEntry, MeasuredFile } from "../contracts/ledger.ts";
import type { Completeness, Departed, Listed, Sighting, Unreadable } from "../contracts/source.ts";
import { type DiskLookup, isAsMeasured, judgeFile } from "./judge.ts";
import { leave } from "./removals.ts";

export interface DetectPolicy {
  readonly mode: "full" | "incremental";
  readonly acceptedTypes: ReadonlySet<string>;
  readonly maxBytes: number;
  readonly limits: RemovalLimits;
  readonly confirmDeletes: boolean;
  /** Number of items with a file or document before; given if only reported items are judged. */
  readonly knownBefore?: number;
  /** Returns how many items went missing in recent runs; called only if something is missing. */
  readonly justLeft?: () => Promise<number>;
  /** Whether an unchanged document is only counted; without it, every item has its change. */
  readonly mayOnlyCount?: (item: ItemId) => boolean;
}

/** The changes of one page. */
export interface JudgedPage {
  readonly changes: readonly Change[];
  /** How many unchanged items are only counted; all have their file in the mirror. */
  readonly unchanged: number;
}

/** The known items of a source; `items` may leave out those that were neither listed nor reported. */
interface KnownItems extends Pick<Ledger, "getMany" | "items" | "unchangedFiles"> {
  /** Number of known items. */
  count(): Promise<{ readonly items: number }>;
}

export interface Detected {
  readonly completeness: Completeness;
  readonly unreadable: readonly Unreadable[];
  readonly listed: number;
  /** Listed items that are not to be indexed. */
  readonly withheld: readonly ItemId[];
  /** Why removals are held, or "". */
  readonly heldBecause: string;
}

/**
 * Yields one change for every listed or known item, in pages, except for those that are only counted. Changes nothing; a dry
 * run prints the result. Absence counts as deletion only if the listing was complete.
 */
export async function* detectChanges(
  listing: AsyncIterator<readonly Listed[], Completeness>,
  ledger: KnownItems,
  disk: DiskLookup,
  policy: DetectPolicy,
): AsyncGenerator<JudgedPage, Detected> {
  const state: ListingState = {
    completeness: "complete",
    unreadable: [],
    listed: new Set(),
    withheld: [],
    entries: 0,
    known: 0,
    unwantedNow: new Map(),
    departed: new Map(),
    undecided: new Map(),
    address: undefined,
    atHostRoot: false,
  };
  let next = await listing.next();
  for (; !next.done; next = await listing.next()) {
    for (const item of next.value) if (item.kind === "sighting" && item.withheld) state.withheld.push(item.itemId);
    const sightings = next.value.filter((item) => item.kind === "sighting");
    for (const item of next.value) {
      if (item.kind === "unreadable") state.unreadable.push(item);
      if (item.kind === "departed") state.departed.set(item.itemId, item);
      if (item.kind === "undecided") state.undecided.set(item.itemId, item.reason);
    }
    const toJudge = await countUnchanged(sightings, state, ledger, disk, policy);
    const entries = await ledger.getMany(toJudge.map(({ itemId }) => itemId));
    const changes = toJudge.map((sighting, i) => judgeListed(sighting, entries[i], state, disk, policy));
    const last = sightings.at(-1);
    if (last) state.atHostRoot = last.serverPath === `/${last.path}`;
    yield { changes, unchanged: sightings.length - toJudge.length };
  }
  state.completeness = next.value;
  const heldBecause = yield* judgeAbsent(ledger, state, policy);
  const { completeness, unreadable, listed, withheld } = state;
  return { completeness, unreadable, listed: listed.size, withheld, heldBecause };
}

/** The listing so far. */
interface ListingState {
  completeness: Completeness;
  readonly unreadable: Unreadable[];
  readonly listed: Set<ItemId>;
  readonly withheld: ItemId[];
  /** Listed items with an entry, and those of them with a file or document. */
  entries: number;
  known: number;
  /** Indexed and still listed, but no longer wanted: removed under the same guard. */
  readonly unwantedNow: Map<ItemId, string>;
  /** Reported as gone by the source. */
  readonly departed: Map<ItemId, Departed>;
  /** Undecided by the source, and why: they stay. */
  readonly undecided: Map<ItemId, string>;
  /** Whether the site has the same address; undefined until a known item shows it. */
  address: "same" | "other" | undefined;
  /** Server paths begin at the source's root. */
  atHostRoot: boolean;
}

/**
 * Counts the items of which everything is as before, and returns the others: most listings change little, and their entries
 * take longer to read than all that tells that nothing changed.
 */
async function countUnchanged(
  sightings: readonly Sighting[],
  state: ListingState,
  ledger: KnownItems,
  disk: DiskLookup,
  policy: DetectPolicy,
): Promise<readonly Sighting[]> {
  const { mode, mayOnlyCount } = policy;
  if (mode === "full" || !mayOnlyCount) return sightings;
  const files = await ledger.unchangedFiles(sightings);
  const isUnchanged = (sighting: Sighting, measured: MeasuredFile | undefined): boolean => {
    if (!measured || sighting.form !== "document" || !mayOnlyCount(sighting.itemId)) return false;
    const onDisk = disk(measured.file);
    return onDisk !== undefined && isAsMeasured(onDisk, measured) && !whyUnwanted(sighting, policy);
  };
  return sightings.filter((sighting, i) => {
    if (!isUnchanged(sighting, files[i])) return true;
    const { size } = state.listed;
    if (state.listed.add(sighting.itemId).size > size) state.entries += 1;
    state.known += 1;
    return false;
  });
}

function judgeListed(
  sighting: Sighting,
  entry: LedgerEntry | undefined,
  state: ListingState,
  disk: DiskLookup,
  policy: DetectPolicy,
): Change {
  const { itemId } = sighting;
  if (entry && !state.listed.has(itemId)) state.entries += 1;
  state.listed.add(itemId);
  const isKnown = hasFileOrDocument(entry);
  if (isKnown) state.known += 1;
  const unwanted = whyUnwanted(sighting, policy);
  if (!unwanted) return withAddress(judgeFile(sighting, entry, disk, policy), state);
  if (isKnown) state.unwantedNow.set(itemId, unwanted);
  return { kind: "skipped", itemId, sighting, entry, reason: unwanted };
}

/** A site that moved to another address changes every link and no file. The first known item decides for all. */
function withAddress(change: ListedChange, state: ListingState): ListedChange {
  const before = state.address === undefined ? change.entry?.seen?.rawUrl : undefined;
  if (before) state.address = isSameOrigin(before, change.sighting.rawUrl) ? "same" : "other";
  if (state.address !== "other" || change.kind !== "unchanged") return change;
  return { ...change, kind: "moved", reason: "the site has another address" };
}

function isSameOrigin(a: string, b: string): boolean {
  return URL.parse(a)?.origin === URL.parse(b)?.origin;
}

export function whyUnwanted(sighting: Sighting, policy: Pick<DetectPolicy, "acceptedTypes" | "maxBytes">): string {
  if (sighting.withheld) return sighting.withheld;
  const type = sighting.documentType;
  if (!policy.acceptedTypes.has(type)) return type ? `file type '${type}' is not accepted` : "no file type";
  if (sighting.fingerprint.size > policy.maxBytes) return `larger than ${policy.maxBytes} bytes`;
  return "";
}

/** Whether the entry has a file or a document. An entry that was only listed has neither. */
function hasFileOrDocument(entry: LedgerEntry | undefined): boolean {
  return entry !== undefined && (entry.mirrored !== null || entry.indexed !== null);
}

async function* judgeAbsent(
  ledger: KnownItems,
  state: ListingState,
  policy: DetectPolicy,
): AsyncGenerator<JudgedPage, string> {
  const { absent, known } = await findAbsent(ledger, state);
  const kept: Change[] = [];
  const gone: AbsentChange[] = [];
  for (const entry of absent) {
    const change = { itemId: entry.itemId, entry, stillListed: state.unwantedNow.has(entry.itemId) };
    const departed = state.departed.get(entry.itemId);
    const reason = departed === undefined ? whyKept(entry, state) : "";
    const isUndecided = state.undecided.has(entry.itemId);
    if (reason) kept.push({ kind: "kept", ...change, isUndecided, reason });
    else {
      const why = departed?.reason ?? state.unwantedNow.get(entry.itemId) ?? "not listed any more";
      gone.push({ kind: "removed", ...change, reason: why });
    }
  }
  const replaced = findReplaced(gone, state);
  const isLoss = (change: AbsentChange): boolean => hasFileOrDocument(change.entry) && !replaced.has(change);
  const listed = state.listed.size - state.unwantedNow.size;
  const unreported = Math.max(0, (policy.knownBefore ?? known) - known);
  const justLeft = gone.some(isLoss) ? await policy.justLeft?.() : undefined;
  const loss = { isLoss, justLeft: justLeft ?? 0, known: known + unreported, listed: listed + unreported };
  const { stay, heldBecause } = leave(gone, loss, policy);
  const held = new Set(stay);
  const hold = (change: AbsentChange): AbsentChange => ({ ...change, kind: "held", reason: heldBecause });
  yield { changes: [...kept, ...gone.map((change) => (held.has(change) ? hold(change) : change))], unchanged: 0 };
  return heldBecause;
}

/**
 * Returns the items that a listed successor replaces: they are not lost. One per successor: many pages that became one
 * are no move, and look like a site that redirects everything to its sign-in page.
 */
function findReplaced(gone: readonly AbsentChange[], state: ListingState): ReadonlySet<AbsentChange> {
  const bySuccessor = new Map<ItemId, AbsentChange>();
  for (const change of gone) {
    const successor = state.departed.get(change.itemId)?.successor;
    if (!successor || !state.listed.has(successor) || state.unwantedNow.has(successor)) continue;
    if (hasFileOrDocument(change.entry) && !bySuccessor.has(successor)) bySuccessor.set(successor, change);
  }
  return new Set(bySuccessor.values());
}

/** Returns the entries that were not listed or not wanted, and the number of all entries with a file or document. */
async function findAbsent(ledger: KnownItems, state: ListingState): Promise<{ absent: LedgerEntry[]; known: number }> {
  const absent: LedgerEntry[] = [];
  let known = state.known;
  // All listed items are known and wanted, and there are no other entries.
  const isAllKnown = state.unwantedNow.size === 0 && state.entries === state.listed.size;
  if (isAllKnown && (await ledger.count()).items === state.entries) return { absent, known };
  for await (const items of ledger.items()) {
    const missing = items.filter((item) => !state.listed.has(item) || state.unwantedNow.has(item));
    if (missing.length === 0) continue;
    for (const entry of await ledger.getMany(missing)) {
      if (!entry) continue;
      if (!state.listed.has(entry.itemId) && hasFileOrDocument(entry)) known += 1;
      absent.push(entry);
    }
  }
  return { absent, known };
}

function whyKept(entry: LedgerEntry, state: ListingState): string {
  const undecided = state.undecided.get(entry.itemId);
  if (undecided !== undefined) return undecided;
  if (state.completeness === "partial") return "the listing was incomplete";
  const path = entry.mirrored?.serverPath ?? entry.seen?.serverPath ?? "";
  // If the source's root is not the host's, rather keep too much than lose what is below an unreadable folder.
  const isCovered = (folder: string): boolean =>
    state.atHostRoot ? `${path}/`.startsWith(`/${folder}/`) : `${path}/`.includes(`/${folder}/`);
  const cover = state.unreadable.find(
    (unreadable) => unreadable.path === "" || unreadable.itemId === entry.itemId || isCovered(unreadable.path),
  );
  return cover ? `not readable: ${cover.reason}` : "";
}

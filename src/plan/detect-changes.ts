import type { AbsentChange, Change, ListedChange } from "../contracts/change.ts";
import type { RemovalLimits } from "../contracts/domain.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { Ledger, LedgerEntry } from "../contracts/ledger.ts";
import type { Completeness, Departed, Listed, Sighting, Unreadable } from "../contracts/source.ts";
import { type DiskLookup, judgeFile } from "./judge.ts";
import { heldBecause } from "./removal-guard.ts";

export interface DetectPolicy {
  readonly mode: "full" | "incremental";
  readonly acceptedTypes: ReadonlySet<string>;
  readonly maxBytes: number;
  readonly limits: RemovalLimits;
  readonly confirmDeletes: boolean;
  /** Where only what was heard of is judged: how many items stood for something before. */
  readonly heldBefore?: number;
  /** Asked when something is missing: how many left in other looks a moment ago. */
  readonly justLeft?: () => Promise<number>;
}

/** What is remembered of the source; `items` may leave out what was neither listed nor heard of. */
interface KnownItems extends Pick<Ledger, "getMany" | "items"> {
  /** How many there are. */
  count(): Promise<{ readonly items: number }>;
}

export interface Detected {
  readonly completeness: Completeness;
  readonly unreadable: readonly Unreadable[];
  readonly listed: number;
  /** Those of them that the source says are not to be taken. */
  readonly withheld: readonly ItemId[];
  /** Why removals are held; "" when none are. */
  readonly heldBecause: string;
}

/**
 * The plan, in pages: one change for every item that was listed or is known. Touches nothing; a dry run prints what this yields.
 * Absence counts as deletion only where the listing was complete.
 */
export async function* detectChanges(
  listing: AsyncIterator<readonly Listed[], Completeness>,
  ledger: KnownItems,
  disk: DiskLookup,
  policy: DetectPolicy,
): AsyncGenerator<readonly Change[], Detected> {
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
  let step = await listing.next();
  for (; !step.done; step = await listing.next()) {
    for (const each of step.value) if (each.kind === "sighting" && each.withheld) state.withheld.push(each.itemId);
    const sightings = step.value.filter((each) => each.kind === "sighting");
    for (const each of step.value) {
      if (each.kind === "unreadable") state.unreadable.push(each);
      if (each.kind === "departed") state.departed.set(each.itemId, each);
      if (each.kind === "undecided") state.undecided.set(each.itemId, each.reason);
    }
    const entries = await ledger.getMany(sightings.map(({ itemId }) => itemId));
    yield sightings.map((sighting, i) => judgeListed(sighting, entries[i], state, disk, policy));
  }
  state.completeness = step.value;
  const heldBecause = yield* judgeAbsent(ledger, state, policy);
  const { completeness, unreadable, listed, withheld } = state;
  return { completeness, unreadable, listed: listed.size, withheld, heldBecause };
}

/** What the listing has said so far. */
interface ListingState {
  completeness: Completeness;
  readonly unreadable: Unreadable[];
  readonly listed: Set<ItemId>;
  readonly withheld: ItemId[];
  /** How many of the listed ones there was an entry for, and how many of these stood for something. */
  entries: number;
  known: number;
  /** Indexed once, listed still, wanted no more: these leave like removed ones, under the same guard. */
  readonly unwantedNow: Map<ItemId, string>;
  /** Gone by the source's own word. */
  readonly departed: Map<ItemId, Departed>;
  /** To be kept by the source's own word, and why. */
  readonly undecided: Map<ItemId, string>;
  /** Whether the site is where it was; undefined until a known item tells. */
  address: "same" | "other" | undefined;
  /** Server paths are paths below the source's root, with nothing above it. */
  atHostRoot: boolean;
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
  state.atHostRoot = sighting.serverPath === `/${sighting.path}`;
  const held = isHeld(entry);
  if (held) state.known += 1;
  const unwanted = whyUnwanted(sighting, policy);
  if (!unwanted) return withAddress(judgeFile(sighting, entry, disk, policy), state);
  if (held) state.unwantedNow.set(itemId, unwanted);
  return { kind: "skipped", itemId, sighting, entry, reason: unwanted };
}

/** A site that moved to another address changes every link and no file. One item that is known tells for all. */
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

/** Does the entry stand for something on disk or in the index? An entry that was only ever seen does not. */
function isHeld(entry: LedgerEntry | undefined): boolean {
  return entry !== undefined && (entry.mirrored !== null || entry.indexed !== null);
}

async function* judgeAbsent(
  ledger: KnownItems,
  state: ListingState,
  policy: DetectPolicy,
): AsyncGenerator<readonly Change[], string> {
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
  const missing = gone.filter((change) => isHeld(change.entry) && !replaced.has(change)).length;
  const listed = state.listed.size - state.unwantedNow.size;
  const unheard = Math.max(0, (policy.heldBefore ?? known) - known);
  const justLeft = missing > 0 ? await policy.justLeft?.() : undefined;
  const loss = { missing, justLeft: justLeft ?? 0, known: known + unheard, listed: listed + unheard };
  const because = heldBecause(loss, policy);
  const judged = gone.map((change) => (replaced.has(change) ? change : hold(change, because)));
  yield [...kept, ...judged];
  return because;
}

/**
 * What moved is not lost: its successor comes in the same run. One for each successor; that many pages have become one and the
 * same is no move, and looks like a site that leads everybody to its sign-in page.
 */
function findReplaced(gone: readonly AbsentChange[], state: ListingState): ReadonlySet<AbsentChange> {
  const bySuccessor = new Map<ItemId, AbsentChange>();
  for (const change of gone) {
    const successor = state.departed.get(change.itemId)?.successor;
    if (!successor || !state.listed.has(successor) || state.unwantedNow.has(successor)) continue;
    if (isHeld(change.entry) && !bySuccessor.has(successor)) bySuccessor.set(successor, change);
  }
  return new Set(bySuccessor.values());
}

function hold(change: AbsentChange, because: string): AbsentChange {
  return because && isHeld(change.entry) ? { ...change, kind: "held", reason: because } : change;
}

/** The entries whose items were not listed, or not wanted; and how many entries stand for something in all. */
async function findAbsent(ledger: KnownItems, state: ListingState): Promise<{ absent: LedgerEntry[]; known: number }> {
  const absent: LedgerEntry[] = [];
  let known = state.known;
  // Everything that was listed is known and wanted, and nothing else is known.
  const isAllKnown = state.unwantedNow.size === 0 && state.entries === state.listed.size;
  if (isAllKnown && (await ledger.count()).items === state.entries) return { absent, known };
  for await (const items of ledger.items()) {
    const missing = items.filter((item) => !state.listed.has(item) || state.unwantedNow.has(item));
    if (missing.length === 0) continue;
    for (const entry of await ledger.getMany(missing)) {
      if (!entry) continue;
      if (!state.listed.has(entry.itemId) && isHeld(entry)) known += 1;
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
  // Where something unknown lies above the root, it is better to keep too much than to miss what is below the hole.
  const isCovered = (hole: string): boolean =>
    state.atHostRoot ? `${path}/`.startsWith(`/${hole}/`) : `${path}/`.includes(`/${hole}/`);
  const cover = state.unreadable.find(
    (hole) => hole.path === "" || hole.itemId === entry.itemId || isCovered(hole.path),
  );
  return cover ? `not readable: ${cover.reason}` : "";
}

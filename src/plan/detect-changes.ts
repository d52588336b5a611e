import type { AbsentChange, Change, ListedChange } from "../contracts/change.ts";
import type { RemovalLimits } from "../contracts/domain.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { Ledger, LedgerEntry, Mirrored } from "../contracts/ledger.ts";
import type { Completeness, Departed, Listed, Sighting, Unreadable } from "../contracts/source.ts";
import { fileTypeOf } from "../lib/file-type.ts";
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
export interface KnownItems extends Pick<Ledger, "getMany" | "items"> {
  /** How many there are. */
  count(): Promise<{ readonly items: number }>;
}

/** What the disk holds at a path of ours, undefined when nothing. */
export type DiskLookup = (file: string) => { readonly size: number; readonly mtimeMs: number } | undefined;

export interface Detected {
  readonly completeness: Completeness;
  readonly unreadable: readonly Unreadable[];
  readonly listed: number;
  /** Those of them that the source says are not to be taken. */
  readonly withheld: readonly ItemId[];
  /** Why removals are held; "" when none are. */
  readonly heldBecause: string;
}

/** File systems keep modified times with different precision. */
export const MTIME_TOLERANCE_MS = 2;

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
  const look: Look = {
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
    for (const each of step.value) if (each.kind === "sighting" && each.withheld) look.withheld.push(each.itemId);
    const sightings = step.value.filter((each) => each.kind === "sighting");
    for (const each of step.value) {
      if (each.kind === "unreadable") look.unreadable.push(each);
      if (each.kind === "departed") look.departed.set(each.itemId, each);
      if (each.kind === "undecided") look.undecided.set(each.itemId, each.reason);
    }
    const entries = await ledger.getMany(sightings.map(({ itemId }) => itemId));
    yield sightings.map((sighting, i) => judgeListed(sighting, entries[i], look, disk, policy));
  }
  look.completeness = step.value;
  const heldBecause = yield* judgeAbsent(ledger, look, policy);
  const { completeness, unreadable, listed, withheld } = look;
  return { completeness, unreadable, listed: listed.size, withheld, heldBecause };
}

/** What has been seen of the source so far. */
interface Look {
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
  look: Look,
  disk: DiskLookup,
  policy: DetectPolicy,
): Change {
  const { itemId } = sighting;
  if (entry && !look.listed.has(itemId)) look.entries += 1;
  look.listed.add(itemId);
  look.atHostRoot = sighting.serverPath === `/${sighting.path}`;
  const held = isHeld(entry);
  if (held) look.known += 1;
  const unwanted = whyUnwanted(sighting, policy);
  if (!unwanted) return withAddress(judge(sighting, entry, disk, policy), look);
  if (held) look.unwantedNow.set(itemId, unwanted);
  return { kind: "skipped", itemId, sighting, entry, reason: unwanted };
}

/** A site that moved to another address changes every link and no file. One item that is known tells for all. */
function withAddress(change: ListedChange, look: Look): ListedChange {
  const before = look.address === undefined ? change.entry?.seen?.rawUrl : undefined;
  if (before) look.address = isSameOrigin(before, change.sighting.rawUrl) ? "same" : "other";
  if (look.address !== "other" || change.kind !== "unchanged") return change;
  return { ...change, kind: "moved", reason: "the site has another address" };
}

function isSameOrigin(a: string, b: string): boolean {
  return URL.parse(a)?.origin === URL.parse(b)?.origin;
}

function whyUnwanted(sighting: Sighting, policy: DetectPolicy): string {
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

export function judge(
  sighting: Sighting,
  entry: LedgerEntry | undefined,
  disk: DiskLookup,
  policy: Pick<DetectPolicy, "mode">,
): ListedChange {
  const known = entry?.mirrored;
  const base = { itemId: sighting.itemId, sighting, entry };
  if (!known) return { kind: "added", ...base, reason: "new at the source" };
  if (known.file === "") return { kind: "added", ...base, reason: "never fetched", anomaly: "missing" };
  const onDisk = disk(known.file);
  if (!onDisk) return { kind: "added", ...base, reason: "missing on disk", anomaly: "missing" };
  const changed = whyChanged(sighting, known);
  if (changed) return { kind: "changed", ...base, reason: changed };
  const altered = whyAltered(known, onDisk, sighting);
  if (altered) return { kind: "changed", ...base, reason: altered, anomaly: "altered" };
  if (policy.mode === "full") return { kind: "changed", ...base, reason: "full crawl" };
  if (known.sourceError) return { kind: "changed", ...base, reason: "the last download failed" };
  if (sighting.serverPath === known.serverPath) return { kind: "unchanged", ...base, reason: "" };
  return { kind: "moved", ...base, reason: `was '${known.serverPath}'` };
}

function whyAltered(
  known: Mirrored,
  onDisk: { size: number; mtimeMs: number },
  { contentHash }: Pick<Sighting, "contentHash">,
): string {
  if (!known.observed) return "";
  // As after a ledger was built again from exports that are older than the mirror.
  if (contentHash && known.observed.sha256 !== contentHash) return "altered on disk: other content";
  if (onDisk.size !== known.observed.size) return "altered on disk: another size";
  if (Math.abs(onDisk.mtimeMs - known.observed.mtimeMs) > MTIME_TOLERANCE_MS) return "altered on disk: another time";
  return "";
}

/** Listing against listing, never against bytes on disk. Times compare with !==: a restored version may be older. */
function whyChanged(sighting: Sighting, known: Mirrored): string {
  const now = sighting.fingerprint;
  const was = known.fingerprint;
  if (now.size !== was.size) return `size ${was.size} became ${now.size}`;
  const isAsWas = sighting.dateIsLabel && was.contentVersion !== "" && now.contentVersion === was.contentVersion;
  if (now.modifiedAt !== was.modifiedAt && !isAsWas) return `modified ${now.modifiedAt}`;
  if (fileTypeOf(sighting.name) !== fileTypeOf(known.name)) return "another file type";
  // The ETag changes with every touch, a rename or a property too; the content version tells whether the bytes did.
  // What we do not remember (a lost `.lockstep/`) is no evidence of a change.
  if (was.contentVersion && now.contentVersion) {
    return now.contentVersion === was.contentVersion ? "" : "another content version";
  }
  // Nor is what the source does not tell just now, of the published version below a draft for one.
  if (was.contentVersion) return "";
  const touched = was.etag !== "" && now.etag !== "" && now.etag !== was.etag;
  return touched ? "another ETag" : "";
}

async function* judgeAbsent(
  ledger: KnownItems,
  look: Look,
  policy: DetectPolicy,
): AsyncGenerator<readonly Change[], string> {
  const { absent, known } = await findAbsent(ledger, look);
  const kept: Change[] = [];
  const gone: AbsentChange[] = [];
  for (const entry of absent) {
    const change = { itemId: entry.itemId, entry, stillListed: look.unwantedNow.has(entry.itemId) };
    const departed = look.departed.get(entry.itemId);
    const reason = departed === undefined ? whyKept(entry, look) : "";
    const isUndecided = look.undecided.has(entry.itemId);
    if (reason) kept.push({ kind: "kept", ...change, isUndecided, reason });
    else {
      const why = departed?.reason ?? look.unwantedNow.get(entry.itemId) ?? "not listed any more";
      gone.push({ kind: "removed", ...change, reason: why });
    }
  }
  const replaced = findReplaced(gone, look);
  const missing = gone.filter((change) => isHeld(change.entry) && !replaced.has(change)).length;
  const listed = look.listed.size - look.unwantedNow.size;
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
function findReplaced(gone: readonly AbsentChange[], look: Look): ReadonlySet<AbsentChange> {
  const bySuccessor = new Map<ItemId, AbsentChange>();
  for (const change of gone) {
    const successor = look.departed.get(change.itemId)?.successor;
    if (!successor || !look.listed.has(successor) || look.unwantedNow.has(successor)) continue;
    if (isHeld(change.entry) && !bySuccessor.has(successor)) bySuccessor.set(successor, change);
  }
  return new Set(bySuccessor.values());
}

function hold(change: AbsentChange, because: string): AbsentChange {
  return because && isHeld(change.entry) ? { ...change, kind: "held", reason: because } : change;
}

/** The entries whose items were not listed, or not wanted; and how many entries stand for something in all. */
async function findAbsent(ledger: KnownItems, look: Look): Promise<{ absent: LedgerEntry[]; known: number }> {
  const absent: LedgerEntry[] = [];
  let known = look.known;
  // Everything that was listed is known and wanted, and nothing else is known.
  const isAllKnown = look.unwantedNow.size === 0 && look.entries === look.listed.size;
  if (isAllKnown && (await ledger.count()).items === look.entries) return { absent, known };
  for await (const items of ledger.items()) {
    const missing = items.filter((item) => !look.listed.has(item) || look.unwantedNow.has(item));
    if (missing.length === 0) continue;
    for (const entry of await ledger.getMany(missing)) {
      if (!entry) continue;
      if (!look.listed.has(entry.itemId) && isHeld(entry)) known += 1;
      absent.push(entry);
    }
  }
  return { absent, known };
}

function whyKept(entry: LedgerEntry, look: Look): string {
  const undecided = look.undecided.get(entry.itemId);
  if (undecided !== undefined) return undecided;
  if (look.completeness === "partial") return "the listing was incomplete";
  const path = entry.mirrored?.serverPath ?? entry.seen?.serverPath ?? "";
  // Where something unknown lies above the root, it is better to keep too much than to miss what is below the hole.
  const isCovered = (hole: string): boolean =>
    look.atHostRoot ? `${path}/`.startsWith(`/${hole}/`) : `${path}/`.includes(`/${hole}/`);
  const cover = look.unreadable.find(
    (hole) => hole.path === "" || hole.itemId === entry.itemId || isCovered(hole.path),
  );
  return cover ? `not readable: ${cover.reason}` : "";
}

import type { TreeFile } from "../../contracts/file-tree.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { ManifestEntry } from "../../contracts/manifest.ts";
import { compareText } from "../../lib/text.ts";
import { hasInode } from "../../lib/tree-path.ts";

/** A file that was read because its path is new or its stamp changed. */
export interface ReadFile {
  readonly file: TreeFile;
  readonly contentHash: string;
}

/** What happened to a present file. found: it is new; copied: new, with content that another file has. `entry`: its document so far. */
export type TracedFile =
  | { readonly kind: "found" | "copied"; readonly read: ReadFile }
  | { readonly kind: "touched" | "edited"; readonly read: ReadFile; readonly entry: ManifestEntry }
  | {
      readonly kind: "moved" | "moved-and-edited" | "restored";
      readonly read: ReadFile;
      readonly entry: ManifestEntry;
      readonly certainty: number;
    };

export interface LineageInput {
  /** All files that were read in this scan. */
  readonly read: readonly ReadFile[];
  /** Earlier entries at the paths that were read. Missing and deleted ones count as absent. */
  readonly before: ReadonlyMap<string, ManifestEntry>;
  /** Active entries whose path is gone and not below something unreadable. */
  readonly vanished: readonly ManifestEntry[];
  /** Missing and deleted entries. */
  readonly absent: readonly ManifestEntry[];
  /** Whether another active file that was not read has this content: then a new file with it is a copy. */
  readonly existsElsewhere: (contentHash: string) => boolean;
}

export interface LineageResult {
  /** One per file that was read, by path; no entry twice. */
  readonly traced: readonly TracedFile[];
  /** Vanished entries, and entries whose path another file took, that match no file. */
  readonly lost: readonly ManifestEntry[];
}

/**
 * Matches files with documents by content hash, node and path. A file that was renamed and edited at once is `found`
 * here, and its entry `lost`: `candidateFinder` and `pairBest` match them by their texts.
 */
export function traceLineage(input: LineageInput): LineageResult {
  const trace = new Trace(input);
  trace.followNodes();
  trace.keepTouched();
  trace.followContent();
  trace.keepEdited();
  trace.restore();
  return trace.answer();
}

/** A path that was read, and its earlier document. */
interface PathSlot {
  readonly path: string;
  readonly read: ReadFile;
  readonly before: ManifestEntry | undefined;
}

class Trace {
  readonly #input: LineageInput;
  readonly #slots: readonly PathSlot[];
  readonly #traced = new Map<PathSlot, TracedFile>();
  readonly #placed = new Set<ItemId>();

  constructor(input: LineageInput) {
    this.#input = input;
    this.#slots = input.read
      .map((read) => ({ path: read.file.path, read, before: presentOf(input.before.get(read.file.path)) }))
      .sort((a, b) => compareText(a.path, b.path));
  }

  /**
   * The same content in the same node is the same file, wherever it is now: this distinguishes `mv a b; cp b a` from a
   * copy. Nodes of deleted files are reused, so a node alone proves nothing.
   */
  followNodes(): void {
    const keyOf = (node: string, hash: string): string | undefined => (hasInode(node) ? `${node} ${hash}` : undefined);
    const changed = this.#slots.filter(
      ({ read, before }) => before?.node !== read.file.node || before.contentHash !== read.contentHash,
    );
    this.#claim(
      [...this.#input.vanished, ...changed.flatMap(({ before }) => before ?? [])],
      changed,
      { entry: ({ node, contentHash }) => keyOf(node, contentHash), read: (it) => keyOf(it.file.node, it.contentHash) },
      "moved",
    );
  }

  keepTouched(): void {
    for (const slot of this.#open()) {
      const { read, before } = slot;
      if (before?.contentHash === read.contentHash) this.#keep(slot, "touched");
    }
  }

  /**
   * Content that left its path moved to where it is now. For a path that has other content and whose file had a node,
   * that holds only if another document took the path: the node is not where the content is, so the content was copied,
   * and then its path edited. A known file that is empty now was emptied: all empty files are alike.
   */
  followContent(): void {
    const isEmptied = ({ read, before }: PathSlot): boolean => read.file.size === 0 && before !== undefined;
    const open = this.#open().filter((slot) => !isEmptied(slot));
    const byHash = Map.groupBy(open, ({ read }) => read.contentHash);
    const left = this.#slots.filter((slot) => this.#traced.has(slot) || (slot.before && !hasInode(slot.before.node)));
    let unmatched = this.#unplaced([...this.#input.vanished, ...left.flatMap(({ before }) => before ?? [])]);
    while (unmatched.length > 0) {
      const hashes = new Set(unmatched.map(({ contentHash }) => contentHash));
      const slots = [...hashes].flatMap((hash) => byHash.get(hash) ?? []).filter((slot) => !this.#traced.has(slot));
      unmatched = this.#unplaced(this.#claim(unmatched, slots, BY_HASH, "moved").flatMap(({ before }) => before ?? []));
    }
  }

  keepEdited(): void {
    for (const slot of this.#open()) this.#keep(slot, "edited");
  }

  restore(): void {
    const latestFirst = this.#input.absent.toSorted(
      (a, b) => compareText(b.lastSeenAt, a.lastSeenAt) || compareText(a.docId, b.docId),
    );
    for (const status of ["missing", "deleted"]) {
      const entries = latestFirst.filter((entry) => entry.status === status);
      this.#claim(entries, this.#open(), BY_HASH, "restored");
    }
  }

  answer(): LineageResult {
    const kept = new Set([...this.#traced.values()].map(({ read }) => read.contentHash));
    const traced = this.#slots.map((slot): TracedFile => {
      const { read } = slot;
      const isCopy = kept.has(read.contentHash) || this.#input.existsElsewhere(read.contentHash);
      return this.#traced.get(slot) ?? { kind: isCopy ? "copied" : "found", read };
    });
    const known = [...this.#input.vanished, ...this.#slots.flatMap(({ before }) => before ?? [])];
    return { traced, lost: this.#unplaced(known).toSorted((a, b) => compareText(a.path, b.path)) };
  }

  #open(): readonly PathSlot[] {
    return this.#slots.filter((slot) => !this.#traced.has(slot));
  }

  #unplaced(entries: readonly ManifestEntry[]): readonly ManifestEntry[] {
    return entries.filter(({ docId }) => !this.#placed.has(docId));
  }

  #keep(slot: PathSlot, kind: "touched" | "edited"): void {
    const { read, before } = slot;
    if (!before || this.#placed.has(before.docId)) return;
    this.#traced.set(slot, { kind, read, entry: before });
    this.#placed.add(before.docId);
  }

  /** Pairs entries and slots with the same key, one to one. Returns the slots that were taken. */
  #claim(
    entries: readonly ManifestEntry[],
    slots: readonly PathSlot[],
    key: Key,
    kind: "moved" | "restored",
  ): PathSlot[] {
    const taken: PathSlot[] = [];
    const groups = Map.groupBy(slots, ({ read }) => key.read(read));
    for (const [shared, some] of Map.groupBy(entries, key.entry)) {
      if (shared === undefined) continue;
      pairNearest(some, groups.get(shared) ?? [], (entry, slot) => {
        this.#traced.set(slot, { kind, read: slot.read, entry, certainty: 1 });
        this.#placed.add(entry.docId);
        taken.push(slot);
      });
    }
    return taken;
  }
}

interface Key {
  readonly entry: (entry: ManifestEntry) => string | undefined;
  readonly read: (read: ReadFile) => string | undefined;
}

const BY_HASH: Key = { entry: ({ contentHash }) => contentHash, read: ({ contentHash }) => contentHash };

function presentOf(entry: ManifestEntry | undefined): ManifestEntry | undefined {
  return entry?.status === "missing" || entry?.status === "deleted" ? undefined : entry;
}

interface HasPath {
  readonly path: string;
}

/**
 * Pairs equal items by path: each `from` gets at most one `to`, until one side is empty. First the same path, then the
 * same name (with the most common folders above it, then the most from the root), then the same folder, then the most
 * common folders from the root. Case and Unicode normalisation are ignored unless the paths are equal. The result does
 * not depend on the input order, and the time is not quadratic.
 */
export function pairNearest<A extends HasPath, B extends HasPath>(
  from: readonly A[],
  to: readonly B[],
  pair: (from: A, to: B) => void,
): void {
  const inOrder = (both: Sides<A, B>): Sides<A, B> => {
    const count = Math.min(both.from.length, both.to.length);
    const [some, others] = [both.from.toSorted(byPath), both.to.toSorted(byPath)];
    for (let at = 0; at < count; at++) pair((some[at] as PathParts<A>).one, (others[at] as PathParts<B>).one);
    return { from: some.slice(count), to: others.slice(count) };
  };
  const fromRoot = (both: Sides<A, B>): Sides<A, B> => pairDeepest(both, (parts) => parts.folders, inOrder);
  const all = { from: from.map(pathPartsOf), to: to.map(pathPartsOf) };
  const moved = pairGroups(all, (parts) => parts.one.path, inOrder);
  const renamed = pairGroups(
    moved,
    (parts) => parts.upwards[0],
    (same) => pairDeepest(same, (parts) => parts.upwards, fromRoot, 1),
  );
  fromRoot(renamed);
}

interface PathParts<T> {
  readonly one: T;
  /** Folders from the root down. */
  readonly folders: readonly string[];
  /** Name and folders, from the name up. */
  readonly upwards: readonly string[];
}

interface Sides<A, B> {
  readonly from: readonly PathParts<A>[];
  readonly to: readonly PathParts<B>[];
}

/** Returns the unpaired ones. */
type Pairing<A, B> = (both: Sides<A, B>) => Sides<A, B>;

function pathPartsOf<T extends HasPath>(one: T): PathParts<T> {
  const parts = one.path.normalize("NFC").toLowerCase().split("/");
  return { one, folders: parts.slice(0, -1), upwards: parts.toReversed() };
}

function byPath(a: PathParts<HasPath>, b: PathParts<HasPath>): number {
  return compareText(a.one.path, b.one.path);
}

/** Pairs items with the same key. */
function pairGroups<A extends HasPath, B extends HasPath>(
  all: Sides<A, B>,
  keyOf: (parts: PathParts<A | B>) => string | undefined,
  pairing: (both: Sides<A, B>, key: string | undefined) => Sides<A, B>,
): Sides<A, B> {
  if (all.from.length === 0 || all.to.length === 0) return all;
  const groups = Map.groupBy(all.to, keyOf);
  const left: { from: PathParts<A>[]; to: PathParts<B>[] } = { from: [], to: [] };
  for (const [key, from] of Map.groupBy(all.from, keyOf)) {
    const rest = pairing({ from, to: groups.get(key) ?? [] }, key);
    for (const parts of rest.from) left.from.push(parts);
    for (const parts of rest.to) left.to.push(parts);
    groups.delete(key);
  }
  for (const group of groups.values()) for (const parts of group) left.to.push(parts);
  return left;
}

/** Pairs those with the most parts in common first; `pairing` handles ties. */
function pairDeepest<A extends HasPath, B extends HasPath>(
  all: Sides<A, B>,
  partsOf: (parts: PathParts<A | B>) => readonly string[],
  pairing: Pairing<A, B>,
  depth = 0,
): Sides<A, B> {
  const left = pairGroups(
    all,
    (parts) => partsOf(parts)[depth],
    (same, key) => (key === undefined ? pairing(same) : pairDeepest(same, partsOf, pairing, depth + 1)),
  );
  return left.from.length === 0 || left.to.length === 0 ? left : pairing(left);
}

import { compareText } from "../../lib/compare-text.ts";

interface Placed {
  readonly path: string;
}

/**
 * Equals, told apart by where they are: each `from` gets at most one `to`, until one side has none left. First the same path,
 * then the same name (with the most folders above it in common, then the most below the root), then the same folder, then the
 * most folders from the root on. Letter case and normal form do not count where the path is another anyway. The answer does
 * not depend on the order they come in, and the time grows with their number, not with its square.
 */
export function pairNearest<A extends Placed, B extends Placed>(
  from: readonly A[],
  to: readonly B[],
  pair: (from: A, to: B) => void,
): void {
  const inOrder = (both: Both<A, B>): Both<A, B> => {
    const count = Math.min(both.from.length, both.to.length);
    const [some, others] = [both.from.toSorted(byPath), both.to.toSorted(byPath)];
    for (let at = 0; at < count; at++) pair((some[at] as Spot<A>).one, (others[at] as Spot<B>).one);
    return { from: some.slice(count), to: others.slice(count) };
  };
  const fromRoot = (both: Both<A, B>): Both<A, B> => pairDeepest(both, (spot) => spot.folders, inOrder);
  const all = { from: from.map(spotOf), to: to.map(spotOf) };
  const moved = pairGroups(all, (spot) => spot.one.path, inOrder);
  const renamed = pairGroups(
    moved,
    (spot) => spot.upwards[0],
    (same) => pairDeepest(same, (spot) => spot.upwards, fromRoot, 1),
  );
  fromRoot(renamed);
}

interface Spot<T> {
  readonly one: T;
  /** From the root down, without the name. */
  readonly folders: readonly string[];
  /** From the name up. */
  readonly upwards: readonly string[];
}

interface Both<A, B> {
  readonly from: readonly Spot<A>[];
  readonly to: readonly Spot<B>[];
}

/** Returns who is left. */
type Pairing<A, B> = (both: Both<A, B>) => Both<A, B>;

function spotOf<T extends Placed>(one: T): Spot<T> {
  const parts = one.path.normalize("NFC").toLowerCase().split("/");
  return { one, folders: parts.slice(0, -1), upwards: parts.toReversed() };
}

function byPath(a: Spot<Placed>, b: Spot<Placed>): number {
  return compareText(a.one.path, b.one.path);
}

/** Those with the same key are paired among themselves. */
function pairGroups<A extends Placed, B extends Placed>(
  all: Both<A, B>,
  keyOf: (spot: Spot<A | B>) => string | undefined,
  pairing: (both: Both<A, B>, key: string | undefined) => Both<A, B>,
): Both<A, B> {
  if (all.from.length === 0 || all.to.length === 0) return all;
  const groups = Map.groupBy(all.to, keyOf);
  const left: { from: Spot<A>[]; to: Spot<B>[] } = { from: [], to: [] };
  for (const [key, from] of Map.groupBy(all.from, keyOf)) {
    const rest = pairing({ from, to: groups.get(key) ?? [] }, key);
    for (const spot of rest.from) left.from.push(spot);
    for (const spot of rest.to) left.to.push(spot);
    groups.delete(key);
  }
  for (const group of groups.values()) for (const spot of group) left.to.push(spot);
  return left;
}

/** Who has the most parts in common comes first; `pairing` is for those that have equally many. */
function pairDeepest<A extends Placed, B extends Placed>(
  all: Both<A, B>,
  partsOf: (spot: Spot<A | B>) => readonly string[],
  pairing: Pairing<A, B>,
  depth = 0,
): Both<A, B> {
  const left = pairGroups(
    all,
    (spot) => partsOf(spot)[depth],
    (same, key) => (key === undefined ? pairing(same) : pairDeepest(same, partsOf, pairing, depth + 1)),
  );
  return left.from.length === 0 || left.to.length === 0 ? left : pairing(left);
}

import { fileTypeOf } from "../../lib/file-type.ts";
import { compareText } from "../../lib/text.ts";
import { folderOf, nameOf } from "../../lib/tree-path.ts";

/** From this similarity of their texts on, a new and a vanished file are one document that was renamed and edited. */
const SIMILAR_ENOUGH = 0.5;

/** Maximum number of comparisons per file. */
const MAX_CANDIDATES = 5;
/** Candidates per group: same name, same folder, nearest size. */
const WINDOW = 12;
/** A document may have grown or shrunk by this factor, and small ones by more. */
const MAX_GROWTH = 4;
const SMALL_BYTES = 4096;

interface Candidate {
  readonly path: string;
  readonly size: number;
}

/**
 * Returns, for a new file, the vanished ones to compare with, best first: of the same type and similar size; same name
 * first, then same folder, then nearest size. Bounded, and found without scanning all.
 */
export function candidateFinder<T extends Candidate>(vanished: readonly T[]): (appeared: Candidate) => readonly T[] {
  const ordered = vanished.toSorted((a, b) => a.size - b.size || compareText(a.path, b.path));
  const byType = Map.groupBy(ordered, typeOf);
  const byName = Map.groupBy(ordered, ({ path }) => nameOf(path));
  const byFolder = Map.groupBy(ordered, (one) => `${folderOf(one.path)}\n${typeOf(one)}`);
  return (appeared) => {
    const groups = [
      byName.get(nameOf(appeared.path)),
      byFolder.get(`${folderOf(appeared.path)}\n${typeOf(appeared)}`),
      byType.get(typeOf(appeared)),
    ];
    const near = new Set(groups.flatMap((group) => nearestInSize(group ?? [], appeared.size)));
    return [...near]
      .filter((one) => mayBeOne(one, appeared))
      .sort(nearestTo(appeared))
      .slice(0, MAX_CANDIDATES);
  };
}

export interface ScoredPair<A, B> {
  readonly appeared: A;
  readonly vanished: B;
  /** From `similarityOf`. */
  readonly score: number;
}

/** Pairs files that are one document: the most similar first, each at most once, none below SIMILAR_ENOUGH. */
export function pairBest<A extends Candidate, B extends Candidate>(
  compared: readonly ScoredPair<A, B>[],
): readonly ScoredPair<A, B>[] {
  const appeared = new Set<A>();
  const vanished = new Set<B>();
  return compared
    .filter(({ score }) => score >= SIMILAR_ENOUGH)
    .sort(
      (a, b) =>
        b.score - a.score ||
        differenceOf(a) - differenceOf(b) ||
        compareText(a.appeared.path, b.appeared.path) ||
        compareText(a.vanished.path, b.vanished.path),
    )
    .filter((pair) => {
      if (appeared.has(pair.appeared) || vanished.has(pair.vanished)) return false;
      appeared.add(pair.appeared);
      vanished.add(pair.vanished);
      return true;
    });
}

/** Returns the candidates around a size, from a list sorted by size. */
function nearestInSize<T extends Candidate>(ordered: readonly T[], size: number): readonly T[] {
  let [low, high] = [0, ordered.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ordered[middle] as T).size < size) low = middle + 1;
    else high = middle;
  }
  return ordered.slice(Math.max(0, low - WINDOW / 2), low + WINDOW / 2);
}

function mayBeOne(a: Candidate, b: Candidate): boolean {
  const [small, large] = a.size < b.size ? [a.size, b.size] : [b.size, a.size];
  return typeOf(a) === typeOf(b) && large <= small * MAX_GROWTH + SMALL_BYTES;
}

function nearestTo(appeared: Candidate): (a: Candidate, b: Candidate) => number {
  const distance = (one: Candidate): number => differenceOf({ appeared, vanished: one });
  return (a, b) =>
    distance(a) - distance(b) ||
    Math.abs(a.size - appeared.size) - Math.abs(b.size - appeared.size) ||
    compareText(a.path, b.path);
}

/** 0: the same name; 1: the same folder; 2: neither. */
function differenceOf(pair: { readonly appeared: Candidate; readonly vanished: Candidate }): number {
  if (nameOf(pair.appeared.path) === nameOf(pair.vanished.path)) return 0;
  return folderOf(pair.appeared.path) === folderOf(pair.vanished.path) ? 1 : 2;
}

function typeOf(one: Candidate): string {
  return fileTypeOf(nameOf(one.path));
}

import { fileTypeOf } from "../../lib/file-type.ts";
import { compareText } from "../../lib/text.ts";
import { folderOf, nameOf } from "../../lib/tree-path.ts";

/** Renamed and edited: from this similarity of their texts on, two files are one document. */
const SIMILAR_ENOUGH = 0.5;

/** Texts are read for so many comparisons of one file. */
const MAX_CANDIDATES = 5;
/** Of so many with the same name, of the same folder, of the nearest size. */
const WINDOW = 12;
/** A document may have grown or shrunk by this factor, and small ones by more. */
const MAX_GROWTH = 4;
const SMALL_BYTES = 4096;

interface Candidate {
  readonly path: string;
  readonly size: number;
}

/**
 * For a file that appeared, the vanished ones worth comparing with, best first: of the same type and not too different in size;
 * those with the same name, then of the same folder, then nearest in size. A bounded number, found without looking at all.
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
  /** As `similarityOf` tells. */
  readonly score: number;
}

/** Which of the compared ones are one document: the most similar first, each at most once, none below SIMILAR_ENOUGH. */
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

/** The ones around a size, of those in order of size. */
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

/** One line of a difference: in both texts, only in the earlier one, or only in the later one. */
export interface DifferentLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** Lines that differ, with a few around them. Lines are counted from 1. */
export interface Hunk {
  readonly fromLine: number;
  readonly toLine: number;
  readonly lines: readonly DifferentLine[];
}

/** Texts that differ in more lines, or in parts that are longer, are told as one replaced by the other: the time grows with both. */
const MAX_EDITS = 1000;
const MAX_LINES = 20_000;
const CONTEXT = 3;

/** What changed from one text to the other, line by line, by the fewest edits there are. */
export function lineDifference(before: string, after: string): readonly Hunk[] {
  const [from, to] = [before.split("\n"), after.split("\n")];
  let head = 0;
  while (head < from.length && head < to.length && from[head] === to[head]) head += 1;
  let tail = 0;
  const room = Math.min(from.length, to.length) - head;
  while (tail < room && from[from.length - 1 - tail] === to[to.length - 1 - tail]) tail += 1;
  const edits = fewestEdits(from.slice(head, from.length - tail), to.slice(head, to.length - tail));
  const same = (lines: readonly string[]): DifferentLine[] => lines.map((text) => ({ kind: "same", text }));
  return cutHunks([...same(from.slice(0, head)), ...edits, ...same(from.slice(from.length - tail))]);
}

/** Myers' greedy algorithm: `reached[d]` tells how far each diagonal got with d edits. */
function fewestEdits(from: readonly string[], to: readonly string[]): DifferentLine[] {
  const reached: Int32Array[] = [];
  let furthest = new Int32Array([0]);
  const mostEdits = from.length + to.length > MAX_LINES ? -1 : MAX_EDITS;
  for (let d = 0; d <= mostEdits; d++) {
    const next = new Int32Array(2 * d + 1);
    for (let k = -d; k <= d; k += 2) {
      let x = d === 0 ? 0 : isDown(furthest, d, k) ? at(furthest, d - 1, k + 1) : at(furthest, d - 1, k - 1) + 1;
      while (x < from.length && x - k < to.length && from[x] === to[x - k]) x += 1;
      next[k + d] = x;
      if (x >= from.length && x - k >= to.length) return walkBack(from, to, reached, d, k);
    }
    reached.push(next);
    furthest = next;
  }
  return [
    ...from.map((text) => ({ kind: "removed", text }) as const),
    ...to.map((text) => ({ kind: "added", text }) as const),
  ];
}

/** Does diagonal k with d edits come from the one above it, by an added line? */
function isDown(furthest: Int32Array, d: number, k: number): boolean {
  return k === -d || (k !== d && at(furthest, d - 1, k - 1) < at(furthest, d - 1, k + 1));
}

function at(furthest: Int32Array, d: number, k: number): number {
  return furthest[k + d] ?? 0;
}

function walkBack(
  from: readonly string[],
  to: readonly string[],
  reached: readonly Int32Array[],
  edits: number,
  diagonal: number,
): DifferentLine[] {
  const lines: DifferentLine[] = [];
  let [x, k] = [from.length, diagonal];
  for (let d = edits; d >= 0; d--) {
    const furthest = reached[d - 1] ?? new Int32Array([0]);
    const down = d > 0 && isDown(furthest, d, k);
    const k0 = down ? k + 1 : k - 1;
    const x0 = d === 0 ? 0 : at(furthest, d - 1, k0);
    const begin = d === 0 ? 0 : down ? x0 : x0 + 1;
    for (; x > begin; x--) lines.push({ kind: "same", text: from[x - 1] ?? "" });
    if (d === 0) break;
    lines.push(down ? { kind: "added", text: to[x0 - k0] ?? "" } : { kind: "removed", text: from[x0] ?? "" });
    [x, k] = [x0, k0];
  }
  return lines.reverse();
}

function cutHunks(lines: readonly DifferentLine[]): Hunk[] {
  const hunks: Hunk[] = [];
  let [fromLine, toLine] = [1, 1];
  let open: { fromLine: number; toLine: number; lines: DifferentLine[] } | undefined;
  let sameInARow = 0;
  for (const [i, line] of lines.entries()) {
    sameInARow = line.kind === "same" ? sameInARow + 1 : 0;
    const changesSoon = lines.slice(i, i + CONTEXT + 1).some(({ kind }) => kind !== "same");
    if (!open && changesSoon) open = { fromLine, toLine, lines: [] };
    if (open && sameInARow > CONTEXT && !changesSoon) {
      hunks.push(open);
      open = undefined;
    }
    open?.lines.push(line);
    if (line.kind !== "added") fromLine += 1;
    if (line.kind !== "removed") toLine += 1;
  }
  if (open) hunks.push(open);
  return hunks;
}

// The difference of two texts is correct, short and quick.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Hunk, lineDifference } from "../../src/lib/line-difference.ts";

const MARKS = { same: " ", removed: "-", added: "+" } as const;
const told = (hunks: readonly Hunk[]): string[] =>
  hunks.flatMap(({ fromLine, toLine, lines }) => [
    `@${fromLine},${toLine}`,
    ...lines.map(({ kind, text }) => `${MARKS[kind]}${text}`),
  ]);

test("lines that changed are told with those around them, wherever they are", () => {
  const lines = Array.from({ length: 20 }, (_, i) => `line ${i + 1}`);
  const after = lines.with(1, "second").toSpliced(15, 0, "new");
  assert.deepEqual(told(lineDifference(lines.join("\n"), after.join("\n"))), [
    ...["@1,1", " line 1", "-line 2", "+second", " line 3", " line 4", " line 5"],
    ...["@13,13", " line 13", " line 14", " line 15", "+new", " line 16", " line 17", " line 18"],
  ]);
  assert.deepEqual(lineDifference("same\ntext", "same\ntext"), []);
});

test("what a difference tells turns the one text into the other, and is as short as can be", () => {
  const text = fc
    .array(fc.constantFrom("a", "b", "c\r", "", "\\ No newline"), { maxLength: 14 })
    .map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const hunks = lineDifference(before, after);
      assert.equal(rewritten(before, hunks), after);
      const edits = hunks.flatMap(({ lines }) => lines.filter(({ kind }) => kind !== "same")).length;
      assert.equal(edits, fewest(before.split("\n"), after.split("\n")));
    }),
  );
});

test("texts that have little in common are told as one replaced by the other, at once", () => {
  const [before, after] = ["old", "new"].map((word) =>
    Array.from({ length: 5000 }, (_, i) => `${word} ${i}`).join("\n"),
  );
  const [only, ...others] = lineDifference(before ?? "", after ?? "");
  assert.equal(only?.lines.length, 10_000);
  assert.equal(others.length, 0);
});

function rewritten(before: string, hunks: readonly Hunk[]): string {
  const from = before.split("\n");
  const to: string[] = [];
  let next = 1;
  for (const { fromLine, lines } of hunks) {
    to.push(...from.slice(next - 1, fromLine - 1));
    to.push(...lines.flatMap(({ kind, text }) => (kind === "removed" ? [] : [text])));
    next = fromLine + lines.filter(({ kind }) => kind !== "added").length;
  }
  return [...to, ...from.slice(next - 1)].join("\n");
}

/** By the textbook: what is not in the longest common subsequence. */
function fewest(from: readonly string[], to: readonly string[]): number {
  const table = Array.from({ length: from.length + 1 }, () => new Array<number>(to.length + 1).fill(0));
  for (let i = from.length - 1; i >= 0; i--) {
    for (let j = to.length - 1; j >= 0; j--) {
      const [below, right] = [table[i + 1]?.[j] ?? 0, table[i]?.[j + 1] ?? 0];
      (table[i] ?? [])[j] = from[i] === to[j] ? (table[i + 1]?.[j + 1] ?? 0) + 1 : Math.max(below, right);
    }
  }
  return from.length + to.length - 2 * (table[0]?.[0] ?? 0);
}

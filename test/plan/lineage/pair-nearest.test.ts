// Equal files pair with the nearest one of before.
import assert from "node:assert/strict";
import { test } from "node:test";
import { pairNearest } from "../../../src/plan/lineage/trace-lineage.ts";

const PAIRS: readonly (readonly [
  string,
  from: readonly string[],
  to: readonly string[],
  expected: readonly string[],
])[] = [
  ["the same path before the same name", ["x/a", "y/a"], ["y/a", "z/a"], ["y/a > y/a", "x/a > z/a"]],
  ["the same name before the same folder", ["x/a", "y/b"], ["y/a", "x/c"], ["x/a > y/a", "y/b > x/c"]],
  ["the same folder before a folder below it", ["x/a", "x/y/a"], ["x/y/b", "x/b"], ["x/a > x/b", "x/y/a > x/y/b"]],
  ["the most folders above the name", ["p/m/a", "q/n/a"], ["r/n/a", "r/m/a"], ["p/m/a > r/m/a", "q/n/a > r/n/a"]],
  ["then the most from the root", ["x/1/a", "y/1/a"], ["y/2/a", "x/2/a"], ["x/1/a > x/2/a", "y/1/a > y/2/a"]],
  [
    "letter case and normal form",
    ["d/E\u0301", "e/\u00e9"],
    ["f/\u00e9", "d/\u00e9"],
    ["d/E\u0301 > d/\u00e9", "e/\u00e9 > f/\u00e9"],
  ],
  ["nothing in common, in order", ["b", "a"], ["y/2", "x/1"], ["a > x/1", "b > y/2"]],
  ["more than there are", ["x/a", "y/a"], ["z/y/a"], ["y/a > z/y/a"]],
  ["fewer than there are", ["x/a"], ["y/a", "x/b", "y/x/a"], ["x/a > y/x/a"]],
];
for (const [name, from, to, expected] of PAIRS) {
  test(`nearest: ${name}`, () => {
    assert.deepEqual(pairsOf(from, to), expected.toSorted());
    assert.deepEqual(pairsOf(from.toReversed(), to.toReversed()), expected.toSorted());
  });
}

test("nearest: ten thousand equal files of a renamed folder find each other, each being looked at a few times", () => {
  let looks = 0;
  const placed = (path: string) => ({
    get path() {
      looks += 1;
      return path;
    },
  });
  const inside = Array.from({ length: 10_000 }, (_, at) => `${at % 10}/${at % 100}/${at}/__init__.py`);
  let right = 0;
  pairNearest(
    inside.map((path) => placed(`old/${path}`)),
    inside.map((path) => placed(`new/deeper/${path}`)).reverse(),
    (from, to) => {
      if (from.path.slice("old/".length) === to.path.slice("new/deeper/".length)) right += 1;
    },
  );
  assert.equal(right, 10_000);
  const strangers = Array.from({ length: 10_000 }, (_, at) => placed(`old/${at}`));
  let pairs = 0;
  pairNearest(
    strangers,
    Array.from({ length: 10_000 }, (_, at) => placed(`new/n${at}`)),
    () => {
      pairs += 1;
    },
  );
  assert.equal(pairs, 10_000);
  assert.ok(looks < 40_000 * 40, `${looks} looks`);
});

function pairsOf(from: readonly string[], to: readonly string[]): readonly string[] {
  const pairs: string[] = [];
  const placed = (path: string) => ({ path });
  pairNearest(from.map(placed), to.map(placed), (a, b) => pairs.push(`${a.path} > ${b.path}`));
  return pairs.sort();
}

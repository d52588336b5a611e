// Suspiciously many removals are held.
import assert from "node:assert/strict";
import { test } from "node:test";
import { heldBecause, type RemovalCase } from "../../src/plan/removal-guard.ts";

const limits = { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false };

const cases: [title: string, run: RemovalCase, held: boolean, changed?: object][] = [
  ["nothing is missing", { missing: 0, known: 10, listed: 10 }, false],
  ["one of two, the other listed", { missing: 1, known: 2, listed: 1 }, false],
  ["both of two, nothing listed", { missing: 2, known: 2, listed: 0 }, false],
  ["all of three, nothing listed", { missing: 3, known: 3, listed: 0 }, true],
  [
    "all of three, nothing listed, allowed to be empty",
    { missing: 3, known: 3, listed: 0 },
    false,
    { allowEmpty: true },
  ],
  ["25 of 30", { missing: 25, known: 30, listed: 5 }, false],
  ["26 of 30", { missing: 26, known: 30, listed: 4 }, true],
  ["5 of 40, 20 left just before", { missing: 5, justLeft: 20, known: 40, listed: 35 }, false],
  ["6 of 40, 20 left just before", { missing: 6, justLeft: 20, known: 40, listed: 34 }, true],
  ["none of 40, 30 left just before", { missing: 0, justLeft: 30, known: 40, listed: 40 }, false],
  ["250 of 1000 is a quarter", { missing: 250, known: 1000, listed: 750 }, false],
  ["251 of 1000", { missing: 251, known: 1000, listed: 749 }, true],
  [
    "a tighter limit of the source",
    { missing: 2, known: 100, listed: 98 },
    true,
    { maxRemovals: 1, maxRemovalsPercent: 1 },
  ],
  ["a wider limit of the source", { missing: 900, known: 1000, listed: 100 }, false, { maxRemovalsPercent: 90 }],
];

for (const [title, run, held, changed] of cases) {
  test(`${held ? "held" : "believed"}: ${title}`, () => {
    const policy = { limits: { ...limits, ...changed }, confirmDeletes: false };
    assert.equal(heldBecause(run, policy) !== "", held);
    assert.equal(heldBecause(run, { ...policy, confirmDeletes: true }), "");
  });
}

// What leaves, what is purged and what is garbage; suspiciously many removals are held, and in doubt everything stays.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { ManifestEntry } from "../../src/contracts/manifest.ts";
import { garbage, leave, purge } from "../../src/plan/removals.ts";

interface RemovalCase {
  readonly missing: number;
  readonly known: number;
  readonly listed: number;
  readonly justLeft?: number;
}

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

for (const [title, { missing, ...loss }, held, changed] of cases) {
  test(`${held ? "held" : "believed"}: ${title}`, () => {
    const policy = { limits: { ...limits, ...changed }, confirmDeletes: false };
    const items = Array.from({ length: missing }, (_, at) => at);
    const decisions = [leave(items, loss, policy), garbage(items, { isCertain: true, guard: { ...loss, ...policy } })];
    for (const { go, stay, heldBecause } of decisions) {
      assert.deepEqual([go, stay], held ? [[], items] : [items, []]);
      assert.equal(heldBecause !== "", held);
    }
    const confirmed = { ...policy, confirmDeletes: true };
    assert.deepEqual(leave(items, loss, confirmed), { go: items, stay: [], heldBecause: "" });
    assert.deepEqual(garbage(items, { isCertain: true, guard: { ...loss, ...confirmed } }).go, items);
  });
}

test("items that are no loss leave even when the others are held, and count for nothing", () => {
  const items = Array.from({ length: 40 }, (_, at) => at);
  const policy = { limits, confirmDeletes: false };
  const { go, stay } = leave(items, { known: 40, listed: 0, isLoss: (item) => item < 30 }, policy);
  assert.deepEqual([go.length, stay.length], [10, 30]);
  const few = leave(items, { known: 40, listed: 10, isLoss: (item) => item < 5 }, policy);
  assert.deepEqual([few.go.length, few.heldBecause], [40, ""]);
});

test("leftovers stay while something that may refer to them was not read, confirmed or not", () => {
  const guard = { known: 100, listed: 99, limits, confirmDeletes: true };
  for (const one of [guard, "none"] as const) {
    assert.deepEqual(garbage([1], { isCertain: false, guard: one }), { go: [], stay: [1], heldBecause: "" });
  }
  assert.deepEqual(garbage([1, 2, 3], { isCertain: true, guard: "none" }).go, [1, 2, 3]);
});

test("documents are purged when the wait for them is over, unless somebody holds them", () => {
  const now = new Date("2026-03-10T00:00:00Z");
  const waited = { missingSinceAt: "2026-03-01T00:00:00Z", missingRuns: 3, deletedAt: "" };
  const entries = [
    { docId: "missing", status: "missing", ...waited },
    { docId: "held", status: "missing", ...waited },
    { docId: "young", status: "missing", ...waited, missingSinceAt: "2026-03-09T23:00:00Z" },
    { docId: "seen once", status: "missing", ...waited, missingRuns: 1 },
    { docId: "present", status: "active", ...waited },
    { docId: "unreadable", status: "error", ...waited },
    { docId: "deleted", status: "deleted", missingSinceAt: "", missingRuns: 0, deletedAt: "2026-01-01T00:00:00Z" },
    { docId: "lately", status: "deleted", missingSinceAt: "", missingRuns: 0, deletedAt: "2026-03-09T00:00:00Z" },
    { docId: "who knows when", status: "deleted", missingSinceAt: "", missingRuns: 0, deletedAt: "" },
  ].map((entry) => entry as unknown as ManifestEntry);
  const retention = { graceRuns: 3, graceMs: 24 * 3600_000, deletedMs: 30 * 24 * 3600_000 };
  const isFree = ({ docId }: { readonly docId: ItemId }): boolean => docId !== "held";
  const { go, stay } = purge(entries, { retention, now, isFree });
  assert.deepEqual(
    [go, stay].map((some) => some.map(({ docId }) => docId)),
    [["missing", "deleted"], ["held"]],
  );
});

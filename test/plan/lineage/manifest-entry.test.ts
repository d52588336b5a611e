// An entry of the manifest goes from missing to deleted by its grace period.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ItemId } from "../../../src/contracts/ids.ts";
import type { ManifestEntry } from "../../../src/contracts/manifest.ts";
import {
  asDeleted,
  asMissing,
  asReadable,
  asSeen,
  asUnreadable,
  isExpired,
  stillMissing,
} from "../../../src/plan/lineage/manifest-entry.ts";
import type { TracedFile } from "../../../src/plan/lineage/trace-lineage.ts";

const HOUR_MS = 3_600_000;
const RULES = { graceRuns: 3, graceMs: 24 * HOUR_MS };
const START = new Date("2026-03-01T12:00:00Z");
const read = {
  file: { path: "new/b.md", size: 7, modifiedAtMs: Date.UTC(2026, 1, 1) + 0.5, stamp: "s2", node: "1:2" },
  contentHash: "h2",
};

const entry: ManifestEntry = {
  path: "a.md",
  docId: "doc_a" as ItemId,
  contentHash: "h1",
  size: 5,
  modifiedAt: "2026-01-01T00:00:00.000000Z",
  stamp: "s1",
  node: "1:1",
  status: "active",
  lastSeenAt: "2026-02-28T12:00:00.000Z",
  retryCount: 0,
  error: "",
  missingSinceAt: "",
  missingRuns: 0,
  deletedAt: "",
  versions: [{ versionId: "v1", at: "2026-01-01T00:00:00.000Z", hash: "h1" }],
  lineage: [{ event: "found", from: "", certainty: 1, at: "2026-01-01T00:00:00.000Z" }],
};

function hoursLater(hours: number): Date {
  return new Date(START.getTime() + hours * HOUR_MS);
}

/** Missing at START, then not found again at these hours. */
function missingFor(...hours: readonly number[]): ManifestEntry {
  return hours.reduce((missing, hour) => stillMissing(missing, hoursLater(hour)), asMissing(entry, START));
}

test("missing keeps everything but its place", () => {
  const missing = asMissing({ ...entry, status: "error", retryCount: 2, error: "locked" }, START);
  assert.deepEqual(missing, {
    ...entry,
    status: "missing",
    missingSinceAt: "2026-03-01T12:00:00.000Z",
    missingRuns: 1,
    lineage: [...entry.lineage, { event: "missing", from: "", certainty: 1, at: "2026-03-01T12:00:00.000Z" }],
  });
});

const GRACE: readonly (readonly [string, hours: readonly number[], nowHour: number, expired: boolean])[] = [
  ["enough looks and time", [1, 24], 24, true],
  ["looks, but too early", [1, 23], 23.99, false],
  ["time, but one look too few", [48], 48, false],
  ["the clock went back, and the time starts again", [-48, 1], -25, false],
  ["and is over again a day after that", [-48, -47], -24, true],
  ["the clock is behind when it counts", [1, 2], -1, false],
];
for (const [name, hours, nowHour, expired] of GRACE) {
  test(`grace: ${name}`, () => {
    assert.equal(isExpired(missingFor(...hours), RULES, hoursLater(nowHour)), expired);
  });
}

test("grace: only what is missing expires, and not when nobody knows since when", () => {
  const rules = { graceRuns: 0, graceMs: 0 };
  assert.equal(isExpired(entry, rules, START), false);
  assert.equal(isExpired({ ...missingFor(1), missingSinceAt: "" }, rules, hoursLater(99)), false);
  assert.equal(isExpired(missingFor(), rules, START), true);
});

test("deleted remembers who it was, and its versions until its retention is over", () => {
  const deleted = asDeleted(missingFor(1, 25), hoursLater(25));
  const { status, deletedAt, missingSinceAt, missingRuns, versions, contentHash, docId } = deleted;
  assert.deepEqual(
    { status, deletedAt, missingSinceAt, missingRuns, versions, contentHash, docId },
    {
      status: "deleted",
      deletedAt: "2026-03-02T13:00:00.000Z",
      missingSinceAt: "",
      missingRuns: 0,
      versions: [{ versionId: "v1", hash: "h1", at: "2026-01-01T00:00:00.000Z" }],
      contentHash: "h1",
      docId: "doc_a",
    },
  );
  assert.deepEqual(
    deleted.lineage.map(({ event }) => event),
    ["found", "missing", "deleted"],
  );
});

const SEEN: readonly (readonly [TracedFile, event: { event: string; from: string; certainty: number } | undefined])[] =
  [
    [
      { kind: "found", read },
      { event: "found", from: "", certainty: 1 },
    ],
    [
      { kind: "copied", read },
      { event: "copied", from: "", certainty: 1 },
    ],
    [{ kind: "touched", read, entry }, undefined],
    [
      { kind: "edited", read, entry },
      { event: "edited", from: "", certainty: 1 },
    ],
    [
      { kind: "moved", read, entry, certainty: 1 },
      { event: "moved", from: "a.md", certainty: 1 },
    ],
    [
      { kind: "moved-and-edited", read, entry, certainty: 0.6 },
      { event: "moved-and-edited", from: "a.md", certainty: 0.6 },
    ],
    [
      { kind: "restored", read, entry: missingFor(1), certainty: 1 },
      { event: "restored", from: "a.md", certainty: 1 },
    ],
    [
      { kind: "restored", read, entry: { ...asDeleted(missingFor(1), START), path: "new/b.md" }, certainty: 1 },
      { event: "restored", from: "", certainty: 1 },
    ],
  ];
for (const [traced, event] of SEEN) {
  test(`seen: ${traced.kind}`, () => {
    const before = "entry" in traced ? traced.entry : undefined;
    const at = START.toISOString();
    assert.deepEqual(
      asSeen(traced, START, () => (before ? assert.fail("it has a document") : ("doc_new" as ItemId))),
      {
        path: "new/b.md",
        size: 7,
        modifiedAt: "2026-02-01T00:00:00.000500Z",
        stamp: "s2",
        node: "1:2",
        docId: before ? "doc_a" : "doc_new",
        contentHash: "h2",
        status: "active",
        lastSeenAt: at,
        retryCount: 0,
        error: "",
        missingSinceAt: "",
        missingRuns: 0,
        deletedAt: "",
        versions: before?.versions ?? [],
        lineage: [...(before?.lineage ?? []), ...(event ? [{ ...event, at }] : [])],
      },
    );
  });
}

test("what cannot be read keeps everything, and counts", () => {
  const locked = asUnreadable(asUnreadable(entry, "locked"), "still locked");
  assert.deepEqual(locked, { ...entry, status: "error", retryCount: 2, error: "still locked" });
  assert.deepEqual(asReadable(locked, START), { ...entry, lastSeenAt: START.toISOString() });
});

test("the last twenty events are remembered", () => {
  let edited = entry;
  for (let count = 0; count < 30; count++) {
    edited = asSeen({ kind: "edited", read, entry: edited }, hoursLater(count), () => assert.fail());
  }
  assert.equal(edited.lineage.length, 20);
  assert.equal(edited.lineage.at(-1)?.at, hoursLater(29).toISOString());
});

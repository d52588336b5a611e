// A listing compared with the ledger gives exactly the changes that happened.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change } from "../../src/contracts/change.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { LedgerEntry, Mirrored } from "../../src/contracts/ledger.ts";
import type { Completeness, Fingerprint, Listed, Listing, Sighting, Unreadable } from "../../src/contracts/source.ts";
import { fileTypeOf } from "../../src/lib/file-type.ts";
import { type Detected, type DetectPolicy, detectChanges } from "../../src/plan/detect-changes.ts";

const FILE = "D/01_files/s/02_embedded/a.txt";
const print: Fingerprint = { size: 5, modifiedAt: "2024-01-15T10:30:00.000000Z", etag: '"{1},1"', contentVersion: "1" };
const onDisk = { size: 5, mtimeMs: 1000 };

function sighting(change: Partial<Sighting> = {}): Sighting {
  const name = change.name ?? "a.txt";
  return {
    kind: "sighting",
    itemId: "1" as ItemId,
    listItemId: 1,
    name,
    path: name,
    serverPath: `/sites/x/L/${name}`,
    url: "",
    rawUrl: "",
    documentType: fileTypeOf(name),
    form: "document",
    fingerprint: print,
    ...change,
  };
}

function mirrored(change: Partial<Mirrored> = {}): Mirrored {
  return {
    listItemId: 1,
    name: "a.txt",
    serverPath: "/sites/x/L/a.txt",
    file: FILE,
    fingerprint: print,
    downloadedAt: "2024-01-15T11:00:00.000000Z",
    sourceError: "",
    processingError: "",
    observed: { ...onDisk, sha256: "ab" },
    ...change,
  };
}

function entry(facets: Partial<LedgerEntry> = {}): LedgerEntry {
  return { itemId: "1" as ItemId, seen: null, mirrored: mirrored(), indexed: null, ...facets };
}

const policy: DetectPolicy = {
  mode: "incremental",
  acceptedTypes: new Set(["txt", "md"]),
  maxBytes: 1000,
  limits: { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false },
  confirmDeletes: false,
};

async function detect(
  seen: readonly Listed[],
  known: readonly LedgerEntry[],
  options: {
    end?: Completeness;
    disk?: Record<string, typeof onDisk>;
    policy?: Partial<DetectPolicy>;
    /** Items that are listed as they were fetched. */
    unchanged?: readonly string[];
  } = {},
): Promise<{ changes: Change[]; counted: number; detected: Detected }> {
  async function* listing(): Listing {
    yield seen;
    return options.end ?? "complete";
  }
  const ledger = {
    getMany: async (ids: readonly ItemId[]) => ids.map((id) => known.find(({ itemId }) => itemId === id)),
    unchangedFiles: async (sightings: readonly Sighting[]) =>
      sightings.map(({ itemId }) => (options.unchanged?.includes(itemId) ? { file: FILE, ...onDisk } : undefined)),
    count: async () => ({ items: known.length }),
    items: async function* () {
      yield known.map(({ itemId }) => itemId);
    },
  };
  const disk = options.disk ?? { [FILE]: onDisk };
  const generator = detectChanges(listing(), ledger, (file) => disk[file], { ...policy, ...options.policy });
  const changes: Change[] = [];
  let counted = 0;
  let step = await generator.next();
  for (; !step.done; step = await generator.next()) {
    changes.push(...step.value.changes);
    counted += step.value.unchanged;
  }
  return { changes, counted, detected: step.value };
}

const later = "2024-02-01T00:00:00.000000Z";
const moved = { path: "sub/a.txt", serverPath: "/sites/x/L/sub/a.txt" };

const table: [title: string, seen: Sighting, known: LedgerEntry | undefined, kind: Change["kind"], reason?: RegExp][] =
  [
    ["A1 added", sighting(), undefined, "added", /new/],
    ["nothing changed", sighting(), entry(), "unchanged"],
    [
      "A3 content updated: size",
      sighting({ fingerprint: { ...print, size: 6 } }),
      entry(),
      "changed",
      /size 5 became 6/,
    ],
    [
      "A3 content updated: time",
      sighting({ fingerprint: { ...print, modifiedAt: later } }),
      entry(),
      "changed",
      /modified/,
    ],
    ["A4 renamed", sighting({ name: "b.txt" }), entry(), "moved", /was '\/sites\/x\/L\/a.txt'/],
    ["A4 renamed to another type", sighting({ name: "a.md" }), entry(), "changed", /file type/],
    ["A5 moved", sighting(moved), entry(), "moved"],
    [
      "A5 moved, the ETag counted up",
      sighting({ ...moved, fingerprint: { ...print, etag: '"{1},3"' } }),
      entry(),
      "moved",
    ],
    ["A7 renamed and updated", sighting({ name: "b.txt", fingerprint: { ...print, size: 9 } }), entry(), "changed"],
    [
      "A8 moved and updated within a second",
      sighting({ ...moved, fingerprint: { ...print, contentVersion: "2" } }),
      entry(),
      "changed",
    ],
    [
      "A11 version rollback: an older time",
      sighting({ fingerprint: { ...print, modifiedAt: "2020-01-01T00:00:00.000000Z" } }),
      entry(),
      "changed",
    ],
    [
      "A14 check-in touches the ETag only",
      sighting({ fingerprint: { ...print, etag: '"{1},2"' } }),
      entry(),
      "unchanged",
    ],
    [
      "same size and second, other content",
      sighting({ fingerprint: { ...print, etag: '"{1},2"', contentVersion: "2" } }),
      entry(),
      "changed",
      /content version/,
    ],
    [
      "no content version, another ETag",
      sighting({ fingerprint: { ...print, etag: '"{1},2"', contentVersion: "" } }),
      entry({ mirrored: mirrored({ fingerprint: { ...print, contentVersion: "" } }) }),
      "changed",
      /ETag/,
    ],
    [
      "`.lockstep/` lost",
      sighting(),
      entry({ mirrored: mirrored({ observed: null, fingerprint: { ...print, etag: "", contentVersion: "" } }) }),
      "unchanged",
    ],
    [
      "`.lockstep/` lost, moved",
      sighting(moved),
      entry({ mirrored: mirrored({ observed: null, fingerprint: { ...print, etag: "", contentVersion: "" } }) }),
      "moved",
    ],
    [
      "B1 missing on disk",
      sighting(),
      entry({ mirrored: mirrored({ file: "D/01_files/s/02_embedded/gone.txt" }) }),
      "added",
      /missing on disk/,
    ],
    [
      "B4 truncated on disk",
      sighting(),
      entry({ mirrored: mirrored({ observed: { size: 50, mtimeMs: 1000, sha256: "ab" } }) }),
      "changed",
      /altered on disk/,
    ],
    [
      "D3 the last download failed",
      sighting(),
      entry({ mirrored: mirrored({ sourceError: "timeout" }) }),
      "changed",
      /failed/,
    ],
    ["D3 never fetched", sighting(), entry({ mirrored: mirrored({ file: "" }) }), "added", /never fetched/],
    ["E4 unsupported type", sighting({ name: "a.zip" }), undefined, "skipped", /'zip' is not accepted/],
    ["no type at all", sighting({ name: "README" }), undefined, "skipped", /no file type/],
    ["too large", sighting({ fingerprint: { ...print, size: 1001 } }), undefined, "skipped", /larger/],
  ];

for (const [title, seen, known, kind, reason] of table) {
  test(title, async () => {
    const { changes } = await detect([seen], known ? [known] : []);
    assert.equal(changes[0]?.kind, kind);
    if (reason) assert.match(changes[0].reason, reason);
    assert.equal(changes.length, 1);
  });
}

test("full mode fetches what did not change", async () => {
  const { changes } = await detect([sighting()], [entry()], { policy: { mode: "full" } });
  assert.deepEqual(
    changes.map(({ kind, reason }) => [kind, reason]),
    [["changed", "full crawl"]],
  );
});

test("A2 removed: only after a complete listing", async () => {
  const other = sighting({ itemId: "2" as ItemId, name: "b.txt" });
  const complete = await detect([other], [entry()]);
  assert.deepEqual(
    complete.changes.map(({ kind }) => kind),
    ["added", "removed"],
  );
  const partial = await detect([other], [entry()], { end: "partial" });
  assert.deepEqual(
    partial.changes.map(({ kind }) => kind),
    ["added", "kept"],
  );
});

test("what the source itself calls gone leaves, also when the look was incomplete, and under the same guard", async () => {
  const departed: Listed = { kind: "departed", itemId: "1" as ItemId, reason: "404 three times" };
  const { changes } = await detect([departed], [entry(), entry({ itemId: "2" as ItemId })], { end: "partial" });
  assert.deepEqual(
    changes.map(({ itemId, kind, reason }) => [itemId, kind, reason]),
    [
      ["2", "kept", "the listing was incomplete"],
      ["1", "removed", "404 three times"],
    ],
  );
  const known = Array.from({ length: 60 }, (_, i) => entry({ itemId: `${i}` as ItemId }));
  const many = known.slice(0, 30).map(({ itemId }): Listed => ({ kind: "departed", itemId, reason: "noindex" }));
  const held = await detect([...many, sighting({ itemId: "59" as ItemId })], known, { end: "partial" });
  assert.equal(held.changes.filter(({ kind }) => kind === "held").length, 30);
});

test("an unreadable folder protects exactly what lies below it", async () => {
  const below = entry({ itemId: "2" as ItemId, mirrored: mirrored({ serverPath: "/sites/x/L/locked/deep/c.txt" }) });
  const beside = entry({ itemId: "3" as ItemId, mirrored: mirrored({ serverPath: "/sites/x/L/locked-not/d.txt" }) });
  const { changes } = await detect(
    [sighting(), { kind: "unreadable", path: "locked", reason: "denied" }],
    [entry(), below, beside],
  );
  assert.deepEqual(Object.fromEntries(changes.map(({ itemId, kind }) => [itemId, kind])), {
    1: "unchanged",
    2: "kept",
    3: "removed",
  });
});

test("a file that cannot be read protects no other of the same name, where server paths begin at the root", async () => {
  const at = (itemId: string, path: string): LedgerEntry =>
    entry({ itemId: itemId as ItemId, mirrored: mirrored({ serverPath: `/${path}` }) });
  const { changes } = await detect(
    [
      sighting({ path: "a.txt", serverPath: "/a.txt" }),
      { kind: "unreadable", path: "zeta.md", reason: "denied" },
      { kind: "unreadable", path: "locked", reason: "denied" },
    ],
    [
      at("1", "a.txt"),
      at("2", "zeta.md"),
      at("3", "old/zeta.md"),
      at("4", "locked/deep/b.txt"),
      at("5", "old/locked/c.txt"),
    ],
  );
  const kinds = Object.fromEntries(changes.map(({ itemId, kind }) => [itemId, kind]));
  assert.deepEqual([kinds[2], kinds[3], kinds[4], kinds[5]], ["kept", "removed", "kept", "removed"]);
});

test("an item that was seen but could not be made out is kept, wherever it has moved", async () => {
  const hole: Unreadable = { kind: "unreadable", path: "new/a.txt", itemId: "1" as ItemId, reason: "no size" };
  const { changes } = await detect([hole, sighting({ itemId: "2" as ItemId, name: "b.txt" })], [entry()]);
  assert.deepEqual(Object.fromEntries(changes.map(({ itemId, kind }) => [itemId, kind])), { 1: "kept", 2: "added" });
});

test("an empty listing is held until confirmed", async () => {
  const known = ["1", "2", "3"].map((id) => entry({ itemId: id as ItemId }));
  const held = await detect([], known);
  assert.deepEqual(
    held.changes.map(({ kind }) => kind),
    ["held", "held", "held"],
  );
  assert.match(held.detected.heldBecause, /lists nothing that is wanted, although 3/);
  const confirmed = await detect([], known, { policy: { confirmDeletes: true } });
  assert.deepEqual(
    confirmed.changes.map(({ kind }) => kind),
    ["removed", "removed", "removed"],
  );
});

test("an item whose type is not accepted any more leaves like a removed one and stays listed", async () => {
  const { changes } = await detect([sighting({ name: "a.zip" })], [entry()]);
  assert.deepEqual(
    changes.map(({ kind }) => kind),
    ["skipped", "removed"],
  );
  assert.ok(changes[1]?.kind === "removed" && changes[1].stillListed);
});

const MOVES: [title: string, successor: (i: number) => string, listed: readonly string[], held: number][] = [
  ["each to a page of its own", (i) => `new${i}`, Array.from({ length: 40 }, (_, i) => `new${i}`), 0],
  ["each to a page that was not listed", (i) => `new${i}`, ["other"], 40],
  ["all to the same page", () => "login", ["login"], 39],
];
for (const [title, successor, listed, held] of MOVES) {
  test(`pages that moved, ${title}: ${held} are held`, async () => {
    const known = Array.from({ length: 40 }, (_, i) => entry({ itemId: `${i}` as ItemId }));
    const departed = known.map(({ itemId }, i): Listed => {
      return { kind: "departed", itemId, successor: successor(i) as ItemId, reason: "another address" };
    });
    const sightings = listed.map((itemId) => sighting({ itemId: itemId as ItemId }));
    const { changes } = await detect([...departed, ...sightings], known);
    assert.equal(changes.filter(({ kind }) => kind === "held").length, held);
    assert.equal(changes.filter(({ kind }) => kind === "removed").length, 40 - held);
  });
}

const mayOnlyCount = (): boolean => true;
const JUDGED: readonly (readonly [title: string, Parameters<typeof detect>[2] & object, Partial<Sighting>?])[] = [
  ["without leave", { policy: {} }],
  ["when its hash is due", { policy: { mayOnlyCount: () => false } }],
  ["in a full crawl", { policy: { mayOnlyCount, mode: "full" } }],
  ["with its file gone", { policy: { mayOnlyCount }, disk: {} }],
  ["with a file of another size", { policy: { mayOnlyCount }, disk: { [FILE]: { ...onDisk, size: 6 } } }],
  ["with a file of another time", { policy: { mayOnlyCount }, disk: { [FILE]: { ...onDisk, mtimeMs: 1003 } } }],
  ["of a type that is not accepted", { policy: { mayOnlyCount, acceptedTypes: new Set(["md"]) } }],
  ["that is too large", { policy: { mayOnlyCount, maxBytes: 4 } }],
  ["with an original", { policy: { mayOnlyCount } }, { form: "original" }],
];
for (const [title, options, change] of JUDGED) {
  test(`an unchanged item is judged, not only counted: ${title}`, async () => {
    const { changes, counted } = await detect([sighting(change)], [entry()], { unchanged: ["1"], ...options });
    assert.deepEqual([changes.some(({ itemId }) => itemId === "1"), counted], [true, 0]);
  });
}

test("items that are only counted are listed and known: others that are not listed leave, by the same guard", async () => {
  const names = Array.from({ length: 40 }, (_, i) => `${i}`);
  const known = names.map((name) => entry({ itemId: name as ItemId }));
  const listed = names.map((name) => sighting({ itemId: name as ItemId }));
  const all = { policy: { mayOnlyCount }, unchanged: names };
  const none = await detect(listed, known, all);
  assert.deepEqual([none.changes, none.counted, none.detected.listed], [[], 40, 40]);
  // One comes twice, and does not stand for another.
  const one = await detect([...listed.slice(1), sighting({ itemId: "1" as ItemId })], known, all);
  assert.deepEqual(
    one.changes.map(({ itemId, kind }) => [itemId, kind]),
    [["0", "removed"]],
  );
  assert.equal(one.detected.listed, 39);
  const many = await detect(listed.slice(30), known, all);
  assert.deepEqual([many.counted, many.changes.length, many.detected.heldBecause !== ""], [10, 30, true]);
  assert.ok(many.changes.every(({ kind }) => kind === "held"));
});

test("what the source is not sure of is kept, in a complete listing, too, and is nothing to report", async () => {
  const undecided: Listed = { kind: "undecided", itemId: "1" as ItemId, reason: "404, once" };
  const { changes, detected } = await detect([undecided, sighting({ itemId: "2" as ItemId })], [entry()]);
  assert.deepEqual(
    changes.map(({ itemId, kind, reason }) => [itemId, kind, reason]),
    [
      ["2", "added", "new at the source"],
      ["1", "kept", "404, once"],
    ],
  );
  assert.deepEqual(detected.unreadable, []);
});

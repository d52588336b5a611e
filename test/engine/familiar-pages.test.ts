import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change } from "../../src/contracts/change.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import type { LedgerEntry } from "../../src/contracts/ledger.ts";
import type { Completeness, Listing, Sighting } from "../../src/contracts/source.ts";
import { detectChanges } from "../../src/detect/detect-changes.ts";
import { FamiliarPages } from "../../src/engine/familiar-pages.ts";
import type { SettledPage } from "../../src/engine/last-look.ts";
import { noCounts } from "../../src/engine/tally.ts";

const fingerprint = { size: 5, modifiedAt: "2024-01-15T10:30:00.000000Z", etag: '"{1},1"', contentVersion: "1" };

function sighting(id: number, change: Partial<Sighting> = {}): Sighting {
  const name = `${id}.${id % 10 === 9 ? "png" : "txt"}`;
  const place = { name, path: name, serverPath: `/L/${name}`, url: "", rawUrl: `https://t/L/${name}` };
  const type = { documentType: name.split(".")[1] ?? "", form: "document" } as const;
  return { kind: "sighting", itemId: `${id}` as ItemId, listItemId: id, ...place, ...type, fingerprint, ...change };
}

function entry({ itemId, listItemId, name, serverPath, documentType }: Sighting): LedgerEntry {
  const seen = { listItemId, name, serverPath, url: "", rawUrl: `https://t${serverPath}`, size: 5, modifiedAt: "" };
  if (documentType !== "txt") return { itemId, seen, mirrored: null, indexed: null };
  const errors = { sourceError: "", processingError: "" };
  const mirrored = {
    listItemId,
    name,
    serverPath,
    file: name,
    fingerprint,
    downloadedAt: "",
    observed: null,
    ...errors,
  };
  return { itemId, seen, mirrored, indexed: null };
}

const FIRST = [1, 2, 3, 9].map((id) => sighting(id));
const SECOND = [11, 12, 19].map((id) => sighting(id));
const LEDGER = [...FIRST, ...SECOND].map(entry);

async function look(pages: readonly Sighting[][], before: readonly SettledPage[], end: Completeness = "complete") {
  const counts = noCounts();
  const familiar = new FamiliarPages(before, counts);
  let opened = false;
  const ledger = {
    getMany: async (ids: readonly ItemId[]) => {
      opened = true;
      return ids.map((id) => LEDGER.find(({ itemId }) => itemId === id));
    },
    items: async function* () {
      opened = true;
      yield LEDGER.map(({ itemId }) => itemId);
    },
  };
  async function* listing(): Listing {
    yield* pages;
    return end;
  }
  const limits = { maxRemovals: 25, maxRemovalsPercent: 25, allowEmpty: false };
  const policy = {
    mode: "incremental",
    acceptedTypes: new Set(["txt"]),
    maxBytes: 100,
    limits,
    confirmDeletes: false,
  } as const;
  const generator = detectChanges(listing(), ledger, () => ({ size: 5, mtimeMs: 0 }), policy, familiar);
  const changes: Change[] = [];
  let step = await generator.next();
  for (; !step.done; step = await generator.next()) {
    if (step.value.from === "listed") familiar.learn(step.value.changes);
    changes.push(...step.value.changes);
  }
  const told = changes.filter(({ kind }) => kind !== "unchanged" && kind !== "skipped");
  return {
    told: told.map(({ kind, itemId }) => `${kind} ${itemId}`),
    changes,
    counts,
    opened,
    familiar,
    listed: step.value.listed,
  };
}

test("the same pages again: nothing is judged, the ledger stays closed, the counts are those of the first look", async () => {
  const first = await look([FIRST, SECOND], []);
  assert.deepEqual([first.told, first.opened], [[], true]);
  const again = await look([FIRST, SECOND], first.familiar.pages);
  assert.deepEqual([again.changes, again.opened, again.listed], [[], false, 7]);
  assert.deepEqual([again.counts.unchanged, again.counts.skipped], [5, 2]);
  assert.ok(again.familiar.isAll());
});

test("one item that changed: its page is judged, the other one is not", async () => {
  const { familiar } = await look([FIRST, SECOND], []);
  const edited = [sighting(11), sighting(12, { fingerprint: { ...fingerprint, size: 6 } }), sighting(19)];
  const { told, counts } = await look([FIRST, edited], familiar.pages);
  assert.deepEqual(told, ["changed 12"]);
  assert.equal(counts.unchanged, 3, "those of the recognised page");
});

test("an item that is gone is missed, also when every page that came was recognised", async () => {
  const { familiar } = await look([FIRST, SECOND], []);
  assert.deepEqual((await look([FIRST, SECOND.slice(1)], familiar.pages)).told, ["removed 11"]);
  assert.deepEqual((await look([FIRST], familiar.pages)).told, ["removed 11", "removed 12", "removed 19"]);
});

test("a listing that broke off after pages that were recognised removes nothing", async () => {
  const { familiar } = await look([FIRST, SECOND], []);
  const { told } = await look([FIRST], familiar.pages, "partial");
  assert.ok(
    told.every((one) => one.startsWith("kept")),
    told.join(),
  );
});

test("a new page behind the known ones is judged", async () => {
  const { familiar } = await look([FIRST, SECOND], []);
  const { told } = await look([FIRST, SECOND, [sighting(21)]], familiar.pages);
  assert.deepEqual(told, ["added 21"]);
});

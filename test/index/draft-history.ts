import assert from "node:assert/strict";
import type { ItemId, SourceId } from "../../src/contracts/ids.ts";
import type { Generation, IndexDraft } from "../../src/contracts/search-index.ts";
import { visibleAt } from "../../src/index/generations.ts";
import { Random } from "../stories/random.ts";
import { DEMO, type IndexFixture, indexFixture, LIBRARY, never, OTHER, STORE } from "./index-fixture.ts";

const STEPS = 60;
const ITEMS = 8;
const DAY = 24 * 3600;

/** What a generation shows: `source/item` to `path: text`. */
type Snapshot = ReadonlyMap<string, string>;

/** A random history of commits, abandoned drafts, rollbacks, items that are forgotten and days that pass, compared with a list of snapshots. */
export async function playDraftHistory(seed: number): Promise<void> {
  let now = 1_800_000_000;
  const at = await indexFixture({ nowSeconds: () => now });
  const random = new Random(seed);
  const pick = (limit: number): number => random.below(limit);
  const model: Model = { snapshots: [new Map()], shown: 0, pinned: false };
  try {
    for (let step = 0; step < STEPS; step++) {
      const what = pick(10);
      if (what < 6) await change(at, model, pick, step);
      else if (what === 6) await leaveBehind(at, pick);
      else if (what === 7 && pick(2) === 0) await forget(at, model);
      else if (what === 7) now += DAY;
      else await goBackOrRelease(at, model, pick);
      await compare(at, model, pick);
    }
    await nothingLeftOver(at);
    await nothingKept(at, model);
  } finally {
    await at.close();
  }
}

async function goBackOrRelease(at: IndexFixture, model: Model, pick: (below: number) => number): Promise<void> {
  const { generations } = at.index;
  if (model.pinned) {
    await generations.release();
    Object.assign(model, { shown: newestOf(model), pinned: false });
    return;
  }
  const kept = await generations.list();
  const to = kept[pick(kept.length)];
  if (!to) return;
  await generations.rollback(to.number);
  Object.assign(model, { shown: to.number, pinned: true });
}

/** All that the newest generation does not have; what a kept one shows must wait. */
async function forget({ index }: IndexFixture, model: Model): Promise<void> {
  const newest = model.snapshots[newestOf(model)];
  for (const source of [LIBRARY, OTHER]) {
    const waiting: string[] = [];
    for await (const items of index.retained.listHidden(source)) {
      for (const item of items) assert.ok(!newest?.has(`${source}/${item}`));
      const told = await index.retained.purge(source, items, { dryRun: true });
      const kept = await index.retained.purge(source, items);
      assert.deepEqual(told.toSorted(), kept.toSorted());
      waiting.push(...kept);
    }
    const snapshots = (await index.generations.list()).map(({ number }) => model.snapshots[number]);
    for (const item of waiting) {
      assert.ok(
        snapshots.some((snapshot) => snapshot?.has(`${source}/${item}`)),
        `${item} waits, and no kept generation shows it`,
      );
    }
    for await (const items of index.retained.listHidden(source)) {
      for (const item of items) assert.ok(waiting.includes(item), `${item} should be forgotten`);
    }
  }
}

/** When all that is hidden is forgotten, and what was left behind is swept, nothing waits to return. */
async function nothingKept(at: IndexFixture, model: Model): Promise<void> {
  if (model.pinned) await at.index.generations.release();
  Object.assign(model, { shown: newestOf(model), pinned: false });
  for (const source of [LIBRARY, OTHER]) await (await at.index.draft(source)).discard();
  await at.index.retained.collectGarbage({ dryRun: false });
  await forget(at, model);
  for (const source of [LIBRARY, OTHER]) {
    for await (const items of at.index.retained.listHidden(source))
      await at.index.retained.endGracePeriod(source, items);
  }
  assert.equal(await at.count("SELECT count(*) AS n FROM kept_documents"), 0);
  await compareKept(at, model);
  await nothingLeftOver(at);
}

interface Model {
  /** By number; what a generation showed first is what it shows. */
  readonly snapshots: Snapshot[];
  shown: number;
  pinned: boolean;
}

function newestOf({ snapshots }: Model): number {
  return snapshots.length - 1;
}

async function change(at: IndexFixture, model: Model, pick: (below: number) => number, step: number): Promise<void> {
  const source = pick(3) === 0 ? OTHER : LIBRARY;
  const before = model.snapshots[newestOf(model)] ?? new Map<string, string>();
  const next = new Map(before);
  const draft = await at.index.draft(source);
  const committing = async (): ReturnType<IndexDraft["commit"]> => {
    for (let changes = pick(6); changes >= 0; changes--) {
      await changeOne(at, draft, next, source, pick, step);
      // Some of them write what they have so far, some write all in the end.
      if (pick(3) === 0) await fillBatch(draft);
    }
    return draft.commit(never, { allowEmpty: true });
  };
  assert.deepEqual((await committing()).failed, []);
  const changed = before.size !== next.size || [...before].some(([key, text]) => next.get(key) !== text);
  // A text that went and came back within a draft is a generation, too; the number tells.
  const { newest } = await at.index.generations.state();
  assert.ok(newest === newestOf(model) + 1 || (newest === newestOf(model) && !changed));
  if (newest > newestOf(model)) model.snapshots.push(next);
  if (!model.pinned) model.shown = newest;
}

async function changeOne(
  at: IndexFixture,
  draft: IndexDraft,
  next: Map<string, string>,
  source: SourceId,
  pick: (below: number) => number,
  step: number,
): Promise<void> {
  const item = `i${pick(ITEMS)}` as ItemId;
  const key = `${source}/${item}`;
  const now = next.get(key);
  const kind = pick(4);
  if (kind === 0) {
    await draft.remove(item, { mayReturn: pick(2) === 0 });
    next.delete(key);
  } else if (kind === 1 && now !== undefined) {
    const path = `p${pick(3)}/${item}.md`;
    const { label } = await at.makeFile(item, "");
    await draft.relabel(item, { ...label, path });
    next.set(key, `${path}: ${now.slice(now.indexOf(": ") + 2)}`);
  } else {
    const text = `Text ${pick(3) === 0 ? "shared" : step} stands.`;
    await draft.put(await at.makeFile(item, text), never);
    next.set(key, `${item}.md: ${text}`);
  }
}

/** So many operations fill a batch that it is written, though these change nothing. */
async function fillBatch(draft: IndexDraft): Promise<void> {
  for (let i = 0; i < 400; i++) await draft.remove("nowhere" as ItemId);
}

/** As a crash would: some of it is on disk, and nobody ever ends it. */
async function leaveBehind(at: IndexFixture, pick: (below: number) => number): Promise<void> {
  const draft = await at.index.draft(pick(2) === 0 ? OTHER : LIBRARY);
  await draft.put(await at.makeFile(`i${pick(ITEMS)}`, "Text that was left behind."), never);
  await draft.remove(`i${pick(ITEMS)}` as ItemId, { mayReturn: pick(2) === 0 });
  await fillBatch(draft);
  // The second batch waits until the first is written.
  await fillBatch(draft);
}

async function compare(at: IndexFixture, model: Model, pick: (below: number) => number): Promise<void> {
  const { index } = at;
  const { shown: shownNow, newest, pinned } = await index.generations.state();
  assert.deepEqual([shownNow, newest, pinned], [model.shown, newestOf(model), model.pinned]);
  const kept = await compareKept(at, model);
  assert.ok(kept.length >= Math.min(3, newest), `only ${kept.length} are kept`);
  assert.ok(newest === 0 || kept.some(({ number }) => number === model.shown), "what is shown is kept");
  const [from, to] = [kept[pick(kept.length)], kept[pick(kept.length)]];
  if (!from || !to) return;
  const told = [];
  for await (const page of index.generations.difference(from.number, to.number)) told.push(...page);
  const [a, b] = [model.snapshots[from.number], model.snapshots[to.number]];
  for (const { kind, sourceId, itemId, path } of told) {
    const key = `${sourceId}/${itemId}`;
    assert.equal(kind, !a?.has(key) ? "added" : b?.has(key) ? "changed" : "removed", key);
    assert.equal(path, (b?.get(key) ?? a?.get(key))?.split(": ")[0]);
  }
  const names = told.map(({ sourceId, itemId }) => `${sourceId}/${itemId}`);
  assert.equal(new Set(names).size, names.length, "each item is told once");
  for (const key of [...(a?.keys() ?? []), ...(b?.keys() ?? [])]) {
    if (a?.get(key) !== b?.get(key)) assert.ok(names.includes(key), `${key} differs and is not told`);
  }
}

async function compareKept(at: IndexFixture, model: Model): Promise<readonly Generation[]> {
  const kept = await at.index.generations.list();
  for (const { number } of kept) {
    assert.deepEqual(sorted(await shown(at, number)), sorted(model.snapshots[number]), `generation ${number}`);
  }
  const ids = new Set(kept.map(({ generationId }) => generationId));
  assert.equal(ids.size, kept.length, "no two have the same id");
  return kept;
}

async function shown(at: IndexFixture, number: number): Promise<Snapshot> {
  const { db } = await at.provider.open(STORE);
  const rows = await db.all<{ key: string; shows: string }>(
    `SELECT d.source_id || '/' || d.item_id AS key, d.path || ': ' || c.text AS shows
     FROM documents d JOIN chunks c ON c.body_id = d.body_id WHERE d.domain_id = $1 AND ${visibleAt("$2")}`,
    [DEMO, number],
  );
  const snapshot = new Map(rows.map(({ key, shows }) => [key, shows]));
  assert.equal(snapshot.size, rows.length, "no item is shown twice");
  return snapshot;
}

function sorted(snapshot: Snapshot | undefined): [string, string][] {
  return [...(snapshot ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Every row is needed by another, or noted as one to be cleaned up. */
async function nothingLeftOver(at: IndexFixture): Promise<void> {
  const none = {
    "bodies nobody names": `bodies WHERE id NOT IN (SELECT body_id FROM documents)
       AND id NOT IN (SELECT body_id FROM loose_bodies) AND id NOT IN (SELECT body_id FROM kept_documents)`,
    "bodies without chunks": "bodies WHERE id NOT IN (SELECT body_id FROM chunks)",
    "chunks without words": "chunks WHERE id NOT IN (SELECT rowid FROM chunks_text)",
    "words without a chunk": "chunks_text WHERE rowid NOT IN (SELECT id FROM chunks)",
    "documents without words": "documents WHERE id NOT IN (SELECT rowid FROM labels_text)",
    "words without a document": "labels_text WHERE rowid NOT IN (SELECT id FROM documents)",
    "chunks without a vector": "chunks WHERE id NOT IN (SELECT chunk_id FROM vectors)",
    "vectors without a chunk": "vectors WHERE chunk_id NOT IN (SELECT id FROM chunks)",
  };
  for (const [what, rows] of Object.entries(none)) {
    assert.equal(await at.count(`SELECT count(*) AS n FROM ${rows}`), 0, what);
  }
}

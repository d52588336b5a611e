import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DomainId, ItemId, SourceId } from "../../src/contracts/ids.ts";
import type {
  CrawlDraft,
  DocumentFile,
  Generation,
  Index,
  IndexDraft,
  SourceDraft,
} from "../../src/contracts/search-index.ts";
import { changeOwner } from "../../src/index/documents.ts";
import { visibleAt } from "../../src/index/generations.ts";
import { defaultParts, type OwnStoreUnderTest, type Parts, storeInHouse } from "../contracts/store-under-test.ts";
import { Random } from "../stories/random.ts";
import { DEMO, LIBRARY, never, OTHER, openStores, STORE, writeDocument } from "./index-fixture.ts";

const STEPS = 60;
const ITEMS = 8;
const DAY = 24 * 3600;
const SOURCES = [LIBRARY, OTHER];

/** What a generation shows: `source/item` to `path: text`. */
type Snapshot = ReadonlyMap<string, string>;
type Changes = Pick<SourceDraft, "put" | "relabel" | "remove">;

/**
 * Plays a random history of crawls of two sources, single commits, abandoned drafts, killed crawls, rollbacks, purges, erased items,
 * renames of the domain, and days that pass; and compares every kept generation, after every step, with what it showed first.
 */
export async function playDraftHistory(
  seed: number,
  openStore: (parts: Parts) => Promise<OwnStoreUnderTest>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "history-"));
  const history = new History(seed, folder);
  const under = await openStore({ ...defaultParts(), nowSeconds: () => history.now });
  try {
    await history.play(under);
  } finally {
    await under.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A crawl that is under way: its draft, and what it will change. */
interface Crawl {
  readonly draft: CrawlDraft;
  readonly parts: Map<SourceId, SourceDraft>;
  /** By `source/item`; null: removed. */
  readonly pending: Map<string, string | null>;
}

class History {
  now = 1_800_000_000;
  readonly #random: Random;
  readonly #folder: string;
  #under!: OwnStoreUnderTest;
  #index!: Index;
  #step = 0;
  #crawl: Crawl | undefined;
  /** By number; what a generation showed first is what it shows, except for what was erased. */
  readonly #snapshots: Snapshot[] = [new Map()];
  readonly #ids = new Map<number, string>();
  readonly #erased = new Map<number, number>();
  #shown = 0;
  #pinned = false;

  constructor(seed: number, folder: string) {
    this.#random = new Random(seed);
    this.#folder = folder;
  }

  async play(under: OwnStoreUnderTest): Promise<void> {
    this.#under = under;
    this.#index = await under.openIndex(DEMO);
    for (this.#step = 0; this.#step < STEPS; this.#step++) {
      const what = this.#pick(16);
      if (what < 5) await this.#commitOne();
      else if (what < 8) await this.#crawlSome();
      else if (what === 8) await this.#endCrawl();
      else if (what === 9) await this.#leaveBehind();
      else if (what === 10) await this.#purge();
      else if (what === 11) await (this.#pick(3) === 0 ? this.#erase() : this.#rename());
      else if (what === 12) this.now += DAY;
      else await this.#goBackOrRelease();
      await this.#compare();
    }
    await this.#nothingLeftOver();
    await this.#nothingKept();
  }

  get #newest(): number {
    return this.#snapshots.length - 1;
  }

  #pick(below: number): number {
    return this.#random.below(below);
  }

  #snapshot(number: number): Snapshot {
    return this.#snapshots[number] ?? assert.fail(`there was no generation ${number}`);
  }

  #makeFile(item: string, text: string): Promise<DocumentFile> {
    return writeDocument(this.#folder, item, text);
  }

  /** One draft of one source, as watch mode commits it, perhaps while a crawl is under way. */
  async #commitOne(): Promise<void> {
    const source = this.#pick(3) === 0 ? OTHER : LIBRARY;
    const before = this.#snapshot(this.#newest);
    const next = new Map<string, string | null>(before);
    const draft = await this.#index.draft(source);
    for (let changes = this.#pick(6); changes >= 0; changes--) {
      const key = await this.#changeOne(draft, next, source);
      this.#crawl?.pending.delete(key);
      // Some of them write what they have so far, some write all in the end.
      if (this.#pick(3) === 0) await fillBatch(draft);
    }
    const { failed } = await draft.commit(never, { allowEmpty: true });
    assert.deepEqual(failed, []);
    await this.#noteCommit(without(next));
  }

  /** A part of a crawl: it changes a source, takes it out of its draft again, or commits. */
  async #crawlSome(): Promise<void> {
    this.#crawl ??= { draft: await this.#drafts.open(`jb_${this.#step}`), parts: new Map(), pending: new Map() };
    const { draft, parts, pending } = this.#crawl;
    const source = SOURCES[this.#pick(2)] ?? LIBRARY;
    const part = parts.get(source) ?? (await draft.source(source));
    parts.set(source, part);
    const before = this.#snapshot(this.#newest);
    const next = new Map<string, string | null>([...before, ...pending]);
    for (let changes = this.#pick(8); changes >= 0; changes--) {
      const key = await this.#changeOne(part, next, source);
      const now = next.get(key) ?? null;
      if (now === (before.get(key) ?? null)) pending.delete(key);
      else pending.set(key, now);
    }
    assert.deepEqual(await part.stage(never), []);
    const held = new Map((await part.stored(itemsOf(before, source))).map((one) => [one.itemId, one.label.path]));
    for (const item of itemsOf(before, source)) assert.equal(held.get(item), pathIn(before, `${source}/${item}`));
  }

  async #endCrawl(): Promise<void> {
    const { draft, parts, pending } = this.#crawl ?? {};
    if (!draft || !parts || !pending) return;
    const how = this.#pick(4);
    if (how === 0 && parts.size > 0) {
      // A source fails: it keeps what it had, and the crawl goes on.
      const [source, part] = [...parts][this.#pick(parts.size)] ?? assert.fail();
      await part.discard();
      parts.delete(source);
      for (const key of [...pending.keys()]) if (key.startsWith(`${source}/`)) pending.delete(key);
      return;
    }
    this.#crawl = undefined;
    // Killed or cancelled: what it stored stays, and changes nothing.
    if (how === 1) return;
    await draft.commit(never, { allowEmpty: true });
    await this.#noteCommit(without(new Map([...this.#snapshot(this.#newest), ...pending])));
    await this.#drafts.sweep(await this.#drafts.listOpen());
    assert.deepEqual(await this.#drafts.listOpen(), []);
  }

  get #drafts() {
    return this.#index.crawlDrafts ?? assert.fail("an index of ours has drafts of crawls");
  }

  async #noteCommit(next: Snapshot): Promise<void> {
    const before = this.#snapshot(this.#newest);
    const changed = before.size !== next.size || [...before].some(([key, text]) => next.get(key) !== text);
    const { newest } = await this.#state();
    // A text that went and came back within a draft may be a generation, too.
    assert.ok(newest === this.#newest + 1 || (newest === this.#newest && !changed), `${newest} after ${this.#newest}`);
    if (newest > this.#newest) this.#snapshots.push(next);
    if (!this.#pinned) this.#shown = newest;
  }

  async #changeOne(draft: Changes, next: Map<string, string | null>, source: SourceId): Promise<string> {
    const item = `i${this.#pick(ITEMS)}` as ItemId;
    const key = `${source}/${item}`;
    const now = next.get(key) ?? undefined;
    const kind = this.#pick(4);
    if (kind === 0) {
      await draft.remove(item, { mayReturn: this.#pick(2) === 0 });
      next.set(key, null);
    } else if (kind === 1 && now !== undefined) {
      const path = `p${this.#pick(3)}/${item}.md`;
      const { label } = await this.#makeFile(item, "");
      await draft.relabel(item, { ...label, path });
      next.set(key, `${path}: ${now.slice(now.indexOf(": ") + 2)}`);
    } else {
      const text = `Text ${this.#pick(3) === 0 ? "shared" : this.#step} stands.`;
      await draft.put(await this.#makeFile(item, text), never);
      next.set(key, `${item}.md: ${text}`);
    }
    return key;
  }

  /** As a crash would: some of it is on disk, and nobody ever ends it. */
  async #leaveBehind(): Promise<void> {
    const source = this.#pick(2) === 0 ? OTHER : LIBRARY;
    const draft = await this.#index.draft(source);
    const [put, removed] = [`i${this.#pick(ITEMS)}`, `i${this.#pick(ITEMS)}`];
    await draft.put(await this.#makeFile(put, "Text that was left behind."), never);
    await draft.remove(removed as ItemId, { mayReturn: this.#pick(2) === 0 });
    await fillBatch(draft);
    // The second batch waits until the first is written.
    await fillBatch(draft);
    for (const item of [put, removed]) this.#crawl?.pending.delete(`${source}/${item}`);
  }

  /** All that the newest generation does not have; what a kept one shows must wait. */
  async #purge(): Promise<void> {
    const { retained } = this.#index;
    assert.ok(retained);
    const newest = this.#snapshot(this.#newest);
    for (const source of SOURCES) {
      const waiting: string[] = [];
      for await (const items of retained.listHidden(source)) {
        for (const item of items) assert.ok(!newest.has(`${source}/${item}`));
        const told = await retained.purge(source, items, { dryRun: true });
        const kept = await retained.purge(source, items);
        assert.deepEqual(told.toSorted(), kept.toSorted());
        waiting.push(...kept);
      }
      const snapshots = (await this.#kept()).map(({ number }) => this.#snapshot(number));
      for (const item of waiting) {
        assert.ok(
          snapshots.some((snapshot) => snapshot.has(`${source}/${item}`)),
          `${item} waits, and no kept generation shows it`,
        );
      }
      for await (const items of retained.listHidden(source)) {
        for (const item of items) assert.ok(waiting.includes(item), `${item} should be forgotten`);
      }
    }
  }

  async #erase(): Promise<void> {
    const source = SOURCES[this.#pick(2)] ?? LIBRARY;
    const item = `i${this.#pick(ITEMS)}` as ItemId;
    const key = `${source}/${item}`;
    for (const { number } of await this.#kept()) {
      if (this.#snapshot(number).has(key)) this.#erased.set(number, (this.#erased.get(number) ?? 0) + 1);
    }
    await this.#index.retained?.erase(source, [item], { dryRun: false });
    for (const [number, snapshot] of this.#snapshots.entries()) {
      this.#snapshots[number] = new Map([...snapshot].filter(([other]) => other !== key));
    }
    this.#crawl?.pending.delete(key);
  }

  /** There and back: drafts that are open go along. */
  async #rename(): Promise<void> {
    const store = await this.#under.store();
    const heir = "HEIR" as DomainId;
    const folders = { from: "/a", to: "/b" };
    await changeOwner(store, { from: DEMO, to: heir, folders }, never);
    const index = await this.#under.openIndex(heir);
    const sources = new Set([...this.#snapshot(this.#newest).keys()].map((key) => key.split("/")[0]));
    assert.deepEqual(new Set(await index.sources()), sources);
    await changeOwner(store, { from: heir, to: DEMO, folders }, never);
  }

  async #goBackOrRelease(): Promise<void> {
    const { generations } = this.#index;
    if (this.#pinned) {
      await generations?.release();
      this.#shown = this.#newest;
      this.#pinned = false;
      return;
    }
    const kept = await this.#kept();
    const to = kept[this.#pick(kept.length)];
    if (!to) return;
    await generations?.rollback(to.number);
    this.#shown = to.number;
    this.#pinned = true;
  }

  async #state() {
    return (await this.#index.generations?.state()) ?? assert.fail("an index of ours has generations");
  }

  async #kept(): Promise<readonly Generation[]> {
    return (await this.#index.generations?.list()) ?? [];
  }

  async #compare(): Promise<void> {
    const { shown, newest, pinned } = await this.#state();
    assert.deepEqual([shown, newest, pinned], [this.#shown, this.#newest, this.#pinned]);
    const kept = await this.#compareKept();
    assert.ok(kept.length >= Math.min(3, newest), `only ${kept.length} are kept`);
    assert.ok(newest === 0 || kept.some(({ number }) => number === this.#shown), "what is shown is kept");
    const [from, to] = [kept[this.#pick(kept.length)], kept[this.#pick(kept.length)]];
    if (from && to) await this.#compareDifference(from.number, to.number);
  }

  /** By SQL; and by search, as of one of them and as readers see it. */
  async #compareKept(): Promise<readonly Generation[]> {
    const kept = await this.#kept();
    for (const { number, generationId, erased } of kept) {
      const known = this.#ids.get(number);
      this.#ids.set(number, generationId);
      assert.equal(known ?? generationId, generationId, `the id of generation ${number}`);
      assert.equal(erased, this.#erased.get(number) ?? 0, `erased from generation ${number}`);
      assert.deepEqual(sorted(await this.#read(number)), sorted(this.#snapshot(number)), `generation ${number}`);
    }
    assert.equal(new Set(this.#ids.values()).size, this.#ids.size, "no two have the same id");
    const one = kept[this.#pick(Math.max(1, kept.length))];
    const searched = [{ generation: undefined, shows: this.#snapshot(this.#shown) }];
    const also = one && { generation: one.number, shows: this.#snapshot(one.number) };
    for (const { generation, shows } of also ? [...searched, also] : searched) {
      const hits = await this.#index.search({
        text: "text stands",
        limit: 50,
        unfolded: true,
        using: "text",
        ...(generation !== undefined && { generation }),
      });
      const found = hits.map(({ details, text }) => `${details?.path}: ${text}`).sort();
      assert.deepEqual(found, [...shows.values()].sort(), `a search as of ${generation}`);
    }
    return kept;
  }

  async #compareDifference(from: number, to: number): Promise<void> {
    const told = [];
    for await (const page of this.#index.generations?.difference(from, to) ?? []) told.push(...page);
    const [a, b] = [this.#snapshot(from), this.#snapshot(to)];
    for (const { kind, sourceId, itemId, path } of told) {
      const key = `${sourceId}/${itemId}`;
      assert.equal(kind, !a.has(key) ? "added" : b.has(key) ? "changed" : "removed", key);
      assert.equal(path, pathIn(b, key) ?? pathIn(a, key));
    }
    const names = told.map(({ sourceId, itemId }) => `${sourceId}/${itemId}`);
    assert.equal(new Set(names).size, names.length, "each item is told once");
    for (const key of [...a.keys(), ...b.keys()]) {
      if (a.get(key) !== b.get(key)) assert.ok(names.includes(key), `${key} differs and is not told`);
    }
  }

  async #read(number: number): Promise<Snapshot> {
    const { db } = await this.#under.store();
    const rows = await db.all<{ key: string; shows: string }>(
      `SELECT d.source_id || '/' || d.item_id AS key, d.path || ': ' || c.text AS shows
       FROM documents d JOIN chunks c ON c.body_id = d.body_id WHERE d.domain_id = $1 AND ${visibleAt("$2")}`,
      [DEMO, number],
    );
    const snapshot = new Map(rows.map(({ key, shows }) => [key, shows]));
    assert.equal(snapshot.size, rows.length, "no item is shown twice");
    return snapshot;
  }

  /** When all that is hidden is forgotten, and what was left behind is swept, nothing waits to return. */
  async #nothingKept(): Promise<void> {
    const { generations, retained } = this.#index;
    if (this.#pinned) await generations?.release();
    this.#shown = this.#newest;
    this.#pinned = false;
    for (const source of SOURCES) await (await this.#index.draft(source)).discard();
    await this.#drafts.sweep(await this.#drafts.listOpen());
    await retained?.collectGarbage({ dryRun: false });
    await this.#purge();
    for (const source of SOURCES) {
      for await (const items of retained?.listHidden(source) ?? []) await retained?.endGracePeriod(source, items);
    }
    assert.equal(await this.#count("kept_documents"), 0);
    assert.equal(await this.#count("generations WHERE number IS NULL"), 0);
    await this.#compareKept();
    await this.#nothingLeftOver();
  }

  async #count(rows: string): Promise<number> {
    const { db } = await this.#under.store();
    return Number((await db.get<{ n: number }>(`SELECT count(*) AS n FROM ${rows}`))?.n);
  }

  /** Every row is needed by another, or noted as one to be cleaned up. */
  async #nothingLeftOver(): Promise<void> {
    const { db } = await this.#under.store();
    const id = db.dialect === "sqlite" ? "rowid" : "id";
    const none = {
      "bodies nobody names": `bodies WHERE id NOT IN (SELECT body_id FROM documents WHERE body_id IS NOT NULL)
         AND id NOT IN (SELECT body_id FROM loose_bodies) AND id NOT IN (SELECT body_id FROM kept_documents)`,
      "bodies without chunks": "bodies WHERE id NOT IN (SELECT body_id FROM chunks)",
      "chunks without words": `chunks WHERE id NOT IN (SELECT ${id} FROM chunks_text)`,
      "words without a chunk": `chunks_text WHERE ${id} NOT IN (SELECT id FROM chunks)`,
      "documents without words": `documents WHERE id NOT IN (SELECT ${id} FROM labels_text)`,
      "words without a document": `labels_text WHERE ${id} NOT IN (SELECT id FROM documents)`,
      "chunks without a vector": "chunks WHERE id NOT IN (SELECT chunk_id FROM vectors)",
      "vectors without a chunk": "vectors WHERE chunk_id NOT IN (SELECT id FROM chunks)",
    };
    for (const [what, rows] of Object.entries(none)) assert.equal(await this.#count(rows), 0, what);
  }
}

/** Opens a SQLite store in a folder of its own. */
export async function openAlone(parts: Parts): Promise<OwnStoreUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), "history-store-"));
  const provider = openStores(folder, parts.embedder);
  return storeInHouse(provider, STORE, parts, async () => {
    await provider.close();
    await rm(folder, { recursive: true, force: true });
  });
}

/** So many operations fill a batch that it is written, though these change nothing. */
async function fillBatch(draft: Pick<IndexDraft, "remove">): Promise<void> {
  for (let i = 0; i < 400; i++) await draft.remove("nowhere" as ItemId);
}

function without(next: ReadonlyMap<string, string | null>): Snapshot {
  return new Map([...next].flatMap(([key, text]) => (text === null ? [] : [[key, text] as const])));
}

function itemsOf(snapshot: Snapshot, source: SourceId): ItemId[] {
  return [...snapshot.keys()].flatMap((key) =>
    key.startsWith(`${source}/`) ? [key.slice(source.length + 1) as ItemId] : [],
  );
}

function pathIn(snapshot: Snapshot, key: string): string | undefined {
  return snapshot.get(key)?.split(": ")[0];
}

function sorted(snapshot: Snapshot): [string, string][] {
  return [...snapshot].sort(([a], [b]) => (a < b ? -1 : 1));
}

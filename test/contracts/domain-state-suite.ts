import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, type TestContext, test } from "node:test";
import type { OtherStore, ScheduleState } from "../../src/contracts/domain-state.ts";
import type { DomainId, FileId, ItemId, JobId, SourceId, VectorStoreId } from "../../src/contracts/ids.ts";
import type { Lease, LeaseOptions } from "../../src/contracts/lease.ts";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import type { UploadIntent, UploadPlace } from "../../src/contracts/uploads.ts";
import type { LeaseTask } from "../ledger/lease-child.ts";

export interface StatePlace {
  readonly storage: string;
  readonly ledgers: Ledgers;
  /** Of a PostgreSQL database; none: SQLite. */
  readonly url?: string;
}

const CHILD = join(import.meta.dirname, "../ledger/lease-child.ts");

const SINCE = "2026-01-15T14:25:00.000000Z";
const LATER = "2026-01-15T14:25:01.000000Z";

function store(id: string, state: OtherStore["state"] = "superseded", since = SINCE): OtherStore {
  return { vectorStoreId: id as VectorStoreId, state, since };
}

let count = 0;
function newDomain(): DomainId {
  count += 1;
  return `D${count}` as DomainId;
}

/** What a ledger promises of what it remembers of domains as a whole. */
export function domainStateSuite(name: string, place: () => StatePlace): void {
  /** As the engine does it. */
  const renamed = async (from: DomainId): Promise<DomainId> => {
    const { storage, ledgers } = place();
    const to = newDomain();
    await ledgers.release(from);
    if (existsSync(join(storage, "crawler", from))) {
      await rename(join(storage, "crawler", from), join(storage, "crawler", to));
    }
    await ledgers.renameDomain({ from, to });
    await ledgers.renameDomain({ from, to });
    return to;
  };
  const writeOld = async (id: DomainId, file: string, text: string): Promise<string> => {
    const path = join(place().storage, "domains", id, file);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, text);
    return path;
  };
  const makesNoDatabase = async (id: DomainId, read: () => Promise<unknown>): Promise<void> => {
    await read();
    assert.ok(!existsSync(join(place().storage, "crawler", id)), "whoever only reads makes no database");
  };

  describe(`vector stores beside the domain's own, in ${name}`, () => {
    test("are listed with the oldest first, have one state each, and are forgotten by id", async () => {
      const { stores } = place().ledgers;
      const [id, other] = [newDomain(), newDomain()];
      await stores.put(id, store("vs_b", "building", LATER));
      await stores.put(id, store("vs_c"));
      await stores.put(other, store("vs_c"));
      assert.deepEqual(await stores.list(id), [store("vs_c"), store("vs_b", "building", LATER)]);
      await stores.put(id, store("vs_b"));
      await stores.remove(id, "vs_c" as VectorStoreId);
      assert.deepEqual(await stores.list(id), [store("vs_b")]);
      assert.deepEqual(await stores.list(other), [store("vs_c")]);
    });

    test("follow a rename, and go with their domain", async () => {
      const { ledgers } = place();
      const [from, other] = [newDomain(), newDomain()];
      for (const id of [from, other]) await ledgers.stores.put(id, store("vs_a"));
      const to = await renamed(from);
      assert.deepEqual(await ledgers.stores.list(to), [store("vs_a")]);
      assert.deepEqual(await ledgers.stores.list(from), []);
      await ledgers.forgetDomain(to);
      assert.deepEqual(await ledgers.stores.list(to), []);
      assert.deepEqual(await ledgers.stores.list(other), [store("vs_a")]);
    });

    test("are read from the file of an earlier release until the first change takes it over", async () => {
      const { stores } = place().ledgers;
      const id = newDomain();
      await makesNoDatabase(id, () => stores.list(id));
      const old = { vector_store_id: "vs_a", state: "building", since_utc: SINCE };
      const path = await writeOld(id, "superseded_stores.json", JSON.stringify({ stores: [old] }));
      await makesNoDatabase(id, async () => assert.deepEqual(await stores.list(id), [store("vs_a", "building")]));
      await Promise.all([stores.put(id, store("vs_b", "building", LATER)), stores.put(id, store("vs_c"))]);
      assert.deepEqual(await stores.list(id), [
        store("vs_a", "building"),
        store("vs_c"),
        store("vs_b", "building", LATER),
      ]);
      assert.ok(!existsSync(path), "the file is moved away");
    });
  });

  describe(`how far a schedule was looked after, in ${name}`, () => {
    const NIGHTLY: ScheduleState = { schedule: "0 2 * * *", checkedAt: new Date("2026-01-15T02:00:07.123Z") };

    test("is what was put last, follows a rename, and goes with the domain", async () => {
      const { ledgers } = place();
      const [id, other] = [newDomain(), newDomain()];
      const started = { ...NIGHTLY, started: { jobId: "jb_7" as JobId, times: 2 } };
      await ledgers.schedules.put(id, started);
      await ledgers.schedules.put(other, NIGHTLY);
      assert.deepEqual(await ledgers.schedules.get(id), started);
      await ledgers.schedules.put(id, NIGHTLY);
      const to = await renamed(id);
      assert.deepEqual(await ledgers.schedules.get(to), NIGHTLY);
      assert.equal(await ledgers.schedules.get(id), undefined);
      await ledgers.forgetDomain(to);
      assert.equal(await ledgers.schedules.get(to), undefined);
      assert.deepEqual(await ledgers.schedules.get(other), NIGHTLY);
    });

    test("is read from the file of an earlier release until the first change takes it over", async () => {
      const { schedules, stores } = place().ledgers;
      const id = newDomain();
      await makesNoDatabase(id, () => schedules.get(id));
      const started = { ...NIGHTLY, started: { jobId: "jb_7" as JobId, times: 1 } };
      const old = { schedule: "0 2 * * *", looked_utc: "2026-01-15T02:00:07.123000Z", job_id: "jb_7", times: 1 };
      const path = await writeOld(id, "schedule_state.json", JSON.stringify(old));
      await makesNoDatabase(id, async () => assert.deepEqual(await schedules.get(id), started));
      await stores.put(id, store("vs_a"));
      assert.deepEqual(await schedules.get(id), started);
      assert.ok(!existsSync(path), "the file is moved away");
    });

    test("owes nothing when that file cannot be read", async () => {
      const { schedules } = place().ledgers;
      const id = newDomain();
      await writeOld(id, "schedule_state.json", "no JSON");
      assert.equal(await schedules.get(id), undefined);
      await schedules.put(id, NIGHTLY);
      assert.deepEqual(await schedules.get(id), NIGHTLY);
    });
  });

  describe(`uploads under way, in ${name}`, () => {
    const placeIn = (domainId: DomainId, source = "s", to = "vs_a"): UploadPlace => ({
      domainId,
      sourceId: source as SourceId,
      storeId: to as VectorStoreId,
    });
    const intent = (item: string): UploadIntent => ({ itemId: item as ItemId, name: `${item}.md`, bytes: 7 });
    const told = async (at: UploadPlace): Promise<string[]> =>
      (await (await place().ledgers.uploads.open(at)).unsettled()).map(({ itemId, fileId = "", sha256, lostAtMs }) =>
        [itemId, fileId, sha256, lostAtMs === undefined ? "" : "lost"].join(" ").trim(),
      );
    const filesOf = async (domainId?: DomainId): Promise<string[]> =>
      (await place().ledgers.uploads.files(domainId)).map(({ fileId }) => fileId as string).sort();

    test("are known from before they are sent until they are settled, each source and store by itself", async () => {
      const { uploads } = place().ledgers;
      const id = newDomain();
      const journal = await uploads.open(placeIn(id));
      const keys = await Promise.all(["a", "b", "c", "d"].map((item) => journal.begin(intent(item))));
      await (await uploads.open(placeIn(id, "other"))).begin(intent("x"));
      const [a = 0, b = 0, c = 0] = keys;
      await Promise.all([journal.answered(a, "file-a" as FileId, "aa"), journal.lost(b)]);
      await journal.answered(c, "file-c" as FileId, "cc");
      await journal.settle(c);
      assert.deepEqual((await told(placeIn(id))).sort(), ["a file-a aa", "b   lost", "d"]);
      assert.deepEqual(await told(placeIn(id, "other")), ["x"]);
      assert.deepEqual(await told(placeIn(id, "s", "vs_b")), []);
      const [first] = await journal.unsettled();
      assert.ok(first && Math.abs(Date.now() - first.startedAtMs) < 600_000);
      assert.deepEqual([first.name, first.bytes], [`${first.itemId}.md`, 7]);
      assert.deepEqual(await filesOf(id), ["file-a", "file-c"]);
    });

    test("follow a rename, also those of an earlier release, and go with their domain", async () => {
      const { ledgers } = place();
      const from = newDomain();
      await (await ledgers.uploads.open(placeIn(from))).begin(intent("a"));
      await writeJournal(from, "old");
      const to = await renamed(from);
      assert.deepEqual([await told(placeIn(to)), await told(placeIn(to, "old"))], [["a"], ["b file-b bb", "c   lost"]]);
      await writeJournal(to, "of whoever came back");
      await ledgers.forgetDomain(to);
      assert.deepEqual(await filesOf(to), []);
    });

    test("are taken over from the journals of an earlier release, what is settled and old without", async () => {
      const id = newDomain();
      const path = await writeJournal(id, "s");
      await makesNoDatabase(id, async () => assert.deepEqual(await filesOf(id), ["file-b", "file-d", "file-old"]));
      assert.deepEqual(await told(placeIn(id)), ["b file-b bb", "c   lost"]);
      assert.deepEqual(await filesOf(id), ["file-b", "file-d"]);
      assert.ok((await filesOf()).includes("file-b"), "among those of all domains");
      assert.ok(!existsSync(path), "the file is moved away");
    });

    /** The last line was cut off by a crash. */
    async function writeJournal(id: DomainId, source: string): Promise<string> {
      const at = Date.now() - 1000;
      const lines = [
        { key: 1, at: at - 8 * 24 * 3600_000, item_id: "o", name: "o.md", bytes: 1 },
        { key: 1, file_id: "file-old", sha256: "oo" },
        { key: 1, settled: true },
        { key: 2, at, item_id: "b", name: "b.md", bytes: 1 },
        { key: 2, file_id: "file-b", sha256: "bb" },
        { key: 3, at, item_id: "c", name: "c.md", bytes: 1 },
        { key: 3, lost_at: at + 1 },
        { key: 4, at, item_id: "d", name: "d.md", bytes: 1 },
        { key: 4, file_id: "file-d", sha256: "dd" },
        { key: 4, settled: true },
      ];
      const text = [...lines.map((line) => JSON.stringify(line)), '{"key":2,"settled":tr'].join("\n");
      const path = join(place().storage, "index", "upload-journal", `${id}.${source}.vs_a.jsonl`);
      await mkdir(join(path, ".."), { recursive: true });
      await writeFile(path, text);
      return path;
    }
  });

  describe(`leases, in ${name}`, () => {
    const held: Lease[] = [];
    const acquire = async (
      id: DomainId,
      owner: string,
      options: Partial<LeaseOptions & { within: string }> = {},
    ): Promise<Lease> => {
      const lease = await place().ledgers.leases.acquire(id, "x", { owner, pollMs: 1, ...options });
      held.push(lease);
      return lease;
    };
    // One that nobody gives back is renewed, also while the folder is being removed.
    after(async () => {
      for (const lease of held) await lease.release();
    });
    const startChild = (t: TestContext, verb: LeaseTask["verb"], domainId: DomainId): ChildProcess => {
      const { storage, url } = place();
      const task: LeaseTask = {
        verb,
        crawlerFolder: join(storage, "crawler"),
        url,
        domainId,
        marker: `${storage}/inside`,
      };
      const child = fork(CHILD, [JSON.stringify(task)]);
      t.after(() => child.kill("SIGKILL"));
      return child;
    };

    test("the second waits for the first, says once for whom, and then has it", async () => {
      const id = newDomain();
      const first = await acquire(id, "job jb_1");
      await (await acquire(newDomain(), "job jb_3")).release();
      await (await place().ledgers.leases.acquire(id, "y", { owner: "job jb_3" })).release();
      const waits: string[] = [];
      const waiting = Promise.withResolvers<void>();
      const second = acquire(id, "job jb_2", {
        onWait(owner) {
          waits.push(owner);
          waiting.resolve();
        },
      });
      await waiting.promise;
      assert.equal(await first.stillHeld(), true);
      await first.release();
      const lease = await second;
      assert.deepEqual([await lease.stillHeld(), await first.stillHeld()], [true, false]);
      assert.deepEqual(waits, ["job jb_1"]);
      await first.release();
      assert.equal(await lease.stillHeld(), true, "what was given back is not given back again");
      await lease.release();
    });

    test("waiting can be cancelled", async () => {
      const id = newDomain();
      const lease = await acquire(id, "job jb_1");
      const abort = new AbortController();
      const reason = new Error("enough");
      const second = acquire(id, "job jb_2", { signal: abort.signal, onWait: () => abort.abort(reason) });
      await assert.rejects(second, reason);
      assert.equal(await lease.stillHeld(), true);
      await lease.release();
    });

    test("a holder that did not renew loses it, and knows", async () => {
      const id = newDomain();
      const asleep = await acquire(id, "asleep", { staleMs: 0 });
      assert.equal(await asleep.stillHeld(), true, "nobody took it yet");
      const awake = await acquire(id, "awake", { onWait: (owner) => assert.fail(`waits for ${owner}`) });
      assert.equal(await asleep.stillHeld(), false);
      await asleep.release();
      assert.equal(await awake.stillHeld(), true);
      await awake.release();
    });

    test("that of a killed process is free at once", async (t) => {
      const id = newDomain();
      const child = startChild(t, "hold", id);
      await once(child, "message");
      const waits = Promise.withResolvers<string>();
      const lease = acquire(id, "the next", { onWait: waits.resolve });
      assert.equal(await waits.promise, `process ${child.pid}`);
      child.kill("SIGKILL");
      await (await lease).release();
    });

    test("of many processes one is inside at a time", async (t) => {
      const id = newDomain();
      await acquire(id, "long gone", { staleMs: 0 });
      const children = [1, 2, 3].map(() => startChild(t, "enter", id));
      const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0]));
      assert.deepEqual(codes, [0, 0, 0]);
    });

    test("none outlives a rename or its domain, and none brings a domain back", async () => {
      const { storage, ledgers } = place();
      const from = newDomain();
      const held = await acquire(from, "job jb_1");
      const to = await renamed(from);
      assert.equal(await held.stillHeld(), false);
      await held.release();
      const lease = await acquire(to, "job jb_2", { onWait: (owner) => assert.fail(`waits for ${owner}`) });
      await ledgers.forgetDomain(to);
      assert.equal(await lease.stillHeld(), false);
      await rm(join(storage, "crawler", to), { recursive: true, force: true });
      await lease.release();
      for (const id of [from, to]) assert.ok(!existsSync(join(storage, "crawler", id)));
    });

    test("whoever waits for a folder that is removed is told, and does not bring it back", async () => {
      const { storage, ledgers } = place();
      for (let round = 0; round < 5; round++) {
        const id = newDomain();
        const within = join(storage, "crawler", id, "05_folders", "docs");
        await mkdir(within, { recursive: true });
        const first = await acquire(id, "job jb_1", { within });
        const waiting = Promise.withResolvers<void>();
        const seconds = [1, 2, 3].map((n) => acquire(id, `job jb_2${n}`, { within, onWait: () => waiting.resolve() }));
        const told = Promise.allSettled(seconds.map(async (one) => (await one).release()));
        await waiting.promise;
        await rm(within, { recursive: true });
        for (const one of await told) assert.match(String("reason" in one && one.reason), /does not exist any more/);
        await ledgers.forgetDomain(id);
        await rm(join(storage, "crawler", id), { recursive: true });
        await first.release();
        assert.ok(!existsSync(join(storage, "crawler", id)));
      }
    });
  });
}

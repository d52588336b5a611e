import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { ConflictError } from "../../src/contracts/errors.ts";
import type { ItemId } from "../../src/contracts/ids.ts";
import { type IngestItem, ITEM_SORTS, type Registry } from "../../src/contracts/registry.ts";
import { storableText } from "../../src/lib/sql/sql.ts";
import type { RegistryPlace } from "../ledger/registry-child.ts";
import { at, gather, itemId, namesOf, page, putAll } from "../ledger/registry-fixture.ts";

/** A registry with nothing in it, and where another process finds it. */
export interface RegistryUnderTest {
  readonly registry: Registry;
  readonly where: RegistryPlace;
}

/** What every registry promises. `many` is more than it reads at once. */
export function registrySuite(
  name: string,
  open: (t: TestContext) => Promise<RegistryUnderTest>,
  { many, isOrdered }: { readonly many: number; readonly isOrdered: boolean },
): void {
  describe(`the registry in ${name}`, () => {
    test("gives items back as they were put, whatever is written in them", async (t) => {
      const { registry } = await open(t);
      assert.equal(await registry.get(itemId("nobody")), undefined);
      const path = "ä\u0000\ud800𝒳'\"\\%_#?/".repeat(600);
      const hostile = page("hostile", {
        normalizedSource: `https://example.com/${path}`,
        foundSource: `https://example.com/${path}`,
        sourceHost: "xn--bcher-kva.example:8080",
        title: "\u0001\u009f\uffff ' OR 1=1 --\r\n",
        status: "Indexed",
        parentPageId: itemId("parent"),
        aliasOf: itemId("other"),
        reindexRequested: true,
        reindexGeneration: 3,
        http: { etag: 'W/"ä"', contentLength: 5_000_000_000, redirectChain: ["https://a/", "https://b/"] },
        file: { length: 6_000_000_000 },
        content: { contentHash: "sha256:1", foundTitle: "𝒳".repeat(200), readerRevision: "2" },
        linkage: { lastIndexedDocId: "file-1", imageCount: 2 },
        scheduling: { errorMessage: "it's \0 broken", failureCount: 4 },
        lock: { lockedUntil: at(2), lockedBy: "me" },
        history: [{ at: at(1), event: "registered", detail: "\ud800" }],
      });
      const version = await registry.put(hostile, null);
      const [found, nobody, again] = await registry.getMany([hostile.id, itemId("nobody"), hostile.id]);
      assert.equal(nobody, undefined);
      for (const one of [found, again, await registry.get(hostile.id)]) {
        assert.deepEqual(storable(one), storable({ item: hostile, version }));
      }
      for (const id of ["", "url_", "x", "url_'/\\#?%\0\ud800", `url_${"x".repeat(3000)}`]) {
        assert.equal(await registry.get(id as ItemId), undefined);
      }
    });

    test("an item has the keys of the specification's table", async (t) => {
      const { registry } = await open(t);
      const file = (normalizedSource: string, sourceHost = "file") =>
        page("f", { id: "file_k7gxn3" as ItemId, type: "file", normalizedSource, sourceHost });
      const partitions: readonly [IngestItem, string][] = [
        [page("a"), "example.com"],
        [page("b", { sourceHost: "example.com:8443" }), "example.com:8443"],
        [file("file:///srv/docs/a.md"), "file"],
        [file("file://nas/share/a.md", "nas"), "share"],
        [file("https://acct.blob.core.windows.net/box/a//b.md", "acct.blob.core.windows.net"), "acct!002fbox"],
        [file("http://127.0.0.1:10000/acct/box/a.md", "127.0.0.1:10000"), "acct!002fbox"],
      ];
      for (const [item, partitionKey] of partitions) {
        const rowKey = item.id.replace(/^(url|file)_/, "");
        assert.deepEqual(await registry.keysOf(item), { partitionKey, rowKey });
      }
    });

    test("of those who build on the same version, one wins and the others are told", async (t) => {
      const { registry } = await open(t);
      const conflict = (error: unknown) => error instanceof ConflictError;
      const registered = await Promise.allSettled(
        [1, 2, 3].map((n) => registry.put(page("a", { title: `${n}` }), null)),
      );
      const first = registered.find((outcome) => outcome.status === "fulfilled")?.value ?? "";
      const puts = await Promise.allSettled([4, 5, 6, 7].map((n) => registry.put(page("a", { title: `${n}` }), first)));
      for (const outcomes of [registered, puts]) {
        assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
        for (const one of outcomes) assert.ok(one.status === "fulfilled" || conflict(one.reason));
      }
      const winner = puts.findIndex(({ status }) => status === "fulfilled") + 4;
      const known = await registry.get(itemId("a"));
      assert.equal(known?.item.title, `${winner}`);
      await assert.rejects(registry.delete(itemId("a"), first), conflict);
      await registry.delete(itemId("a"), known.version);
      await registry.delete(itemId("a"), known.version);
      assert.equal(await registry.get(itemId("a")), undefined);
      await assert.rejects(registry.put(page("a"), known.version), conflict);
      const anew = await registry.put(page("a"), null);
      for (const old of [first, known.version, "nonsense"]) {
        await assert.rejects(registry.put(page("a", { title: "late" }), old), conflict);
        await assert.rejects(registry.delete(itemId("a"), old), conflict);
      }
      assert.deepEqual(await registry.get(itemId("a")), { item: page("a"), version: anew });
    });

    test("two processes change one item: nothing is lost", async (t) => {
      const { registry, where } = await open(t);
      const times = 15;
      const child = join(import.meta.dirname, "../ledger/registry-child.ts");
      const children = [1, 2].map(() => fork(child, [JSON.stringify({ where, times })]));
      t.after(() => children.forEach((one) => void one.kill("SIGKILL")));
      const exits = await Promise.all(children.map((one) => once(one, "exit")));
      assert.deepEqual(
        exits.map(([code]) => code),
        [0, 0],
      );
      assert.equal((await registry.get(itemId("counted")))?.item.reindexGeneration, 2 * times);
    });

    test("what is due: its time has come, it is watched or owes a look, and nobody is at it", async (t) => {
      const { registry } = await open(t);
      const next = (day: number, hour = 0) => ({ scheduling: { nextCrawlAt: at(day, hour) } });
      await putAll(registry, [
        page("late", next(4)),
        page("now", next(5)),
        page("early", next(1)),
        page("tomorrow", next(6)),
        page("never", { scheduling: { nextCrawlAt: "" } }),
        page("unwatched", { ...next(1), watched: false }),
        page("unwatched-served", { ...next(1), watched: false, reindexGeneration: 2, processedGeneration: 2 }),
        page("forced", { ...next(2, 1), watched: false, reindexGeneration: 2, processedGeneration: 1 }),
        page("flagged", { ...next(2, 2), watched: false, reindexRequested: true }),
        page("forced-later", { ...next(9), reindexRequested: true, reindexGeneration: 1 }),
        page("locked", { ...next(2), lock: { lockedUntil: at(5, 1), lockedBy: "me" } }),
        page("released", { ...next(3), lock: { lockedUntil: at(5), lockedBy: "me" } }),
      ]);
      const due = namesOf(await gather(registry.due(at(5))));
      const expected = ["early", "forced", "flagged", "released", "late", "now"];
      assert.deepEqual(isOrdered ? due : due.sort(), isOrdered ? expected : expected.sort());
      const summary = await registry.summary(at(5));
      assert.deepEqual([summary.due, summary.oldestDue, summary.total], [6, at(1), 12]);
      const [locked] = await registry.getMany([itemId("early")]);
      assert.ok(locked);
      await registry.put({ ...locked.item, lock: { lockedUntil: at(6), lockedBy: "me" } }, locked.version);
      assert.ok(!namesOf(await gather(registry.due(at(5)))).includes("early"));
      assert.ok(namesOf(await gather(registry.due(at(6)))).includes("early"));
    });

    test(`${many} items come in pages, each once, also when they are changed meanwhile`, async (t) => {
      const { registry } = await open(t);
      const names = Array.from({ length: many }, (_, n) => `${n}`.padStart(5, "0"));
      await putAll(
        registry,
        names.map((one, n) => page(one, { watched: n % 10 !== 0, status: n % 5 === 0 ? "Gone" : "Indexed" })),
      );
      const seen: string[] = [];
      let pages = 0;
      for await (const due of registry.due(at(5))) {
        seen.push(...namesOf(due));
        if (++pages > 1) continue;
        const moved = due.slice(0, 20);
        await Promise.all(
          moved.map(({ item, version }, n) =>
            n % 2 === 0
              ? registry.delete(item.id, version)
              : registry.put({ ...item, scheduling: { ...item.scheduling, nextCrawlAt: at(9) } }, version),
          ),
        );
      }
      assert.ok(pages > 1);
      assert.deepEqual(
        seen.sort(),
        names.filter((_, n) => n % 10 !== 0),
      );
      const all = namesOf(await gather(registry.entries()));
      assert.equal(all.length, many - 10);
      assert.equal(new Set(all).size, many - 10);
      const unwatched = namesOf(await gather(registry.entries({ watched: false, statuses: ["Gone", "Error"] })));
      assert.deepEqual(
        unwatched.sort(),
        names.filter((_, n) => n % 10 === 0),
      );
      const { items, total } = await registry.list({ offset: many - 40, limit: 20, sort: "displaySource" });
      assert.equal(total, many - 10);
      assert.deepEqual(namesOf(items), all.sort().slice(many - 40, many - 20));
      const behind = await registry.list({ offset: 7, sort: "displaySource", descending: true });
      assert.equal(behind.total, many - 10);
      assert.deepEqual(namesOf(behind.items), all.toReversed().slice(7));
      const { total: few } = await registry.list({ offset: 0, limit: 20, among: new Set(names.map(itemId)) });
      assert.equal(few, many - 10);
    });

    test("lists what fits a query, in every order", async (t) => {
      const { registry } = await open(t);
      const host = "other.example";
      await putAll(registry, [
        page("a", { status: "Indexed", title: "Ärger 100%", scheduling: { nextCrawlAt: at(3), lastChecked: at(2) } }),
        page("b", { status: "Error", scheduling: { nextCrawlAt: at(2), lastChecked: at(3), firstSeen: at(2) } }),
        page("c", { status: "Gone", sourceHost: host, content: { foundTitle: "snake_case" } }),
        page("d", { status: "Indexed", sourceHost: host, scheduling: { nextCrawlAt: at(4), lastChanged: at(7) } }),
      ]);
      const among = new Set(["a", "c", "nobody"].map(itemId));
      const list = async (query: object) => {
        const { items, total } = await registry.list({ offset: 0, limit: 10, ...query });
        return `${namesOf(items).join("")} of ${total}`;
      };
      assert.equal(await list({}), "abcd of 4");
      assert.equal(await list({ statuses: ["Indexed", "Gone"] }), "acd of 3");
      assert.equal(await list({ statuses: [] }), " of 0");
      assert.equal(await list({ host }), "cd of 2");
      assert.equal(await list({ among }), "ac of 2");
      assert.equal(await list({ among, host, statuses: ["Gone"], text: "EXAMPLE" }), "c of 1");
      assert.equal(await list({ among: new Set() }), " of 0");
      assert.equal(await list({ text: "ÄRGER" }), "a of 1");
      assert.equal(await list({ text: "0%" }), "a of 1");
      assert.equal(await list({ text: "E_C" }), "c of 1");
      assert.equal(await list({ text: "%" }), "a of 1");
      assert.equal(await list({ text: "example.com/D" }), "d of 1");
      assert.equal(await list({ text: "\0'\ud800" }), " of 0");
      assert.equal(await list({ offset: 1, limit: 2 }), "bc of 4");
      assert.equal(await list({ offset: 9 }), " of 4");
      assert.equal(await list({ offset: 0, limit: 0 }), " of 4");
      const sorted = await Promise.all(ITEM_SORTS.map(async (sort) => `${sort} ${await list({ sort })}`));
      assert.deepEqual(sorted, [
        "displaySource abcd of 4",
        "status bcad of 4",
        "nextCrawlAt cbad of 4",
        "lastChecked cdab of 4",
        "lastChanged abcd of 4",
        "firstSeen acdb of 4",
      ]);
      assert.equal(await list({ sort: "nextCrawlAt", descending: true, limit: 3 }), "dab of 4");
    });

    test("counts what there is and how the last day went", async (t) => {
      const { registry } = await open(t);
      const seen = (lastChecked: string, lastChanged = "") => ({
        scheduling: { lastChecked, lastChanged, nextCrawlAt: at(9) },
      });
      await putAll(registry, [
        page("a", { status: "Indexed", ...seen(at(4, 13), at(4, 13)) }),
        page("b", { status: "Indexed", ...seen(at(4, 14), at(1)) }),
        page("c", { status: "Error", ...seen(at(5, 1)) }),
        page("d", { status: "Error", ...seen(at(2)) }),
        page("e", { scheduling: { nextCrawlAt: at(6) } }),
        page("f", { watched: false }),
      ]);
      const byStatus = { Pending: 2, Crawled: 0, Indexed: 2, Error: 2, OutOfScope: 0, Gone: 0 };
      const lastDay = { checkedLastDay: 3, changedLastDay: 1, failedLastDay: 1 };
      const nothingDue = { due: 0, oldestDue: "" };
      assert.deepEqual(await registry.summary(at(5, 12)), {
        total: 6,
        byStatus,
        ...nothingDue,
        oldestChecked: at(2),
        ...lastDay,
      });
      assert.deepEqual(await registry.summary(at(7), new Set(["a", "e", "nobody"].map(itemId))), {
        total: 2,
        byStatus: { ...byStatus, Pending: 1, Indexed: 1, Error: 0 },
        due: 1,
        oldestDue: at(6),
        oldestChecked: at(4, 13),
        checkedLastDay: 0,
        changedLastDay: 0,
        failedLastDay: 0,
      });
    });
  });
}

/** Replaces what only some registries can keep. */
function storable(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, one: unknown) => (typeof one === "string" ? storableText(one) : one));
}

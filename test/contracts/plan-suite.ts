import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type ItemId, parseSourceId } from "../../src/contracts/ids.ts";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import type { Plan, PlanDraft, PlannedItem, PlannedSourceKey } from "../../src/contracts/plan.ts";
import type { Sighting } from "../../src/contracts/source.ts";

function sightingOf(n: number): Sighting {
  const name = `Name ${n} "with' \\ \u{1F600}.md`;
  return {
    kind: "sighting",
    itemId: idOf(n),
    listItemId: n,
    name,
    path: `folder/${name}`,
    serverPath: `/sites/demo/folder/${name}`,
    // Sources may make it when it is asked for.
    get url() {
      return `https://example.com/${n}`;
    },
    rawUrl: `https://example.com/ ${n}`,
    documentType: "md",
    form: "document",
    fingerprint: { size: 2 ** 40 + n, modifiedAt: "2026-01-01T00:00:00.000000Z", etag: '"1"', contentVersion: "2" },
    contentHash: "ab",
  };
}

function idOf(n: number): ItemId {
  return `item-${n}` as ItemId;
}

function itemOf(n: number, wishes: Partial<PlannedItem> = {}): PlannedItem {
  const sighting = sightingOf(n);
  const told = { name: sighting.name, path: sighting.path, reason: `because of ${n}` };
  return { step: "download", itemId: idOf(n), change: "added", reason: "new", told, sighting, ...wishes };
}

async function read(plan: Plan, ...[step, changes]: Parameters<Plan["items"]>): Promise<PlannedItem[]> {
  const all: PlannedItem[] = [];
  for await (const page of plan.items(step, changes)) {
    assert.ok(page.length > 0, "no page is empty");
    all.push(...page);
  }
  return all;
}

/** The ledgers that hold a plan, and where; `reopen` opens them as another process does. */
interface Stored extends PlannedSourceKey {
  reopen(): Promise<Ledgers>;
}

/** What every plan promises. `stored`: undefined where it ends with its run. */
export function planSuite(
  name: string,
  open: () => Promise<{ readonly draft: PlanDraft; readonly stored?: Stored }>,
): void {
  describe(`a plan, ${name}`, () => {
    test("says of every item what was put, in the order of judging, however many there are", async () => {
      const { draft } = await open();
      for (let n = 0; n < 1234; n++) draft.add(itemOf(n, { change: n % 3 === 0 ? "moved" : "added" }));
      const fetched = await read(draft, "download", ["added", "changed"]);
      assert.deepEqual(
        fetched.map(({ itemId }) => itemId),
        Array.from({ length: 1234 }, (_, n) => n).flatMap((n) => (n % 3 === 0 ? [] : [idOf(n)])),
      );
      assert.equal((await read(draft, "download", ["moved"])).length, 412);
      const { sighting, told, reason } = fetched[0] ?? assert.fail();
      assert.deepEqual(sighting, { ...sightingOf(1), url: "https://example.com/1" });
      assert.deepEqual([told, reason], [itemOf(1).told, "new"]);
      assert.deepEqual(await read(draft, "embed", ["added"]), []);
      await draft.close();
    });

    test("has nothing before the first item", async () => {
      const { draft } = await open();
      assert.deepEqual(await read(draft, "download", ["added"]), []);
      assert.equal((await draft.find("download", [idOf(1)])).size, 0);
      assert.deepEqual(await draft.told(5), { items: [], count: 0 });
      assert.deepEqual(await draft.count("download"), {});
      await draft.close();
    });

    test("counts the changes of a step", async () => {
      const { draft } = await open();
      for (let n = 0; n < 7; n++) draft.add(itemOf(n, { step: "embed", change: n < 4 ? "added" : "adopted" }));
      draft.replace(itemOf(0, { step: "embed", change: "held" }));
      draft.add(itemOf(1));
      assert.deepEqual(await draft.count("embed"), { added: 3, adopted: 3, held: 1 });
      await draft.close();
    });

    test("finds items by id and step, and new ones by their path; what is judged again stands instead", async () => {
      const { draft } = await open();
      draft.add(itemOf(1));
      draft.add(itemOf(2, { change: "removed", sighting: undefined, stillListed: true }));
      draft.add(itemOf(2, { step: "embed", change: "removed", sighting: undefined }));
      draft.replace(itemOf(1, { change: "moved", strayedTo: "03_failed/x.md", anomaly: "missing" }));
      const found = await draft.find("download", [idOf(1), idOf(2), idOf(3)]);
      assert.deepEqual([...found.values()].map(({ change }) => change).sort(), ["moved", "removed"]);
      assert.deepEqual([found.get(idOf(2))?.stillListed, found.get(idOf(2))?.sighting], [true, undefined]);
      const { strayedTo, anomaly } = found.get(idOf(1)) ?? assert.fail();
      assert.deepEqual([strayedTo, anomaly], ["03_failed/x.md", "missing"]);
      assert.equal((await draft.findNew([sightingOf(1).path])).size, 0, "it is not new any more");
      draft.add(itemOf(4));
      assert.equal((await draft.findNew([sightingOf(4).path, "elsewhere"])).get(sightingOf(4).path)?.itemId, idOf(4));
      await draft.close();
    });

    test("is told step by step, what stays and leaves first, what is skipped last", async () => {
      const { draft } = await open();
      draft.add(itemOf(1, { change: "skipped" }));
      draft.add(itemOf(2));
      draft.add(itemOf(3, { change: "moved" }));
      draft.add(itemOf(4, { change: "held" }));
      draft.add(itemOf(5, { change: "removed" }));
      draft.add(itemOf(6, { change: "kept", told: undefined }));
      draft.add(itemOf(7, { step: "embed", change: "moved" }));
      draft.add(itemOf(8, { step: "embed", change: "added" }));
      const { items, count } = await draft.told(6);
      assert.deepEqual(
        items.map(({ itemId }) => itemId),
        [4, 5, 3, 2, 7, 8].map(idOf),
      );
      assert.equal(count, 7);
      await draft.close();
    });

    test("can be read by another process, where it is stored, until another takes its place", async (t) => {
      const { draft, stored } = await open();
      for (let n = 0; n < 700; n++) draft.add(itemOf(n));
      await draft.close();
      if (!stored) return t.skip("it ends with its run");
      const { planId, domainId } = stored;
      const ledgers = await stored.reopen();
      const { plans } = ledgers;
      const plan = (await plans.read(stored)) ?? assert.fail("it is not there");
      assert.equal((await read(plan, "download", ["added"])).length, 700);
      const completedAt = async () => (await plans.find(planId))?.completedAt;
      assert.equal(await completedAt(), "");
      const { sourceType, sourceId } = stored;
      const source = { sourceType, sourceId, complete: true, problem: "a row is missing" };
      await plans.complete(stored, [source]);
      assert.notEqual(await completedAt(), "");
      const { sources, request } = (await plans.find(planId)) ?? assert.fail();
      assert.deepEqual(sources, [{ ...source, policy: "p1" }]);
      assert.deepEqual(request, { mode: "full" });
      await (await plans.write({ ...stored, sourceId: parseSourceId("other") }, "p2")).close();
      assert.equal(await completedAt(), "", "one of its sources is not");
      assert.deepEqual(
        (await plans.list(domainId)).map((one) => one.planId),
        [planId],
      );
      await plans.discard({ planId, domainId });
      assert.equal(await plans.find(planId), undefined);
      assert.equal(await plans.read(stored), undefined);
      await ledgers.close();
    });

    test("is shown by change, source and folder, in parts, filtered in any case, with its sums", async (t) => {
      const { draft, stored } = await open();
      const of = (n: number, path: string, wishes: Partial<PlannedItem> = {}): PlannedItem => {
        const name = path.split("/").at(-1) ?? "";
        return itemOf(n, { told: { name, path, reason: `because of ${n}` }, bytes: 100 * n, tokens: n, ...wishes });
      };
      for (const [n, path] of ["top.md", "a/one.md", "a/two.md", "a/b/three.md"].entries()) draft.add(of(n + 1, path));
      draft.add(of(5, "a/gone.md", { change: "removed", sighting: undefined, bytes: 0, tokens: 0 }));
      draft.add(of(6, "a/one.md", { step: "embed", tokens: 25 }));
      draft.add(of(7, "a/hidden.md", { change: "kept", told: undefined }));
      await draft.close();
      if (!stored) return t.skip("it ends with its run");
      const { plans } = await stored.reopen();
      const plan = (await plans.find(stored.planId)) ?? assert.fail();
      const all = { limit: 10, offset: 0 };
      const groups = await plans.groups(plan, { step: "download" }, all);
      assert.deepEqual(
        groups.rows.map(({ change, folder, items, bytes, unsized }) => [change, folder, items, bytes, unsized]),
        [
          ["removed", "a", 1, 0, 1],
          ["added", "", 1, 100, 0],
          ["added", "a", 2, 500, 0],
          ["added", "a/b", 1, 400, 0],
        ],
      );
      assert.equal(groups.total, 4);
      const second = await plans.groups(plan, { step: "download" }, { limit: 1, offset: 2 });
      assert.deepEqual([second.rows[0]?.folder, second.rows.length, second.total], ["a", 1, 4]);
      const { sourceType, sourceId } = stored;
      const paths = async (filter: object, part = all) => {
        const { rows, total } = await plans.shown(plan, { step: "download", ...filter }, part);
        return [total, ...rows.map(({ path }) => path)];
      };
      assert.deepEqual(await paths({}), [5, "a/gone.md", "top.md", "a/one.md", "a/two.md", "a/b/three.md"]);
      assert.deepEqual(await paths({}, { limit: 2, offset: 2 }), [5, "a/one.md", "a/two.md"]);
      assert.deepEqual(await paths({ change: "added", folder: "a" }), [2, "a/one.md", "a/two.md"]);
      assert.deepEqual(await paths({ folder: "" }), [1, "top.md"]);
      assert.deepEqual(await paths({ text: "THREE" }), [1, "a/b/three.md"]);
      assert.deepEqual(await paths({ text: "' OR 1=1 --%_" }), [0]);
      assert.deepEqual((await paths({ source: { sourceType, sourceId } }))[0], 5);
      assert.deepEqual((await paths({ source: { sourceType, sourceId: parseSourceId("other") } }))[0], 0);
      const totals = (await plans.totals(plan)).map(({ step, change, items, bytes, tokens }) => {
        return [step, change, items, bytes, tokens];
      });
      assert.deepEqual(totals, [
        ["download", "added", 4, 1000, 10],
        ["download", "removed", 1, 0, 0],
        ["embed", "added", 1, 600, 25],
      ]);
    });

    test("many are judged again at once: the last word on each stands", async () => {
      const { draft } = await open();
      for (let n = 0; n < 1100; n++) draft.add(itemOf(n));
      for (let n = 0; n < 1100; n += 2) draft.replace(itemOf(n, { change: "kept" }));
      draft.replace(itemOf(3, { change: "moved" }));
      draft.replace(itemOf(3, { change: "removed" }));
      assert.equal((await read(draft, "download", ["added"])).length, 549);
      assert.equal((await read(draft, "download", ["kept"])).length, 550);
      assert.deepEqual(await read(draft, "download", ["moved"]), []);
      assert.equal((await draft.find("download", [idOf(3)])).get(idOf(3))?.change, "removed");
      await draft.close();
    });
  });
}

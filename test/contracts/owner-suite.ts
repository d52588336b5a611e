import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { parseDomainId } from "../../src/contracts/ids.ts";
import { actualPath, changeOwner } from "../../src/index/documents.ts";
import { apply, DEMO, found, LIBRARY, never, writeDocument } from "../index/index-fixture.ts";
import type { OwnStoreUnderTest } from "./store-under-test.ts";

const HEIR = parseDomainId("HEIR");

/** Documents that become another domain's, in whatever database they are. */
export function ownerSuite(name: string, openStore: () => Promise<OwnStoreUnderTest>): void {
  describe(`a change of owner in ${name}`, () => {
    test("takes all generations along and can be interrupted; neighbours and their marks stay", async (context) => {
      const under = await openStore();
      const store = await under.store();
      const folder = await mkdtemp(join(store.storageFolder, "owner-"));
      context.after(async () => {
        await under.close();
        await rm(folder, { recursive: true, force: true });
      });
      const from = join(folder, "DEMO");
      const commit = async (domain: typeof DEMO, items: Record<string, string>): Promise<void> => {
        await mkdir(join(folder, domain), { recursive: true });
        const draft = await (await under.openIndex(domain)).draft(LIBRARY);
        await apply(draft, items, (item, text) => writeDocument(join(folder, domain), item, text));
        await draft.commit(never);
      };
      await commit(
        DEMO,
        Object.fromEntries(Array.from({ length: 1200 }, (_, i) => [`n${i}`, `Text ${i % 7} stands.`])),
      );
      await commit(DEMO, { n0: "The newword stands." });
      const neighbour = parseDomainId("DEMO2");
      await commit(neighbour, { a: "The neighbourword stands." });

      const change = { from: DEMO, to: HEIR, folders: { from, to: join(folder, "HEIR") } };
      let batches = 0;
      const stopping = new AbortController();
      stopping.signal.throwIfAborted = () => {
        if (++batches > 2) throw new Error("killed");
      };
      await assert.rejects(changeOwner(store, change, stopping.signal), /killed/);
      const left = await store.db.get<{ n: number }>("SELECT count(*) AS n FROM documents WHERE domain_id = 'DEMO'");
      assert.equal(Number(left?.n), 201, "it was in the middle");
      await changeOwner(store, change, never);
      await changeOwner(store, change, never);

      const rows = await store.db.all<{ domain_id: string; attributes: string; file: string }>(
        "SELECT domain_id, attributes, file FROM documents",
      );
      const of = (id: string) => rows.filter(({ domain_id }) => domain_id === id);
      assert.deepEqual([of(DEMO).length, of(HEIR).length, of(neighbour).length], [0, 1201, 1]);
      const places = new Set(
        rows.map(({ domain_id, file }) => [domain_id, actualPath(store, file).split("/").at(-2)].join()),
      );
      assert.deepEqual([...places].sort(), ["DEMO2,DEMO2", "HEIR,HEIR"]);
      assert.ok(of(HEIR).every(({ attributes }) => JSON.parse(attributes).domain_id === HEIR));

      const index = await under.openIndex(HEIR);
      let held = 0;
      for await (const page of index.holdings(LIBRARY)) held += page.length;
      assert.equal(held, 1200);
      assert.deepEqual(await found(index, "newword"), ["n0.md"]);
      assert.deepEqual(
        (await index.generations?.list())?.map(({ domainId }) => domainId),
        [neighbour, HEIR, HEIR],
      );
      await index.generations?.rollback(1);
      assert.deepEqual(await found(index, "newword"), []);
    });
  });
}

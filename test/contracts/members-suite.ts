import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { DomainId, SourceId } from "../../src/contracts/ids.ts";
import type { Ledgers } from "../../src/contracts/ledger.ts";
import type { Member } from "../../src/contracts/members.ts";
import { DEMO, gather, itemId, member, putMembers, SITE } from "../ledger/registry-fixture.ts";

export interface MembersPlace {
  readonly crawlerFolder: string;
  /** Of a PostgreSQL database; none: SQLite. */
  readonly url?: string;
}

const MANY = 1200;
const OTHER = "DEMO2" as DomainId;
const S2 = "s2" as SourceId;

/** What the ledgers promise of members. */
export function membersSuite(
  name: string,
  open: (t: TestContext, domains: readonly DomainId[]) => Promise<{ ledgers: Ledgers; where: MembersPlace }>,
): void {
  describe(`members in ${name}`, () => {
    test("are put, replaced, found by item, removed, forgotten with their source or domain", async (t) => {
      const { ledgers } = await open(t, [DEMO, OTHER]);
      const { members } = ledgers;
      const of = (name: string) => members.of(itemId(name));
      const full = member("a", {
        wanted: "no",
        unlinkedCount: 1,
        lastIndexedDocId: "file-1",
        contentHash: "h",
        indexedGeneration: 3,
      });
      const inS2 = member("a", { sourceId: S2 });
      const inOther = member("a", { domainId: OTHER });
      for (const _ of [1, 2]) await putMembers(members, [member("a"), full, member("b"), inS2, inOther]);
      assert.deepEqual(await of("a"), [inS2, full, inOther]);
      assert.deepEqual(await of("nobody"), []);
      assert.deepEqual(await gather(members.in(DEMO, SITE)), [full, member("b")]);
      assert.deepEqual([...(await members.idsIn(DEMO))].sort(), ["a", "b"].map(itemId));
      for (const _ of [1, 2]) await members.change([member("a"), member("nobody")], () => undefined);
      assert.deepEqual(await of("a"), [inS2, inOther]);
      for (const _ of [1, 2]) await members.forget(DEMO, S2);
      assert.deepEqual(await of("a"), [inOther]);
      assert.deepEqual(await gather(members.in(DEMO, SITE)), [member("b")]);
      await ledgers.forgetDomain(OTHER);
      assert.deepEqual(await of("a"), []);
    });

    test("come in pages, each once", async (t) => {
      const { members } = (await open(t, [DEMO])).ledgers;
      const all = Array.from({ length: MANY }, (_, n) => member(`${n}`.padStart(5, "0")));
      await putMembers(members, [...all, ...all.slice(0, 3)]);
      assert.deepEqual(await gather(members.in(DEMO, SITE)), all);
    });

    test("are changed from what they are at that moment, whoever else changes them", async (t) => {
      const { members } = (await open(t, [DEMO])).ledgers;
      const keys = [member("a"), member("b")];
      const take = () => members.change(keys, (known, key) => ({ ...(known ?? key), wanted: "no" }));
      const note = () =>
        members.change(keys, (known, key) => ({ ...(known ?? key), contentHash: `${known?.contentHash ?? ""}x` }));
      await Promise.all([note(), take(), note(), note()]);
      assert.deepEqual(
        await gather(members.in(DEMO, SITE)),
        keys.map((key): Member => ({ ...key, wanted: "no", contentHash: "xxx" })),
      );
      await take();
      await putMembers(members, [member("a")]);
      await members.change(keys, (known) => (known?.wanted === "led" ? known : undefined));
      assert.deepEqual(await gather(members.in(DEMO, SITE)), [member("a")]);
    });

    test("two processes change one member: nothing is lost", async (t) => {
      const { ledgers, where } = await open(t, [DEMO]);
      const times = 15;
      const child = join(import.meta.dirname, "../ledger/members-child.ts");
      const children = [1, 2].map(() => fork(child, [JSON.stringify({ where, times })]));
      t.after(() => children.forEach((one) => void one.kill("SIGKILL")));
      const exits = await Promise.all(children.map((one) => once(one, "exit")));
      assert.deepEqual(
        exits.map(([code]) => code),
        [0, 0],
      );
      const [counted] = await ledgers.members.of(itemId("counted"));
      assert.equal(counted?.indexedGeneration, 2 * times);
    });

    test("nothing is written for a domain that was deleted", async (t) => {
      const { ledgers } = await open(t, [DEMO]);
      await putMembers(ledgers.members, [member("a", { domainId: OTHER })]);
      assert.deepEqual(await ledgers.members.of(itemId("a")), []);
    });

    test("go along when their domain is renamed, also in two attempts", async (t) => {
      const heir = "HEIR" as DomainId;
      const { ledgers, where } = await open(t, [DEMO, OTHER]);
      const { members } = ledgers;
      await putMembers(members, [member("a"), member("a", { sourceId: S2 }), member("a", { domainId: OTHER })]);
      await ledgers.release(DEMO);
      await rename(join(where.crawlerFolder, DEMO), join(where.crawlerFolder, heir));
      for (const _ of [1, 2]) await ledgers.renameDomain({ from: DEMO, to: heir });
      await mkdir(join(where.crawlerFolder, DEMO));
      assert.deepEqual(await gather(members.in(heir, SITE)), [member("a", { domainId: heir })]);
      assert.deepEqual(await gather(members.in(DEMO, SITE)), []);
      assert.deepEqual(
        (await members.of(itemId("a"))).map(({ domainId }) => domainId),
        [OTHER, heir, heir],
      );
    });
  });
}

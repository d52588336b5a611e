import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { ClaimedTask, TaskQueue } from "../../src/contracts/queue.ts";
import type { QueuePlace } from "../queue/queue-child.ts";

export const LONG = 60_000;

/** A queue with nothing in it, and where another process finds it. */
export interface QueueUnderTest {
  readonly queue: TaskQueue;
  readonly where: QueuePlace;
}

export function queueChild(t: TestContext, verb: "take" | "hold", where: QueuePlace): ChildProcess {
  const started = fork(join(import.meta.dirname, "../queue/queue-child.ts"), [verb, JSON.stringify(where)]);
  t.after(() => started.kill("SIGKILL"));
  return started;
}

/** What every queue promises. */
export function queueSuite(name: string, open: (t: TestContext) => Promise<QueueUnderTest>): void {
  describe(`the queue in ${name}`, () => {
    test("hands each task to one claimer, oldest first, and forgets what was completed", async (t) => {
      const { queue } = await open(t);
      assert.equal(await queue.claim(["count"], "me", LONG), undefined);
      const payloads = [{ n: 1 }, { hostile: "\0 \ud800 𝒳 ä '\"\\", n: [null, 2.5] }];
      for (const payload of payloads) await queue.enqueue({ kind: "count", payload });
      await queue.enqueue({ kind: "other", payload: null });
      const first = await queue.claim(["count"], "me", LONG);
      const second = await queue.claim(["nothing", "count"], "you", LONG);
      assert.deepEqual([first?.payload, second?.payload], payloads);
      assert.equal(await queue.claim(["count"], "me", LONG), undefined);
      assert.ok(first && (await queue.complete(first)));
      assert.equal(await queue.complete(first), false);
      const other = await queue.claim(["count", "other"], "me", LONG);
      assert.deepEqual([other?.kind, other?.payload, other?.attempts, other?.error], ["other", null, 1, ""]);
    });

    test("a lease that ended goes to the next one, and its first holder can do nothing more", async (t) => {
      const { queue } = await open(t);
      await queue.enqueue({ kind: "count", payload: {} });
      const lost = await queue.claim(["count"], "first", 0);
      const taken = await claimSoon(queue);
      assert.ok(lost);
      assert.deepEqual([taken.id, taken.attempts], [lost.id, 2]);
      assert.equal(await queue.renew(lost, LONG), false);
      assert.equal(await queue.complete(lost), false);
      assert.equal(await queue.handBack(lost), false);
      assert.equal(await queue.fail(lost, { error: "late", delayMs: 0 }), false);
      assert.equal(await queue.renew(taken, LONG), true);
      assert.equal(await queue.complete(taken), true);
    });

    test("a renewed lease does not end, and what was renewed can be completed meanwhile", async (t) => {
      const { queue } = await open(t);
      for (const payload of ["renewed", "left"]) await queue.enqueue({ kind: "count", payload });
      const renewed = await queue.claim(["count"], "me", 0);
      assert.ok(renewed && (await queue.renew(renewed, LONG)));
      await queue.claim(["count"], "me", 0);
      assert.equal((await claimSoon(queue)).payload, "left");
      assert.equal(await queue.claim(["count"], "you", LONG), undefined);
      const again = queue.renew(renewed, 0);
      assert.equal(await queue.complete(renewed), true);
      await again;
      assert.equal(await queue.renew(renewed, LONG), false);
    });

    test("a failed task comes back after its delay, with the reason", async (t) => {
      const { queue } = await open(t);
      for (const payload of ["later", "now"]) await queue.enqueue({ kind: "count", payload });
      const later = await queue.claim(["count"], "me", LONG);
      const now = await queue.claim(["count"], "me", LONG);
      assert.ok(later && (await queue.fail(later, { error: "no luck", delayMs: LONG })));
      assert.ok(now && (await queue.fail(now, { error: `it's bad ${"ä".repeat(100)}`, delayMs: 0 })));
      assert.equal(await queue.complete(now), false);
      const again = await claimSoon(queue);
      assert.deepEqual([again.payload, again.attempts, again.error], ["now", 2, `it's bad ${"ä".repeat(100)}`]);
      assert.equal(await queue.claim(["count"], "me", LONG), undefined);
    });

    test("a task that was handed back counts as never claimed", async (t) => {
      const { queue } = await open(t);
      await queue.enqueue({ kind: "count", payload: 7 });
      for (const _ of [1, 2]) {
        const claimed = await queue.claim(["count"], "me", LONG);
        assert.equal(claimed?.attempts, 1);
        assert.equal(await queue.handBack(claimed), true);
        assert.equal(await queue.handBack(claimed), false);
      }
      const last = await queue.claim(["count"], "you", LONG);
      assert.deepEqual([last?.payload, last?.attempts], [7, 1]);
      assert.equal(await queue.waitingSince("count"), undefined);
      await queue.enqueue({ kind: "count", payload: 8 });
      assert.ok(Math.abs(((await queue.waitingSince("count"))?.getTime() ?? 0) - Date.now()) < 60_000);
      assert.equal(await queue.waitingSince("other"), undefined);
      const next = await queue.claim(["count"], "me", LONG);
      assert.ok(next && (await queue.complete(next)));
      assert.ok(last && (await queue.handBack(last, LONG)));
      assert.equal(await queue.claim(["count"], "me", LONG), undefined);
    });

    test("three processes share the tasks: each is done once", async (t) => {
      const { queue, where } = await open(t);
      const numbers = Array.from({ length: 60 }, (_, at) => at);
      for (const payload of numbers) await queue.enqueue({ kind: "count", payload });
      const children = [1, 2, 3].map(() => queueChild(t, "take", where));
      const lists = await Promise.all(children.map((one) => once(one, "message")));
      const taken = lists.flatMap(([list]) => list as number[]);
      assert.deepEqual(
        taken.sort((a, b) => a - b),
        numbers,
      );
      assert.equal(await queue.claim(["count"], "me", LONG), undefined);
    });
  });
}

/** Some queues count in seconds: a lease of nothing takes one to end. */
async function claimSoon(queue: TaskQueue): Promise<ClaimedTask> {
  for (;;) {
    const claimed = await queue.claim(["count"], "second", LONG);
    if (claimed) return claimed;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

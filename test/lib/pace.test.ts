// Starts of requests are limited in number, rate and after failures.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPace, type PaceOptions, type Slot } from "../../src/lib/pace.ts";
import { handClock, settle } from "./hand-clock.ts";

const forever = new AbortController().signal;

function openPace(options: Partial<PaceOptions> = {}) {
  const clock = handClock();
  const waits: string[] = [];
  const onWait = (reason: string, ms: number): unknown => waits.push(`${ms} ms: ${reason}`);
  const pace = createPace({
    concurrency: 2,
    patienceMs: 30_000,
    clock,
    ...options,
  });
  const events: string[] = [];
  const slots: Slot[] = [];
  const enter = async (who: string): Promise<void> => {
    void pace.acquire(forever, onWait).then((slot) => {
      if ("release" in slot) slots.push(slot);
      events.push("release" in slot ? who : `${who} turned away for ${slot.waitMs}: ${slot.reason}`);
    });
    await settle();
  };
  /** Who got in or was turned away since the last time it was asked. */
  const came = (): string[] => events.splice(0);
  return { clock, waits, pace, came, enter, slots, releaseOne: () => slots.shift()?.release() };
}

describe("pace", () => {
  it("lets so many in at once, and the others in their order", async () => {
    const { enter, came, releaseOne } = openPace();
    for (const who of ["a", "b", "c", "d"]) await enter(who);
    assert.deepEqual(came(), ["a", "b"]);
    releaseOne();
    await settle();
    assert.deepEqual(came(), ["c"]);
    releaseOne();
    releaseOne();
    await settle();
    assert.deepEqual(came(), ["d"]);
  });

  it("keeps time between two starts, even if the first is over", async () => {
    const { enter, came, releaseOne, clock, pace, waits } = openPace({ intervalMs: 100 });
    for (const who of ["a", "b", "c"]) await enter(who);
    releaseOne();
    await clock.pass(99);
    assert.deepEqual(came(), ["a"]);
    await clock.pass(1);
    assert.deepEqual(came(), ["b"]);
    releaseOne();
    pace.space(5000, "asked for");
    await clock.pass(100);
    assert.deepEqual(came(), ["c"]);
    releaseOne();
    pace.space(10, "asked for");
    for (const who of ["d", "e"]) await enter(who);
    await clock.pass(4999);
    assert.deepEqual(came(), []);
    await clock.pass(1);
    await clock.pass(99);
    assert.deepEqual(came(), ["d"], "never faster than it was made for");
    await clock.pass(1);
    assert.deepEqual(came(), ["e"]);
    assert.equal(waits[0], "5000 ms: asked for");
  });

  it("rests, and opens slowly", async () => {
    const { enter, came, releaseOne, clock, pace, slots, waits } = openPace({ concurrency: 4 });
    await enter("a");
    pace.pause(10_000, "tired");
    pace.pause(5_000, "a shorter rest changes nothing");
    releaseOne();
    for (const who of ["b", "c", "d", "e"]) await enter(who);
    assert.deepEqual(came(), ["a"]);
    assert.deepEqual(waits, ["10000 ms: tired"], "who watches is told once");
    await clock.pass(10_000);
    assert.deepEqual(came(), ["b"]);
    const [b] = slots;
    assert.ok(b);
    pace.recordSuccess(b);
    releaseOne();
    await settle();
    assert.deepEqual(came(), ["c", "d"]);
  });

  it("turns everybody away at once when the rest is longer than anybody's patience", async () => {
    const { enter, came, clock, pace } = openPace({ concurrency: 1 });
    for (const who of ["a", "b"]) await enter(who);
    pace.pause(60_000, "very tired");
    await settle();
    await enter("c");
    assert.deepEqual(came(), ["a", "b turned away for 60000: very tired", "c turned away for 60000: very tired"]);
    await clock.pass(30_000);
    await enter("d");
    assert.deepEqual(came(), [], "half a minute is worth waiting for");
  });

  it("counts what goes wrong in a row, but not what was under way when the rest began", async () => {
    const { clock, pace } = openPace();
    const slots: Slot[] = [];
    for (let i = 0; i < 2; i += 1) {
      const slot = await pace.acquire(forever);
      if ("release" in slot) slots.push(slot);
    }
    const [first, second] = slots;
    assert.ok(first && second);
    assert.equal(pace.recordFailure(first), 1);
    pace.pause(1000, "tired");
    assert.equal(pace.recordFailure(second), 0);
    for (const slot of slots) slot.release();
    await clock.pass(1000);
    const third = await pace.acquire(forever);
    assert.ok("release" in third);
    assert.equal(pace.recordFailure(third), 2);
    pace.recordSuccess(third);
    assert.equal(pace.recordFailure(third), 1);
  });

  it("forgets whoever gives up while waiting", async () => {
    const { enter, came, releaseOne, pace } = openPace({ concurrency: 1 });
    await enter("a");
    came();
    const controller = new AbortController();
    const waiting = pace.acquire(controller.signal);
    await enter("c");
    controller.abort(new Error("gave up"));
    await assert.rejects(waiting, /gave up/);
    await assert.rejects(pace.acquire(controller.signal), /gave up/);
    releaseOne();
    await settle();
    assert.deepEqual(came(), ["c"]);
    assert.equal(pace.isIdle(), false);
    releaseOne();
    assert.equal(pace.isIdle(), true);
  });

  it("counts the time of pauses, and a pause within another once", () => {
    const { pace } = openPace();
    pace.pause(200, "asked to slow down");
    pace.pause(1, "shorter");
    assert.deepEqual(pace.waited(), { ms: 200, pauses: 1 });
  });

  it("what was under way before a pause neither blocks it afterwards nor opens it further", async () => {
    const { enter, came, clock, pace, slots, releaseOne } = openPace({ concurrency: 3 });
    await enter("before");
    const [before] = slots;
    assert.ok(before);
    pace.pause(5, "too many");
    for (const who of ["a", "b", "c"]) await enter(who);
    await clock.pass(5);
    assert.deepEqual(came(), ["before", "a"]);
    pace.recordSuccess(before);
    releaseOne();
    await settle();
    assert.deepEqual(came(), []);
  });

  it("a slot that is released twice makes room for one", async () => {
    const { enter, came, slots } = openPace({ concurrency: 1 });
    for (const who of ["a", "b", "c"]) await enter(who);
    const [a] = slots;
    a?.release();
    a?.release();
    await settle();
    assert.deepEqual(came(), ["a", "b"]);
  });

  it("spaces starts for a while, tells so once, and then no longer", async () => {
    const { enter, came, clock, pace, waits, releaseOne } = openPace({ concurrency: 1 });
    pace.space(20_000, "little is left", 50_000);
    for (const who of ["a", "b", "c", "d"]) {
      await enter(who);
      releaseOne();
    }
    assert.deepEqual(came(), ["a"]);
    for (let i = 0; i < 2; i += 1) {
      pace.space(20_000, "less is left", 50_000 - i * 20_000);
      await clock.pass(20_000);
      releaseOne();
    }
    assert.deepEqual(came(), ["b", "c"]);
    await clock.pass(10_000);
    assert.deepEqual(came(), ["d"]);
    assert.deepEqual(waits, ["20000 ms: little is left"]);
    assert.deepEqual(pace.waited(), { ms: 40_000, pauses: 0 });
  });

  it("whoever was let in has the slot, even if cancelled at that moment", async () => {
    const { enter, came, pace, releaseOne } = openPace({ concurrency: 1 });
    await enter("a");
    const controller = new AbortController();
    const woken = pace.acquire(controller.signal);
    await enter("b");
    releaseOne();
    controller.abort();
    const slot = await woken;
    assert.ok("release" in slot);
    slot.release();
    await settle();
    assert.deepEqual(came(), ["a", "b"]);
  });

  it("is slower after every complaint, and recovers", async () => {
    const { enter, came, clock, pace, slots } = openPace({ concurrency: 4, easedMs: 1000 });
    let last: Slot | undefined;
    const waited = async (): Promise<number> => {
      await enter("x");
      const begun = clock.nowMs();
      while (came().length === 0) await clock.pass(50);
      last = slots.shift();
      last?.release();
      return clock.nowMs() - begun;
    };
    assert.equal(await waited(), 0);
    pace.ease();
    assert.deepEqual([await waited(), await waited()], [1000, 1000]);
    pace.ease();
    assert.ok((await waited()) > 1000);
    for (let i = 0; i < 60; i += 1) if (last) pace.recordSuccess(last);
    await waited();
    assert.equal(await waited(), 0);
  });
});

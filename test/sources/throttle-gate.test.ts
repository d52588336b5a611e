import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CancelledError } from "../../src/contracts/errors.ts";
import { createThrottleGate, type Slot } from "../../src/sources/sharepoint/throttle-gate.ts";

const forever = new AbortController().signal;
const quiet = (): void => undefined;

/** Lets everything that can go on go on. */
async function settle(): Promise<void> {
  for (let i = 0; i < 5; i += 1) await new Promise(setImmediate);
}

async function untilLength<T>(list: readonly T[], length: number): Promise<readonly T[]> {
  while (list.length < length) await new Promise(setImmediate);
  return list;
}

describe("throttle gate", () => {
  it("lets so many in and the next when one leaves", async () => {
    const gate = createThrottleGate(2);
    const [first] = await Promise.all([gate.enter(forever, quiet), gate.enter(forever, quiet)]);
    let inside = false;
    const third = gate.enter(forever, quiet).then((slot) => {
      inside = true;
      return slot;
    });
    await settle();
    assert.equal(inside, false);
    first.release();
    first.release();
    await third;
    assert.equal(inside, true);
    let fourth = false;
    void gate.enter(forever, quiet).then(() => {
      fourth = true;
    });
    await settle();
    assert.equal(fourth, false, "releasing twice must not make room for two");
  });

  it("keeps everybody out during a pause, and says why", async () => {
    const gate = createThrottleGate(4);
    gate.pause(200, "asked to slow down");
    gate.pause(1, "shorter");
    const waits: [string, number][] = [];
    const enter = async (): Promise<void> => {
      (await gate.enter(forever, (reason, ms) => waits.push([reason, ms]))).release();
    };
    await Promise.all([enter(), enter(), enter()]);
    assert.deepEqual(new Set(waits.map(([reason]) => reason)), new Set(["asked to slow down"]));
    assert.ok(waits.length >= 3);
    assert.equal(gate.waited().pauses, 1);
    assert.equal(gate.waited().ms, 200);
  });

  it("opens slowly after a pause: one, and one more for each that comes back", async () => {
    const gate = createThrottleGate(3);
    const before = await gate.enter(forever, quiet);
    gate.pause(5, "too many");
    const inside: Slot[] = [];
    for (let i = 0; i < 6; i += 1) void gate.enter(forever, quiet).then((slot) => inside.push(slot));
    const [first] = await untilLength(inside, 1);
    before.release();
    await settle();
    assert.equal(inside.length, 1, "what was under way before the pause neither blocks the gate nor opens it further");
    first?.release();
    const [, second, third] = await untilLength(inside, 3);
    await settle();
    assert.equal(inside.length, 3, "two at once");
    second?.release();
    await untilLength(inside, 5);
    third?.release();
    await untilLength(inside, 6);
    await settle();
    assert.equal(gate.closedForMs(), 0);
  });

  it("spreads what is left of the budget, and closes for the reserve", async () => {
    const gate = createThrottleGate(4);
    const starts: number[] = [];
    gate.spread({ limit: 100, remaining: 25, resetMs: 400 });
    for (let i = 0; i < 4; i += 1) {
      const slot = await gate.enter(forever, quiet);
      starts.push(performance.now());
      slot.release();
    }
    assert.ok((starts[3] ?? 0) - (starts[0] ?? 0) >= 57, "20 may be spent in 400 ms, so 20 ms apart");
    assert.equal(gate.waited().pauses, 0);
    gate.spread({ limit: 100, remaining: 5, resetMs: 60_000 });
    assert.ok(gate.closedForMs() > 50_000);
    assert.deepEqual(gate.waited().pauses, 1);
  });

  it("says once that the budget runs low", async () => {
    const gate = createThrottleGate(1);
    gate.spread({ limit: 0, remaining: 1, resetMs: 60_000 });
    const waits: string[] = [];
    (await gate.enter(forever, quiet)).release();
    for (let i = 0; i < 2; i += 1) {
      const stop = new AbortController();
      const waiting = gate.enter(stop.signal, (reason) => waits.push(reason));
      stop.abort();
      await assert.rejects(waiting, CancelledError);
    }
    assert.deepEqual(waits, ["SharePoint's request budget runs low (1 left), so requests are spread out"]);
  });

  it("lets go of those who are cancelled, in the queue and in the pause", async () => {
    const gate = createThrottleGate(1);
    const slot = await gate.enter(forever, quiet);
    const stop = new AbortController();
    const queued = gate.enter(stop.signal, quiet);
    const after = gate.enter(forever, quiet);
    stop.abort();
    await assert.rejects(queued, CancelledError);
    slot.release();
    const next = await after;
    gate.pause(60_000, "long");
    const stopPause = new AbortController();
    const paused = gate.enter(stopPause.signal, quiet);
    stopPause.abort(new CancelledError("by the user"));
    await assert.rejects(paused, /by the user/);
    next.release();
  });

  it("passes the turn on when the one who was woken is cancelled at that moment", async () => {
    const gate = createThrottleGate(1);
    const slot = await gate.enter(forever, quiet);
    const stop = new AbortController();
    const woken = gate.enter(stop.signal, quiet);
    const waiting = gate.enter(forever, quiet);
    await settle();
    slot.release();
    stop.abort();
    await assert.rejects(woken, CancelledError);
    (await waiting).release();
  });
});

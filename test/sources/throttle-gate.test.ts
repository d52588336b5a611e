import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CancelledError } from "../../src/contracts/errors.ts";
import { createThrottleGate } from "../../src/sources/sharepoint/throttle-gate.ts";

const forever = new AbortController().signal;
const quiet = (): void => undefined;

/** Lets everything that can go on go on. */
async function settle(): Promise<void> {
  for (let i = 0; i < 5; i += 1) await new Promise(setImmediate);
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
    await Promise.all([1, 2, 3].map(() => gate.enter(forever, (reason, ms) => waits.push([reason, ms]))));
    assert.deepEqual(new Set(waits.map(([reason]) => reason)), new Set(["asked to slow down"]));
    assert.ok(waits.length >= 3);
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

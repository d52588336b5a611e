import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { APIError } from "openai";
import { createServiceCalls } from "../../src/backends/openai/service-calls.ts";
import { createSlots } from "../../src/backends/openai/slots.ts";
import { CancelledError, RemoteError } from "../../src/contracts/errors.ts";
import { createVirtualClock } from "./openai-virtual-clock.ts";

const never = new AbortController().signal;

function refuseFor(seconds: number): APIError {
  return APIError.generate(429, { error: { message: "Slow down." } }, "", new Headers({ "retry-after": `${seconds}` }));
}

describe("pacing", () => {
  test("while one call waits as told, the others wait with it", async () => {
    const wakeUp = Promise.withResolvers<void>();
    let nowMs = 0;
    const clock = {
      now: () => nowMs,
      async sleep(ms: number) {
        await wakeUp.promise;
        nowMs = Math.max(nowMs, ms);
      },
    };
    const calls = createServiceCalls({ clock, apiKey: "k" });
    const sent: string[] = [];
    const refused = Promise.withResolvers<void>();
    const first = calls.run("first", async (attempt) => {
      sent.push(`first ${attempt}`);
      if (attempt > 1) return;
      refused.resolve();
      throw refuseFor(60);
    });
    await refused.promise;
    await new Promise(setImmediate);
    const second = calls.run("second", async () => void sent.push("second"));
    await new Promise(setImmediate);
    assert.deepEqual(sent, ["first 1"]);
    wakeUp.resolve();
    await Promise.all([first, second]);
    assert.deepEqual(sent.toSorted(), ["first 1", "first 2", "second"]);
    assert.equal(nowMs, 60_000);
  });

  test("a wait of more than a day is an error that says so", async () => {
    const clock = createVirtualClock();
    const calls = createServiceCalls({ clock, apiKey: "k" });
    const attempt = calls.run("upload 'a.md'", () => Promise.reject(refuseFor(200_000)));
    await assert.rejects(attempt, (error: unknown) => {
      assert.ok(error instanceof RemoteError);
      assert.match(error.message, /^upload 'a\.md': too many requests.*it asks to come back in 56 hours$/);
      return true;
    });
    assert.deepEqual(clock.slept, []);
  });

  test("an abort ends the waiting", async () => {
    const job = new AbortController();
    const clock = { now: Date.now, sleep: async () => job.abort() };
    const calls = createServiceCalls({ clock, apiKey: "k" });
    const attempt = calls.run("upload 'a.md'", () => Promise.reject(refuseFor(3600)), job.signal);
    await assert.rejects(attempt, CancelledError);
  });

  test("trouble that is not the service's is passed on as it is, and not tried again", async () => {
    const calls = createServiceCalls({ clock: createVirtualClock(), apiKey: "k" });
    const unreadable = Object.assign(new Error("EIO: i/o error, read"), { code: "EIO" });
    let tries = 0;
    const attempt = calls.run("upload 'a.md'", () => {
      tries++;
      return Promise.reject(unreadable);
    });
    await assert.rejects(attempt, unreadable);
    assert.equal(tries, 1);
  });

  test("a slot goes to the next that still wants it", async () => {
    const slots = createSlots(1);
    const release = await slots.take("a", never);
    const impatient = new AbortController();
    const second = slots.take("b", impatient.signal);
    const third = slots.take("c", never);
    impatient.abort();
    await assert.rejects(second, CancelledError);
    release();
    (await third)();
    (await slots.take("d", never))();
  });
});

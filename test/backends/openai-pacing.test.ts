// Calls wait together as the service asks, within limits of patience and rate.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { APIError } from "openai";
import { createRateLimiter, createServiceCalls } from "../../src/backends/openai/connection.ts";
import { readPages } from "../../src/backends/openai/read-pages.ts";
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

  test("with patience, a wait that is too long is an error at once, for the others of its kind as well", async () => {
    const clock = createVirtualClock();
    const calls = createServiceCalls({ clock, apiKey: "k", timeoutMs: 20_000 });
    const refused = calls.run("search vector store vs_1", () => Promise.reject(refuseFor(3600)));
    const said =
      /^RemoteError: search vector store vs_1: too many requests \(429 Slow down\.\); it asks to come back in 3600 s/;
    await assert.rejects(refused, said);
    let sent = 0;
    const next = calls.run("search vector store vs_2", async () => void sent++);
    await assert.rejects(next, /^RemoteError: search vector store vs_2: search vector store vs_1: too many requests/);
    assert.deepEqual([sent, clock.slept], [0, []]);
  });

  test("with patience, short waits are waited, and tries end with what the service said last", async () => {
    const clock = createVirtualClock();
    const calls = createServiceCalls({ clock, apiKey: "k", timeoutMs: 20_000 });
    const answered = calls.run("search", (attempt) =>
      attempt > 1 ? Promise.resolve("hits") : Promise.reject(refuseFor(3)),
    );
    assert.equal(await answered, "hits");
    assert.deepEqual(clock.slept, [3000]);
    const startedAtMs = clock.now();
    const busy = APIError.generate(503, { error: { message: "Busy." } }, "", new Headers());
    await assert.rejects(
      calls.run("search", () => Promise.reject(busy)),
      /^RemoteError: search: the service answered 503 Busy\. after \d tries$/,
    );
    assert.ok(clock.now() - startedAtMs <= 20_000);
  });

  test("with patience, a request without an answer is ended, and that is said", async () => {
    const calls = createServiceCalls({ clock: createVirtualClock(), apiKey: "k", timeoutMs: 20 });
    const silent = calls.run(
      "search",
      (_attempt, signal) =>
        new Promise((_, reject) => {
          const kept = setInterval(() => undefined, 60_000);
          signal?.addEventListener("abort", () => {
            clearInterval(kept);
            reject(signal.reason);
          });
        }),
    );
    await assert.rejects(silent, /^RemoteError: search: no answer from the service within/);
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
});

describe("rates", () => {
  test("no minute sees more than the limit, wherever it begins, and weights count", async () => {
    const clock = createVirtualClock();
    const limiter = createRateLimiter(clock, 100);
    const passed: { at: number; weight: number }[] = [];
    for (let i = 0; i < 200; i++) {
      const weight = 1 + (i % 7);
      await limiter.acquire(weight, "test", never);
      passed.push({ at: clock.now(), weight });
    }
    for (const { at: from } of passed) {
      const within = passed.filter(({ at }) => at >= from && at < from + 60_000);
      const sum = within.reduce((total, { weight }) => total + weight, 0);
      assert.ok(sum <= 100, `${sum} in a minute`);
    }
    const all = passed.reduce((total, { weight }) => total + weight, 0);
    const minutes = ((passed.at(-1)?.at ?? 0) - (passed[0]?.at ?? 0)) / 60_000;
    assert.ok(minutes <= all / 90, `${minutes} minutes for ${all}`);
  });

  test("what is more than a whole minute's worth passes alone, and an abort ends the waiting", async () => {
    const limiter = createRateLimiter(createVirtualClock(), 10);
    await limiter.acquire(50, "test", never);
    const job = new AbortController();
    const impatient = { now: () => 0, sleep: async () => job.abort() };
    const narrow = createRateLimiter(impatient, 1);
    await narrow.acquire(1, "test", job.signal);
    await assert.rejects(narrow.acquire(1, "test", job.signal), CancelledError);
  });
});

describe("lists in pages", () => {
  const idOf = (id: string) => id;

  test("each id once, to the end", async () => {
    const pages = [["a", "b"], ["b", "c"], ["d"]];
    const read = async () => ({ entries: pages.shift() ?? [], hasMore: pages.length > 0 });
    assert.deepEqual(await readPages({ what: "list", idOf, read }), ["a", "b", "c", "d"]);
  });

  test("that go on for ever, or stand still, are errors", async () => {
    let next = 0;
    const endless = async () => ({ entries: [String(next++)], hasMore: true });
    const listing = { what: "list files", idOf, read: endless, mostPages: 50 };
    await assert.rejects(readPages(listing), /^RemoteError: list files: the list does not end after 50 pages$/);
    const same = async () => ({ entries: ["a"], hasMore: true });
    await assert.rejects(readPages({ what: "list files", idOf, read: same }), /repeats a page/);
    const empty = async () => ({ entries: [], hasMore: true });
    await assert.rejects(readPages({ what: "list files", idOf, read: empty }), /repeats a page/);
  });
});

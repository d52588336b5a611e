// No more tasks than agreed run at once, in order, and failures do not stop the others.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CancelledError } from "../../src/contracts/errors.ts";
import { createLimiter } from "../../src/lib/concurrency.ts";

test("no more than agreed run at once, all run in their order, and failures hold nobody up", async () => {
  const limiter = createLimiter(2);
  const started: number[] = [];
  let [running, most] = [0, 0];
  const work = (i: number) => async (): Promise<number> => {
    started.push(i);
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    if (i % 3 === 0) throw new Error(`${i} fails`);
    return i;
  };
  const numbers = [0, 1, 2, 3, 4, 5, 6, 7];
  const outcomes = await Promise.allSettled(numbers.map((i) => limiter(work(i))));
  assert.equal(most, 2);
  assert.deepEqual(started, numbers);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    numbers.map((i) => (i % 3 === 0 ? "rejected" : "fulfilled")),
  );
  assert.equal(await limiter(work(8)), 8);
});

test("a slot goes to the next that still wants it", async () => {
  const limiter = createLimiter(1);
  const first = Promise.withResolvers<void>();
  const running = limiter(() => first.promise);
  const impatient = new AbortController();
  const second = limiter(() => assert.fail("it did not wait"), impatient.signal);
  const third = limiter(async () => "third");
  impatient.abort();
  await assert.rejects(second, CancelledError);
  first.resolve();
  await running;
  assert.equal(await third, "third");
  assert.equal(await limiter(async () => "fourth"), "fourth");
});

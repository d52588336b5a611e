// Token buckets allow a burst, refill, and take bounded memory.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createBuckets } from "../../src/http/middleware/buckets.ts";

describe("token buckets", () => {
  it("give a burst, then as much as flows back, each key its own", () => {
    let nowMs = 0;
    const buckets = createBuckets({ perSecond: 2, burst: 4 }, () => nowMs);
    assert.deepEqual(
      [1, 2, 3, 4, 5].map(() => buckets.take("a")),
      [0, 0, 0, 0, 500],
    );
    assert.equal(buckets.take("b"), 0);
    nowMs = 250;
    assert.equal(buckets.take("a"), 250);
    nowMs = 500;
    assert.deepEqual([buckets.take("a"), buckets.take("a")], [0, 500]);
    nowMs = 1_000_000;
    assert.deepEqual(
      [1, 2, 3, 4, 5].map(() => buckets.take("a")),
      [0, 0, 0, 0, 500],
      "never more than the burst",
    );
  });

  it("take back what was not needed, but never more than the burst", () => {
    const buckets = createBuckets({ perSecond: 1, burst: 2 }, () => 0);
    buckets.take("a");
    buckets.giveBack("a");
    buckets.giveBack("a");
    buckets.giveBack("stranger");
    assert.deepEqual(
      [1, 2, 3].map(() => buckets.take("a")),
      [0, 0, 1000],
    );
  });

  it("forget whom they have not heard of for longest, so that a flood of keys fills no memory", () => {
    const buckets = createBuckets({ perSecond: 1, burst: 1 }, () => 0);
    buckets.take("kept");
    for (let i = 0; i < 9_000; i++) buckets.take(`first ${i}`);
    buckets.take("kept");
    for (let i = 0; i < 5_000; i++) buckets.take(`second ${i}`);
    assert.ok(buckets.take("kept") > 0);
    assert.equal(buckets.take("first 0"), 0);
  });
});

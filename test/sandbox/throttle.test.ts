// The sandbox throttles and counts requests as SharePoint and Graph do.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { SandboxRequest } from "../../src/sandbox/http-reply.ts";
import { Throttle } from "../../src/sandbox/throttle.ts";
import { apiOf, control, errorOf, sandboxForTests } from "./sandbox-client.ts";

const sandbox = await sandboxForTests();
const api = await apiOf(sandbox);
const web = "/sites/demo/_api/web";

beforeEach(() => sandbox.state.reset());

const ask = (rawPath: string): SandboxRequest => ({
  method: "GET",
  rawPath,
  rawQuery: "",
  headers: {},
  body: new Uint8Array(),
  origin: "http://127.0.0.1",
});

test("headers from 80 % of the budget on, then 429 with Retry-After; the report tells", async () => {
  await control(sandbox, "POST", "throttle", { budget: 10, windowSeconds: 600 });
  const remaining: (string | null)[] = [];
  for (let number = 0; number < 5; number++) {
    const response = await api(web);
    assert.equal(response.status, 200);
    remaining.push(response.headers.get("ratelimit-remaining"));
    await response.arrayBuffer();
  }
  assert.deepEqual(remaining, [null, null, null, "2", "0"]);
  const refused = await api(web);
  assert.equal(refused.headers.get("ratelimit-limit"), "10");
  assert.equal(refused.headers.get("ratelimit-remaining"), "0");
  assert.equal(refused.headers.get("ratelimit-reset"), refused.headers.get("retry-after"));
  assert.ok(Number(refused.headers.get("retry-after")) > 590);
  assert.equal((await errorOf(refused)).status, 429);
  const { body } = await control(sandbox, "GET", "throttle");
  assert.deepEqual([body["used"], body["allowed"], body["refused"], body["pauses"]], [10, 5, 1, 1]);
  assert.equal((await control(sandbox, "DELETE", "throttle")).body["limits"], null);
  assert.equal((await api(web)).status, 200);
});

test("how many came at once, with no limit set", async () => {
  sandbox.state.faults.add({ times: "always" }, { delayMs: 600_000 });
  const gaveUp = new AbortController();
  const waiting = [1, 2, 3].map(() => fetch(sandbox.url + web, { signal: gaveUp.signal }));
  while (sandbox.state.faults.list()[0]?.struck !== 3) await new Promise(setImmediate);
  gaveUp.abort();
  await Promise.allSettled(waiting);
  assert.equal((await control(sandbox, "GET", "throttle")).body["mostAtOnce"], 3);
});

test("what comes during a pause is refused and counted, but not what was on its way", () => {
  const throttle = new Throttle();
  throttle.set({ budget: 4, windowSeconds: 10, graceMs: 200 });
  const at = (ms: number) => throttle.admit(ask(web), 1_000_000 + ms).refused;
  assert.deepEqual([at(0), at(1), at(2), at(50)], [false, false, true, true]);
  assert.equal(throttle.report().duringPause, 0);
  assert.deepEqual([at(5000), at(9000)], [true, true]);
  assert.deepEqual([throttle.report().refused, throttle.report().duringPause], [4, 2]);
});

test("after the time that was told the budget is whole again", () => {
  const throttle = new Throttle();
  throttle.set({ budget: 2, windowSeconds: 1.5, graceMs: 0 });
  throttle.admit(ask(web), 0);
  const verdict = throttle.admit(ask(web), 100);
  assert.equal(verdict.headers["Retry-After"], "2");
  assert.equal(throttle.admit(ask(web), 2099).refused, true, "the pause lasts as long as it was told");
  assert.equal(throttle.admit(ask(web), 2100).refused, false);
  assert.deepEqual([throttle.report().used, throttle.report().pauses], [2, 1]);
});

test("prices: REST 2; sign-in and control nothing", () => {
  const throttle = new Throttle();
  const priceOf = (path: string) => {
    throttle.set({ budget: 100, windowSeconds: 1, graceMs: 0 });
    throttle.admit(ask(path), 0);
    return throttle.report().used;
  };
  assert.equal(priceOf("/sites/demo/_api/web"), 2);
  assert.equal(priceOf("/7c1e/oauth2/v2.0/token"), 0);
});

test("a budget that is missing or makes no sense", async () => {
  assert.match(String((await control(sandbox, "POST", "throttle", {})).body["error"]), /^'budget' is missing/);
  const zero = await control(sandbox, "POST", "throttle", { budget: 5, windowSeconds: 0 });
  assert.equal(zero.body["error"], "'windowSeconds' must be more than 0.");
});

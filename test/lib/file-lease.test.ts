// A lease on a file has one holder at a time, across processes and kills.
import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { acquireLease, withFileLock } from "../../src/lib/file-lease.ts";
import { claimNumber, highestClaim } from "../../src/lib/numbered-claim.ts";

test("the second waits for the first, says once for whom, and then has it", async (t) => {
  const path = join(await temporaryFolder(t), "lease");
  const first = await acquireLease(path, { owner: "job jb_1" });
  const waits: string[] = [];
  const waiting = Promise.withResolvers<void>();
  const second = acquireLease(path, {
    owner: "job jb_2",
    pollMs: 1,
    onWait(owner) {
      waits.push(owner);
      waiting.resolve();
    },
  });
  await waiting.promise;
  assert.equal(await first.stillHeld(), true);
  await first.release();
  const lease = await second;
  assert.equal(await lease.stillHeld(), true);
  assert.equal(await first.stillHeld(), false);
  assert.deepEqual(waits, ["job jb_1"]);
  await lease.release();
});

test("waiting can be cancelled", async (t) => {
  const path = join(await temporaryFolder(t), "lease");
  const lease = await acquireLease(path, { owner: "job jb_1" });
  const abort = new AbortController();
  const reason = new Error("enough");
  const second = acquireLease(path, { owner: "job jb_2", signal: abort.signal, onWait: () => abort.abort(reason) });
  await assert.rejects(second, reason);
  assert.equal(await lease.stillHeld(), true);
  await lease.release();
});

test("a holder that did not renew loses it, and knows", async (t) => {
  const path = join(await temporaryFolder(t), "lease");
  const first = await acquireLease(path, { owner: "asleep", staleMs: 60_000 });
  const longAgo = new Date(Date.now() - 61_000);
  await utimes(join(path, "1"), longAgo, longAgo);
  const second = await acquireLease(path, { owner: "awake", staleMs: 60_000 });
  assert.equal(await first.stillHeld(), false);
  await first.release();
  assert.equal(await second.stillHeld(), true);
  await second.release();
});

test("a holder renews for as long as it holds", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const path = join(await temporaryFolder(t), "lease");
  const lease = await acquireLease(path, { owner: "job jb_1", staleMs: 60_000 });
  await utimes(join(path, "1"), new Date(0), new Date(0));
  t.mock.timers.tick(15_000);
  while ((await stat(join(path, "1"))).mtimeMs === 0) await new Promise((resolve) => setImmediate(resolve));
  await lease.release();
  const free = join(path, "1.free");
  await utimes(free, new Date(0), new Date(0));
  t.mock.timers.tick(60_000);
  assert.deepEqual(await readdir(path), ["1.free"]);
  assert.equal((await stat(free)).mtimeMs, 0);
});

test("the lease of a killed process is free at once", async (t) => {
  const path = join(await temporaryFolder(t), "lease");
  const child = startChild(t, ["hold", path]);
  await once(child, "message");
  child.kill("SIGKILL");
  await once(child, "exit");
  const lease = await acquireLease(path, {
    owner: "the next",
    onWait: (owner) => assert.fail(`waits for ${owner}`),
  });
  assert.equal(await lease.stillHeld(), true);
  await lease.release();
});

test("of many that take over a dead lease one is inside at a time", async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, "lease");
  await mkdir(path);
  await writeFile(join(path, "3"), "");
  await utimes(join(path, "3"), new Date(0), new Date(0));
  const children = Array.from({ length: 6 }, () => startChild(t, ["enter", path, join(folder, "inside")]));
  assert.deepEqual(await Promise.all(children.map(exitCode)), [0, 0, 0, 0, 0, 0]);
});

test("a lock keeps processes and callers apart", async (t) => {
  const folder = await temporaryFolder(t);
  const [lock, counter] = [join(folder, "lock"), join(folder, "counter")];
  await writeFile(counter, "0");
  const children = Array.from({ length: 3 }, () => startChild(t, ["count", lock, counter, "40"]));
  const here = Array.from({ length: 40 }, () =>
    withFileLock(lock, async () => writeFile(counter, String(Number(await readFile(counter, "utf8")) + 1))),
  );
  await Promise.all(here);
  assert.deepEqual(await Promise.all(children.map(exitCode)), [0, 0, 0]);
  assert.equal(await readFile(counter, "utf8"), "160");
  assert.equal((await readdir(lock)).length, 1);
});

test("a lock is given back when the work fails", async (t) => {
  const lock = join(await temporaryFolder(t), "lock");
  await assert.rejects(
    withFileLock(lock, async () => {
      throw new Error("no");
    }),
    /^Error: no$/,
  );
  assert.equal(await withFileLock(lock, async () => "yes"), "yes");
});

test("a number that was swept is not given out again", async (t) => {
  const folder = await temporaryFolder(t);
  const claim = (number: number): Promise<boolean> => claimNumber(folder, number, { content: "", retain: 2 });
  assert.equal(await claim(1), true);
  assert.equal(await claim(1), false);
  assert.equal(await claim(3), true);
  assert.equal(await claim(2), true, "lower than another, but never taken");
  assert.equal(await claim(4), true);
  assert.deepEqual((await readdir(folder)).sort(), ["2", "3", "4"]);
  assert.equal(await claim(1), false);
  assert.deepEqual(await highestClaim(folder), { number: 4, free: false });
});

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-lease-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

function startChild(t: TestContext, args: string[]): ChildProcess {
  const child = fork(join(import.meta.dirname, "lease-child.ts"), args);
  t.after(() => child.kill("SIGKILL"));
  return child;
}

async function exitCode(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null) await once(child, "exit");
  return child.exitCode;
}

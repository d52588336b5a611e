// One server at a time uses a storage; the next waits, or says why it does not start.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const CLI = fileURLToPath(new URL("../../bin/lockstep.mjs", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "lockstep-one-server-"));
after(() => rm(folder, { recursive: true, force: true }));

class Running {
  readonly child: ChildProcess;
  readonly ended: Promise<[code: number | null, signal: string | null]>;
  output = "";

  constructor(...args: readonly string[]) {
    const settings = { HOME: folder, PERSISTENT_STORAGE_PATH: join(folder, "storage") };
    this.child = spawn(process.execPath, [CLI, ...args], { cwd: folder, env: settings });
    this.ended = once(this.child, "close") as typeof this.ended;
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on("data", (bytes: Buffer) => {
        this.output += bytes.toString();
      });
    }
    after(() => this.child.kill("SIGKILL"));
  }

  async says(words: RegExp): Promise<void> {
    while (!words.test(this.output)) {
      assert.equal(this.child.exitCode, null, this.output);
      await Promise.race([once(this.child.stdout ?? this.child, "data"), this.ended]);
    }
  }

  async end(signal: NodeJS.Signals): Promise<number | string | null> {
    this.child.kill(signal);
    const [code, by] = await this.ended;
    return by ?? code;
  }
}

const serve = (seconds: string): Running => new Running("serve", "--port", "0", "--wait", seconds);

test("one server at a time looks after a storage; the next waits for it to end, or says why it does not start", async () => {
  const first = serve("0");
  await first.says(/listens on/);

  const hasty = serve("0");
  assert.deepEqual(await hasty.ended, [1, null]);
  assert.match(
    hasty.output,
    new RegExp(
      `^lockstep: start the server: another one \\(process ${first.child.pid}\\) uses the storage .*stop it, `,
    ),
  );
  const command = new Running("items");
  assert.deepEqual(await command.ended, [0, null], command.output);
  const worker = new Running("worker");
  await worker.says(/\S/);

  const [second, third] = [serve("600"), serve("600")];
  await Promise.all([second, third].map((each) => each.says(/Waiting for the server that uses this storage to end/)));
  assert.equal(await third.end("SIGTERM"), 0, "one that waits can be stopped");
  assert.doesNotMatch(second.output, /listens on/);
  assert.equal(await first.end("SIGKILL"), "SIGKILL");
  await second.says(/listens on/);

  const last = serve("600");
  await last.says(new RegExp(`process ${second.child.pid}`));
  assert.equal(await second.end("SIGTERM"), 0);
  await last.says(/listens on/);
  for (const each of [worker, last]) assert.equal(await each.end("SIGTERM"), 0, each.output);
});

test("how long it waits is a number", async () => {
  const wrong = serve("soon");
  assert.deepEqual(await wrong.ended, [2, null]);
  assert.match(wrong.output, /--wait must be a number of seconds, e\.g\. 30; it is 'soon'\./);
});

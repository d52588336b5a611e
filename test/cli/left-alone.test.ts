// A server ends when its starter is gone, and signals reach it under an older Node.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const CLI = fileURLToPath(new URL("../../bin/lockstep.mjs", import.meta.url));
const CARRIED = fileURLToPath(new URL(`../../node_modules/node-${process.platform}-${process.arch}`, import.meta.url));
/** Has the command look for the Node that the project carries, and run itself there, as on a machine with an older one. */
const OLDER_NODE = 'Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.0.0"}})';
const OLDER = ["--import", `data:text/javascript,${encodeURIComponent(OLDER_NODE)}`];

const folder = await mkdtemp(join(tmpdir(), "lockstep-left-"));
after(() => rm(folder, { recursive: true, force: true }));

interface Started {
  readonly child: ChildProcess;
  /** Without a channel: resolves when nobody can write to its output any more, so when the child that it started has ended, too. */
  readonly ended: Promise<[code: number | null, signal: string | null]>;
  url(): Promise<string>;
}

function start(nodeArgs: readonly string[], channel: "ipc" | "ignore", args: readonly string[]): Started {
  const child = spawn(process.execPath, [...nodeArgs, CLI, ...args], {
    cwd: folder,
    env: { HOME: folder, PERSISTENT_STORAGE_PATH: join(folder, "storage") },
    stdio: ["ignore", "pipe", "pipe", channel],
  });
  after(() => child.kill("SIGKILL"));
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (bytes: Buffer) => {
      output += bytes.toString();
    });
  }
  // Node tells no "close" of a child whose channel was cut on this side; such a one starts no other.
  const ended = once(child, channel === "ipc" ? "exit" : "close") as Started["ended"];
  const url = async (): Promise<string> => {
    for (;;) {
      const found = /listens on (http\S+)/.exec(output)?.[1];
      if (found) return found;
      assert.equal(child.exitCode, null, output);
      await Promise.race([once(child.stdout ?? child, "data"), ended]);
    }
  };
  return { child, ended, url };
}

test("a server whose starter is gone ends as with SIGTERM", async () => {
  const server = start([], "ipc", ["serve", "--port", "0"]);
  await server.url();
  server.child.disconnect();
  assert.deepEqual(await server.ended, [0, null]);
});

test("the channel to the starter keeps no command alive", async () => {
  const { ended } = start([], "ipc", ["query", "NOPE", "x"]);
  assert.deepEqual(await ended, [2, null]);
});

const skip = existsSync(CARRIED) ? false : "npm ci brought no Node for this system";

test("kill -9 of the command under an older Node ends the server that it started", { skip }, async () => {
  const command = start(OLDER, "ignore", ["serve", "--port", "0"]);
  const url = await command.url();
  assert.equal((await fetch(`${url}/health`)).status, 200);
  command.child.kill("SIGKILL");
  assert.deepEqual(await command.ended, [null, "SIGKILL"]);
  await assert.rejects(fetch(`${url}/health`));
});

test("signals and exit codes pass through the command under an older Node", { skip }, async () => {
  const command = start(OLDER, "ignore", ["serve", "--port", "0"]);
  await command.url();
  command.child.kill("SIGTERM");
  assert.deepEqual(await command.ended, [0, null]);
  assert.deepEqual(await start(OLDER, "ignore", ["frob"]).ended, [2, null]);
});

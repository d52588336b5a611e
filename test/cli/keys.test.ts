// `lockstep keys` makes, lists and removes keys, which a running server heeds at once.
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { runCommand, startCommand } from "./run-command.ts";
import { startCommands } from "./start-commands.ts";

describe("lockstep keys", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "lockstep-cli-keys-"));
  });
  const commands = startCommands(() => folder);
  after(async () => {
    await commands.end();
    await rm(folder, { recursive: true, force: true });
  });

  const run = (...args: string[]) => runCommand(folder, args);

  async function auditLines(): Promise<Record<string, unknown>[]> {
    const audit = join(folder, "storage", "audit");
    const [name = ""] = await readdir(audit);
    const lines = (await readFile(join(audit, name), "utf8")).trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  it("makes a key, shows it once, lists and removes it", async () => {
    assert.match((await run("keys")).out, /^There are no keys\. Nobody has to bring one/);
    const made = await run("keys", "add", "ada", "--role", "admin", "--expires", "2999-01-01");
    assert.equal(made.code, 0);
    assert.match(made.out, /^lk_[0-9a-f]{12}_[\w-]{43}\n$/, "on standard output there is the key alone");
    assert.match(made.err, /cannot be shown again/);
    const listed = await run("keys", "list");
    assert.match(listed.out, /^ada +admin +[0-9a-f]{12} {2}until 2999-01-01\n$/);
    const removed = await run("keys", "remove", "ada");
    assert.match(removed.out, /^Removed 'ada'\.[\s\S]*Every request needs one/);
    assert.equal((await run("keys", "remove", "ada")).code, 2);
  });

  it("leaves lines in the audit log, with the user's name and without the key", async () => {
    const lines = await auditLines();
    assert.deepEqual(
      lines.map(({ phase, action, what, ok }) => [phase, action, what, ok]),
      [
        ["asked", "lockstep keys", { arguments: "add ada --role admin --expires 2999-01-01" }, undefined],
        ["done", "lockstep keys", { arguments: "add ada --role admin --expires 2999-01-01" }, true],
        ["asked", "lockstep keys", { arguments: "remove ada" }, undefined],
        ["done", "lockstep keys", { arguments: "remove ada" }, true],
        ["asked", "lockstep keys", { arguments: "remove ada" }, undefined],
        ["done", "lockstep keys", { arguments: "remove ada" }, false],
      ],
    );
    const name = userInfo().username;
    assert.deepEqual(lines[0]?.["who"], { kind: "terminal", id: name, name, role: "admin" });
  });

  const WRONG: readonly [args: string[], sentence: RegExp][] = [
    [["add", "x"], /Say what the key is for: --role read \| operate \| admin/],
    [["add", "x", "--role", "read", "--expires", "soon"], /a day like 2027-01-01/],
    [["add", "--role", "read"], /Say which key: lockstep keys add NAME/],
    [["add", "<b>", "--role", "read"], /name of a key must be/],
    [["add", "x", "--role", "operate"], /first key must have the role 'admin'.*lockstep keys add NAME --role admin/],
    [["frob", "x"], /There is no 'keys frob'\. Accepted: list, add, remove/],
  ];
  for (const [args, sentence] of WRONG) {
    it(`bad input gets a sentence: ${args.join(" ")}`, async () => {
      const { code, out, err } = await commands.call(["keys", ...args]);
      assert.deepEqual([code, out], [2, ""]);
      assert.match(err, sentence);
    });
  }

  it("is heeded by a server that runs, from one request to the next", async () => {
    const storage = { PERSISTENT_STORAGE_PATH: join(folder, "served"), PORT: "0" };
    const server = startCommand(folder, ["serve"], storage);
    try {
      const url = await listening(server);
      const status = async (key?: string): Promise<number> => {
        const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
        const response = await fetch(`${url}/v2/domains?format=json`, { headers });
        await response.arrayBuffer();
        return response.status;
      };
      assert.equal(await status(), 200);
      const adding = startCommand(folder, ["keys", "add", "first", "--role", "admin"], storage);
      let key = "";
      adding.stdout?.on("data", (bytes) => {
        key += bytes;
      });
      await once(adding, "close");
      assert.deepEqual([await status(), await status(key.trim())], [401, 200]);
      await once(startCommand(folder, ["keys", "remove", "first"], storage), "close");
      assert.deepEqual([await status(), await status(key.trim())], [401, 401]);
    } finally {
      server.kill("SIGTERM");
      await once(server, "close");
    }
  });

  async function listening(server: ChildProcess): Promise<string> {
    assert.ok(server.stdout);
    for await (const line of createInterface({ input: server.stdout })) {
      const url = /listens on (\S+)/.exec(line)?.[1];
      if (url !== undefined) return url;
    }
    return assert.fail("the server did not start");
  }
});

// A reader process that was taken over reaches no file, network, environment or process.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it, type TestContext } from "node:test";
import { confinement, readerCommand } from "../../src/extract/reader/reader-command.ts";
import { makePdf } from "./make-pdf.ts";
import { writeFiles } from "./write-files.ts";

const { through } = confinement();
const CANNOT = through.length === 0 && "this system gives a process no namespaces of its own";
const SEES_OTHERS = !through.includes("-p") && "this system gives a process no pid namespace of its own";
const HOLD_READER = join(import.meta.dirname, "hold-reader.ts");

/** What a document that took a reader over could run. */
async function runAsReader(script: string): Promise<Record<string, string>> {
  const { execPath, execArgv, env } = readerCommand();
  const child = spawn(execPath, [...execArgv, "--input-type=module", "-e", script], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  return JSON.parse(await text(child.stdout));
}

/** Names of attempts, and the error each ended with; "" for one that went well. */
const tried = (attempts: Readonly<Record<string, string>>): string => `
  const outcomes = {};
  const attempt = async (name, work) => { outcomes[name] = await work().then(() => "", (error) => error.code ?? error.cause?.code ?? String(error)); };
  ${Object.entries(attempts)
    .map(([name, code]) => `await attempt(${JSON.stringify(name)}, async () => { ${code} });`)
    .join("\n")}
  process.stdout.write(JSON.stringify(outcomes));`;

async function listen(t: TestContext): Promise<string> {
  const server = createServer((_, response) => response.end("reached"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe("a reader that was taken over", () => {
  it("reads our code, and no file of the machine, not even the one beside it", async (t) => {
    const path = await writeFiles(t, { secret: "the plan" });
    const outcomes = await runAsReader(
      tried({
        code: `await (await import("node:fs/promises")).readFile(${JSON.stringify(import.meta.dirname)} + "/../../src/extract/extractor.ts")`,
        passwords: `await (await import("node:fs/promises")).readFile("/etc/passwd")`,
        document: `await (await import("node:fs/promises")).readFile(${JSON.stringify(path("secret"))})`,
        settings: `await (await import("node:fs/promises")).readFile("/proc/${process.pid}/environ")`,
        own: `await (await import("node:fs/promises")).readFile("/proc/self/environ")`,
        write: `await (await import("node:fs/promises")).writeFile(${JSON.stringify(path("secret"))}, "x")`,
        start: `(await import("node:child_process")).spawn("/bin/true")`,
      }),
    );
    assert.deepEqual(outcomes, {
      code: "",
      passwords: "ERR_ACCESS_DENIED",
      document: "ERR_ACCESS_DENIED",
      settings: "ERR_ACCESS_DENIED",
      own: "ERR_ACCESS_DENIED",
      write: "ERR_ACCESS_DENIED",
      start: "ERR_ACCESS_DENIED",
    });
  });

  it("knows nothing of the environment", async () => {
    const script = "process.stdout.write(JSON.stringify(process.env))";
    const names = Object.keys(await runAsReader(script));
    assert.deepEqual(
      names.filter((name) => name !== "SystemRoot"),
      [],
    );
  });

  it("has no network, where the system can take it away", { skip: CANNOT }, async (t) => {
    const outcomes = await runAsReader(tried({ network: `await fetch(${JSON.stringify(await listen(t))})` }));
    assert.match(outcomes["network"] ?? "", /ENETUNREACH|ECONNREFUSED|EADDRNOTAVAIL/);
  });

  it("has no rights over its parent, not even beneath what Node forbids", { skip: CANNOT }, async () => {
    const [command = "", ...args] = through;
    assert.ok((await readFile(`/proc/${process.pid}/environ`)).length > 0);
    const child = spawn(command, [...args, "/bin/cat", `/proc/${process.pid}/environ`], {
      env: {},
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    assert.deepEqual([out, /ermission denied|No such file/.test(err)], ["", true], err);
  });

  it("neither sees nor signals another process of the account", { skip: SEES_OTHERS }, async (t) => {
    const sibling = spawn("/bin/cat", { stdio: ["pipe", "ignore", "ignore"] });
    t.after(() => sibling.kill("SIGKILL"));
    await once(sibling, "spawn");
    const signal = (pid: number): string => `process.kill(${pid}, "SIGTERM")`;
    const outcomes = await runAsReader(tried({ sibling: signal(sibling.pid ?? 0), server: signal(process.pid) }));
    assert.deepEqual(outcomes, { sibling: "ESRCH", server: "ESRCH" });
    sibling.stdin.end();
    assert.deepEqual(await once(sibling, "exit"), [0, null]);
    const [command = "", ...args] = through;
    const list = spawn(command, [...args, "/bin/ls", "/proc"], { env: {}, stdio: ["ignore", "pipe", "inherit"] });
    assert.deepEqual((await text(list.stdout)).match(/^\d+$/gm), ["1", "2"]);
  });
});

describe("where the system gives fewer namespaces, files are read all the same", () => {
  for (const kind of ["user", "pid"]) {
    it(`no ${kind} namespaces`, { skip: CANNOT }, async (t) => {
      const path = await writeFiles(t, { "a.pdf": makePdf({ pages: [[{ text: "Opening hours", y: 700 }]] }) });
      const limit = `echo 0 > /proc/sys/user/max_${kind}_namespaces && exec "$@"`;
      const args = ["-U", "-r", "--", "/bin/sh", "-c", limit, "sh", process.execPath, HOLD_READER, path("a.pdf")];
      const child = spawn("unshare", args, { stdio: ["ignore", "pipe", "inherit"] });
      assert.equal(await text(child.stdout), "30\n");
    });
  }
});

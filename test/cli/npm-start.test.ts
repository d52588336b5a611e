// A signal to `npm start` ends the server, and its crawl is cancelled.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { DOMAIN, World } from "../engine/world.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The npm that runs the tests, if one does. */
const NPM = process.env["npm_execpath"];
const skip = process.platform === "win32" ? "there are no signals" : false;

const world = await World.open();
after(() => world.close());

for (const signal of ["SIGTERM", "SIGKILL"] as const) {
  test(`${signal} to 'npm start' ends the server, and its crawl is cancelled`, { skip }, async (t) => {
    await world.change("add", { path: `${signal}.txt`, text: "The quagga budget is 12 euros." });
    await world.fault({ url: "\\$value", times: "always" }, { delayMs: 600_000 });
    const [program, args] = NPM ? [process.execPath, [NPM, "start"]] : ["npm", ["start"]];
    const npm = spawn(program, [...args, "--", "--port", "0"], {
      cwd: ROOT,
      env: { PATH: process.env["PATH"] ?? "", HOME: world.storage, ...world.settings },
    });
    t.after(() => npm.kill("SIGKILL"));
    let output = "";
    for (const stream of [npm.stdout, npm.stderr]) {
      stream.on("data", (bytes: Buffer) => {
        output += bytes.toString();
      });
    }
    // Whoever can write to its output has ended by then: the server, too.
    const ended = once(npm, "close");
    while (!/listens on \S+/.test(output)) {
      assert.equal(npm.exitCode, null, output);
      await Promise.race([once(npm.stdout, "data"), ended]);
    }
    const url = /listens on (\S+)/.exec(output)?.[1] ?? assert.fail(output);
    const crawl = await fetch(`${url}/v2/crawler/crawl?domain_id=${DOMAIN}&mode=incremental&format=stream`);
    for await (const bytes of crawl.body ?? []) if (/start_json/.test(Buffer.from(bytes).toString())) break;
    npm.kill(signal);
    await ended;
    const [job] = await world.app.jobs.list();
    assert.deepEqual([job?.state, job?.result?.error], ["cancelled", "Server stopped."], output);
    await world.control("DELETE", "faults");
  });
}

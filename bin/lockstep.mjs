#!/usr/bin/env node
// Plain JavaScript on purpose: it must run on any Node, to find the Node 24 the project carries or say what is missing.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";

// Short-lived objects get less room than they would: that costs nothing that could be measured, and saves some 50 MB at the peak of a sync.
const FLAGS = ["--max-semi-space-size=16"];

// By this signal Node opens its debugger, to anybody who may send it: also to what a document made of one of our processes.
process.on("SIGUSR1", () => undefined);

const major = Number(process.versions.node.split(".")[0]);
if (major >= 24) {
  const end = () => process.emit("SIGTERM", "SIGTERM") || process.exit(143);
  endWithStarter(end);
  endWithNpm(end);
  // Uncollected garbage is most of what a large crawl takes: it is collected earlier, which costs some processor time.
  setFlagsFromString("--heap-growing-percent=30");
  // What one start has compiled, the next one need not: it halves the start. Where nothing can be written, nothing is kept.
  nodeModule.enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/node", import.meta.url)));
  await import("../src/cli/main.ts");
} else {
  rerun(carriedNode());
}

/** The runtime that `npm ci` put beside us as an optional dependency. */
function carriedNode() {
  const windows = process.platform === "win32";
  const name = `node-${windows ? "win" : process.platform}-${process.arch}`;
  const file = windows ? "bin/node.exe" : "bin/node";
  return fileURLToPath(new URL(`../node_modules/${name}/${file}`, import.meta.url));
}

function rerun(node) {
  if (!existsSync(node)) {
    process.stderr.write(
      `lockstep needs Node 24 or newer; this is Node ${process.versions.node}.\n` +
        "Run `npm ci` (it brings Node 24 on Linux and Windows) or install Node 24 from nodejs.org.\n",
    );
    process.exit(1);
  }
  const stdio = ["inherit", "inherit", "inherit", "ipc"];
  const child = spawn(node, [...FLAGS, fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  endWithNpm(() => child.kill("SIGTERM"));
  child.on("exit", (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
}

/**
 * A starter that is killed cannot pass the signal on; the channel to it breaks however it ends. Nothing is ever sent
 * over it, and it keeps nothing alive.
 */
function endWithStarter(end) {
  if (!process.channel) return;
  process.once("disconnect", end);
  process.channel.unref();
}

/**
 * `npm start` and `npx` run us in a shell, and a signal ends npm and that shell without reaching us: we look whether both are still
 * there. Where npm tells of another script, which may leave us behind on purpose, we do not.
 */
function endWithNpm(end) {
  const { npm_package_json: ofPackage, npm_lifecycle_event: event, npm_lifecycle_script: script = "" } = process.env;
  const isOurScript =
    ofPackage === fileURLToPath(new URL("../package.json", import.meta.url)) && script.includes("bin/lockstep.mjs");
  const isStarted = isOurScript || (event === "npx" && /(?:^|[\s/])lockstep(?:\s|$)/.test(script));
  if (process.platform === "win32" || !isStarted) return;
  const starter = process.ppid;
  // Some shells become what they run; then npm started us itself, and who started npm may go.
  const isShell = processOf(starter).command.includes(script);
  const starterOfShell = processOf(starter).ppid;
  // What the system does not tell (NaN) is no change.
  const isLeft = () => isShell && Math.abs(processOf(starter).ppid - starterOfShell) > 0;
  const timer = setInterval(() => {
    if (process.ppid === starter && !isLeft()) return;
    clearInterval(timer);
    end();
  }, 1000);
  timer.unref();
}

function processOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    // The name in parentheses may hold anything; the parent is the 2nd field after it.
    return { ppid: Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]), command };
  } catch {
    const { stdout } = spawnSync("ps", ["-o", "ppid=,args=", "-p", String(pid)], { encoding: "utf8" });
    const [, ppid, command = ""] = /^\s*(\d+) (.*)/.exec(stdout ?? "") ?? [];
    return { ppid: Number(ppid), command };
  }
}

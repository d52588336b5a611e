#!/usr/bin/env node
// Plain JavaScript on purpose: it must run on any Node, to find the one the project carries or say what is missing.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";
import { setFlagsFromString } from "node:v8";

// Short-lived objects get less room than they would: that costs nothing that could be measured, and saves some 50 MB at the peak of a sync.
const FLAGS = ["--max-semi-space-size=16"];

// By this signal Node opens its debugger, to anybody who may send it: also to what a document made of one of our processes.
process.on("SIGUSR1", () => undefined);

if (isRecent(process.versions.node)) {
  const end = () => process.emit("SIGTERM", "SIGTERM") || process.exit(143);
  endWithStarter(end);
  endWithNpm(end);
  // Uncollected garbage is most of what a large crawl takes: it is collected earlier, which costs some processor time.
  setFlagsFromString("--heap-growing-percent=30");
  // What one start has compiled, the next one need not: it halves the start. Where nothing can be written, nothing is kept.
  nodeModule.enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/node", import.meta.url)));
  // A checkout runs as it is; the package has what `npm run build` made of it.
  const isCheckout = existsSync(fileURLToPath(new URL("../src/cli/main.ts", import.meta.url)));
  await import(isCheckout ? "../src/cli/main.ts" : "../dist/cli/main.js");
} else {
  rerun(carriedNode());
}

/** As `engines` in package.json has it, which names one version: no older one has been tried. */
function isRecent(version) {
  const numbers = (text) => text.split(".").map(Number);
  const [wanted, given] = [numbers(oldestNode()), numbers(version)];
  const differing = wanted.findIndex((number, i) => number !== given[i]);
  return differing === -1 || given[differing] > wanted[differing];
}

function oldestNode() {
  return JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).engines.node.replace(">=", "");
}

/** The runtime that npm put beside us as an optional dependency; undefined where it did not. */
function carriedNode() {
  const windows = process.platform === "win32";
  const name = `node-${windows ? "win" : process.platform}-${process.arch}`;
  try {
    const { resolve } = nodeModule.createRequire(import.meta.url);
    return resolve(`${name}/bin/${windows ? "node.exe" : "node"}`);
  } catch {
    return undefined;
  }
}

function rerun(node) {
  if (!node) refuse();
  const stdio = ["inherit", "inherit", "inherit", "ipc"];
  const child = spawn(node, [...FLAGS, fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  endWithNpm(() => child.kill("SIGTERM"));
  // It is made for another C library, as on Alpine.
  child.on("error", refuse);
  child.on("exit", (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
}

function refuse() {
  process.stderr.write(
    `lockstep needs Node ${oldestNode()} or newer; this is Node ${process.versions.node}.\n` +
      "Install it with its optional dependencies (they bring that Node on Linux and Windows), or get Node from nodejs.org.\n",
  );
  process.exit(1);
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
  const isStarted = isOurScript || (event === "npx" && /(?:^|[\s/'"])lockstep(?:[\s'"]|$)/.test(script));
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

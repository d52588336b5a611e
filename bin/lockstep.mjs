#!/usr/bin/env node
// Plain JavaScript on purpose: it must run on any Node, to find the Node 24 the project carries or say what is missing.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";

// Short-lived objects get less room than they would: that costs nothing that could be measured, and saves some 50 MB at the peak of a sync.
const FLAGS = ["--max-semi-space-size=16"];

const major = Number(process.versions.node.split(".")[0]);
if (major >= 24) {
  endWithStarter();
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
  child.on("exit", (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
}

/**
 * A starter that is killed cannot pass the signal on; the channel to it breaks however it ends. Nothing is ever sent
 * over it, and it keeps nothing alive.
 */
function endWithStarter() {
  if (!process.channel) return;
  process.once("disconnect", () => {
    if (!process.emit("SIGTERM", "SIGTERM")) process.exit(143);
  });
  process.channel.unref();
}

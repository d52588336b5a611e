#!/usr/bin/env node
// Plain JavaScript on purpose: it must run on any Node, to find the Node 24 the project carries or say what is missing.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const major = Number(process.versions.node.split(".")[0]);
if (major >= 24) {
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
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
}

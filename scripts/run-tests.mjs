import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, globSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir, totalmem } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromiumPath } from "../test/browser/open-browser.ts";

// Loading the product costs a process a second: test files share one, a folder's dozen at a time, each as a suite of its own.
const FILES_A_PROCESS = 12;
// Of the folders that take most of the time, longest first: short ones are left for the end, where a core would be idle otherwise.
const FOLDERS = ["engine", "browser", "sources", "http", "backends", "cli", "stories", "index", "ledger", "postgres"];
const GIGABYTE = 1024 ** 3;
const memory = Math.min(process.constrainedMemory() || Infinity, totalmem());
// Three a core: tests wait a good deal, for pages and other processes. Each may take a gigabyte, with the browser or database that it starts.
const FILES_AT_ONCE = Math.max(2, Math.min(8, 3 * availableParallelism(), Math.floor(memory / GIGABYTE)));
const NOBODY = 65534;
// These come first because they take long, and those of a line share a process. Those of the last four lines change or
// measure what all in a process share.
const FIRST = [
  ["postgres/contract"],
  ["postgres/ledger"],
  ["recorded/recorded"],
  ["package/package", "package/release"],
  ["engine/kill"],
  ["cli/cli"],
  ["http/notation"],
  ["sources/source-contract-git"],
  ["engine/ingest-kill", "engine/rename"],
  ["engine/folder-histories", "engine/folder-stories"],
  ["engine/crawl-stories", "engine/safety-stories"],
  ["ledger/ledger"],
  ["engine/web-simulator", "engine/web-calendars"],
  ["postgres/pgvector", "postgres/pgvector-contract"],
  ["postgres/three-processes"],
  ["engine/folder-kill"],
  ["backends/embedded-many-stores", "backends/embedded-random"],
  ["sources/source-contract-blob", "sources/source-contract-web"],
  ["cli/keys", "cli/crawl-interrupted"],
  ["engine/misplaced"],
  ["index/swaps"],
  ["index/draft-crash", "index/embed-kill"],
  // It reads every row of every table, which others of its process must not do.
  ["postgres/erase-postgres"],
  ["queue/worker"],
  ...[["backends/embedded-restart"], ["backends/openai-kill"], ["index/parallel-processes"], ["index/large-bodies"]],
  ...[["http/load"], ["http/watchers"], ["http/slow-readers"], ["index/long-documents"], ["index/search-thread"]],
  ...[["engine/disk-full"], ["index/embed-proxy"], ["sources/web-render"], ["sources/blob-identity"]],
].map((names) => names.map((name) => `test/${name}.test.ts`));

// The test runner follows every promise, to tell which test an uncaught error belongs to: a fifth of the processor's time. That
// ends when all files are loaded; such an error then is the run's, in red.
const BEGINNING = `import asyncHooks from "node:async_hooks";
const { createHook } = asyncHooks;
let following;
asyncHooks.createHook = (callbacks) => (following = createHook(callbacks));
const { after, describe } = await import("node:test");
process.on("uncaughtExceptionMonitor", console.error).on("unhandledRejection", console.error);
const loaded = [];
const load = (file, url) => describe(file, async () => {
  loaded.push(import(url));
  await loaded.at(-1);
});
`;

// What a failed hook left open must not keep the run from ending.
const ENDING = `after(() => setTimeout(() => {
  process.stderr.write("Still open a minute after the last test: " + process.getActiveResourcesInfo().join(", ") + "\\n");
  process.exit(1);
}, 60_000).unref());
asyncHooks.createHook = createHook;
await Promise.all(loaded);
following.disable();
`;

const root = resolve(import.meta.dirname, "..");
const wanted = process.argv.slice(2);
const batches = makeFolder();
try {
  // Unpacked once, before several processes would do it at the same time.
  await chromiumPath();
  process.exitCode = await run(wanted.length > 0 ? wanted : writeBatches());
} finally {
  rmSync(batches, { recursive: true, force: true });
}

/** In memory where there is plenty: the tests make thousands of small files, and wait for the disk after each. */
function makeFolder() {
  const places = [...(hasMemoryForFiles() ? ["/dev/shm"] : []), tmpdir(), "/tmp", "/var/tmp"];
  for (const place of places) {
    const folder = mkdtempSync(join(place, "lockstep-tests-"));
    chmodSync(folder, 0o755);
    if (mayOthersRunIn(folder)) return folder;
    rmSync(folder, { recursive: true });
  }
  throw new Error(`PostgreSQL runs as 'nobody' when root runs the tests, who may run nothing in ${places.join(", ")}`);
}

function hasMemoryForFiles() {
  try {
    const { bavail, bsize } = statfsSync("/dev/shm");
    return memory >= 12 * GIGABYTE && bavail * bsize >= 6 * GIGABYTE;
  } catch {
    return false;
  }
}

/** PostgreSQL runs as another user when the tests run as root. */
function mayOthersRunIn(folder) {
  if (process.getuid?.() !== 0) return true;
  const probe = join(folder, "probe");
  writeFileSync(probe, "#!/bin/sh\n");
  chmodSync(probe, 0o755);
  return spawnSync(probe, { uid: NOBODY, gid: NOBODY }).status === 0;
}

async function run(files) {
  // Processes load the same modules: what one has compiled, the others need not.
  const NODE_COMPILE_CACHE = join(root, "node_modules/.cache/node");
  const child = spawn(
    process.execPath,
    ["--test", `--test-concurrency=${FILES_AT_ONCE}`, "--test-timeout=600000", ...files],
    { stdio: "inherit", cwd: root, env: { NODE_COMPILE_CACHE, ...process.env, TMPDIR: batches } },
  );
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  const [status] = await once(child, "exit");
  return status ?? 1;
}

/** The long ones come first, so that none is left running at the end while a core has nothing to do. */
function writeBatches() {
  const files = globSync("test/**/*.test.ts", { cwd: root })
    .map((file) => file.replaceAll("\\", "/"))
    .sort();
  const first = FIRST.flat();
  const unknown = first.filter((file) => !files.includes(file));
  if (unknown.length > 0) throw new Error(`scripts/run-tests.mjs names what is not there: ${unknown.join(", ")}`);
  const folders = Object.groupBy(
    files.filter((file) => !first.includes(file)),
    dirname,
  );
  const long = FOLDERS.map((folder) => `test/${folder}`);
  const inOrder = [...long, ...Object.keys(folders).filter((folder) => !long.includes(folder))];
  const groups = [...FIRST, ...inOrder.flatMap((folder) => cutEvenly(folders[folder]))];
  return groups.map((group, i) => {
    const file = join(batches, `${String(i).padStart(3, "0")}-${basename(dirname(group[0]))}.mjs`);
    const suites = group.map((test) => {
      const url = JSON.stringify(pathToFileURL(join(root, test)).href);
      return `load(${JSON.stringify(test)}, ${url});\n`;
    });
    writeFileSync(file, `${BEGINNING}${suites.join("")}${ENDING}`);
    return file;
  });
}

function cutEvenly(files) {
  const count = Math.ceil(files.length / FILES_A_PROCESS);
  return Array.from({ length: count }, (_, i) =>
    files.slice(Math.round((i * files.length) / count), Math.round(((i + 1) * files.length) / count)),
  );
}

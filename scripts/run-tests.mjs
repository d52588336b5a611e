import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

// Loading the product costs a process a second: test files share one, a folder's dozen at a time, each as a suite of its own.
const FILES_A_PROCESS = 12;
// Folders of long files, which would leave cores idle at the end.
const FILES_OF_LONG = 3;
const LONG = ["test/stories", "test/browser", "test/engine", "test/postgres", "test/queue"];
// More than two cores need: tests wait a good deal, for pages and other processes.
const FILES_AT_ONCE = 3;
// These have a process of their own: most because they take long, the last three because they change what all share.
const ALONE = [
  ...["cli/cli", "cli/keys", "cli/crawl-interrupted", "cli/doctor", "cli/steps", "cli/rename"],
  ...["engine/kill", "engine/ingest-kill", "engine/rename", "engine/crawl-stories", "engine/safety-stories"],
  ...["http/notation", "http/load", "http/watchers", "http/slow-readers"],
  ...["backends/embedded-many-stores", "backends/embedded-restart", "backends/openai-kill", "backends/embedded-random"],
  ...["index/swaps", "index/parallel-processes", "index/draft-crash", "index/embed-kill", "index/large-bodies"],
  ...["index/long-documents", "index/search-thread", "postgres/three-processes", "postgres/pgvector", "queue/worker"],
  ...["engine/disk-full", "index/embed-proxy", "sources/web-render"],
].map((name) => `test/${name}.test.ts`);

const root = resolve(import.meta.dirname, "..");
const wanted = process.argv.slice(2);
const batches = mkdtempSync(join(tmpdir(), "lockstep-tests-"));
try {
  process.exitCode = run(wanted.length > 0 ? wanted : writeBatches());
} finally {
  rmSync(batches, { recursive: true, force: true });
}

function run(files) {
  // Processes load the same modules: what one has compiled, the others need not.
  const NODE_COMPILE_CACHE = join(root, "node_modules/.cache/node");
  const { status } = spawnSync(
    process.execPath,
    ["--test", `--test-concurrency=${FILES_AT_ONCE}`, "--test-timeout=600000", ...files],
    { stdio: "inherit", cwd: root, env: { NODE_COMPILE_CACHE, ...process.env } },
  );
  return status ?? 1;
}

/** The long ones come first, so that none is left running at the end while a core has nothing to do. */
function writeBatches() {
  const files = globSync("test/**/*.test.ts", { cwd: root })
    .map((file) => file.replaceAll("\\", "/"))
    .sort();
  const unknown = ALONE.filter((file) => !files.includes(file));
  if (unknown.length > 0) throw new Error(`scripts/run-tests.mjs names what is not there: ${unknown.join(", ")}`);
  const folders = Object.groupBy(
    files.filter((file) => !ALONE.includes(file)),
    dirname,
  );
  const inOrder = [...LONG, ...Object.keys(folders).filter((folder) => !LONG.includes(folder))];
  const groups = [...ALONE.map((file) => [file]), ...inOrder.flatMap((folder) => cutEvenly(folder, folders[folder]))];
  return groups.map((group, i) => {
    const file = join(batches, `${String(i).padStart(3, "0")}-${basename(dirname(group[0]))}.mjs`);
    const suites = group.map((test) => {
      const url = JSON.stringify(pathToFileURL(join(root, test)).href);
      return `describe(${JSON.stringify(test)}, async () => { await import(${url}); });\n`;
    });
    writeFileSync(file, `import { describe } from "node:test";\n${suites.join("")}`);
    return file;
  });
}

function cutEvenly(folder, files) {
  const count = Math.ceil(files.length / (LONG.includes(folder) ? FILES_OF_LONG : FILES_A_PROCESS));
  return Array.from({ length: count }, (_, i) =>
    files.slice(Math.round((i * files.length) / count), Math.round(((i + 1) * files.length) / count)),
  );
}

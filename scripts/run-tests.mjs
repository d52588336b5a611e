import { spawnSync } from "node:child_process";
import { join } from "node:path";

// Some three hundred processes load the same modules: what one has compiled, the others need not.
const NODE_COMPILE_CACHE = join(import.meta.dirname, "../node_modules/.cache/node");
const wanted = process.argv.slice(2);
const files = wanted.length > 0 ? wanted : ["test/**/*.test.ts"];
const { status } = spawnSync(process.execPath, ["--test", "--test-concurrency=2", "--test-timeout=300000", ...files], {
  stdio: "inherit",
  env: { NODE_COMPILE_CACHE, ...process.env },
});
process.exitCode = status ?? 1;

import { spawnSync } from "node:child_process";
import { join } from "node:path";

// Some three hundred processes load the same modules: what one has compiled, the others need not.
const NODE_COMPILE_CACHE = join(import.meta.dirname, "../node_modules/.cache/node");
const wanted = process.argv.slice(2);
const files = wanted.length > 0 ? wanted : ["test/**/*.test.ts"];
// Three at a time also on two cores: browsers and command lines are mostly waited for.
const { status } = spawnSync(process.execPath, ["--test", "--test-concurrency=3", "--test-timeout=300000", ...files], {
  stdio: "inherit",
  env: { NODE_COMPILE_CACHE, ...process.env },
});
process.exitCode = status ?? 1;

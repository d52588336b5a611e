import { spawnSync } from "node:child_process";
import { cpSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

/** `dist/`: JavaScript with types of everything in `src/`, and the files beside it that the product reads (pages' assets, texts of the sandbox). */
const root = resolve(import.meta.dirname, "..");
const dist = join(root, "dist");

rmSync(dist, { recursive: true, force: true });
const compiler = join(root, "node_modules/typescript/bin/tsc");
const { status } = spawnSync(process.execPath, [compiler, "-p", "tsconfig.build.json"], {
  cwd: root,
  stdio: "inherit",
});
if (status === 0) {
  cpSync(join(root, "src"), dist, {
    recursive: true,
    filter: (path) => statSync(path).isDirectory() || !path.endsWith(".ts"),
  });
}
process.exitCode = status ?? 1;

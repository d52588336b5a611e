import { spawnSync } from "node:child_process";
import { cpSync, existsSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

/** `dist/`: JavaScript with types of everything in `src/`, and the files beside it that the product reads (pages' assets, texts of the sandbox). */
const root = resolve(import.meta.dirname, "..");
const dist = join(root, "dist");

const compiler = join(root, "node_modules/typescript/bin/tsc");
if (!existsSync(compiler)) {
  process.stderr.write("The compiler is not installed. Run 'npm ci' first: 'npm ci --omit=dev' leaves it out.\n");
  process.exit(1);
}
rmSync(dist, { recursive: true, force: true });
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

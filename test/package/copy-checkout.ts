import { execFile } from "node:child_process";
import { cp, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

export const ROOT = resolve(import.meta.dirname, "../..");

const COPIED = [
  ...["bin", "docs", "scripts/build.ts", "scripts/release.ts", "test/package", "bench", "eval"],
  ...[
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "tsconfig.build.json",
    ".npmrc",
    ".gitignore",
    ".env.example",
  ],
  ...["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"],
];

/** The checkout, but for `src/`, with the packages it has, where a build is in nobody's way. */
export async function copyCheckout(folder: string): Promise<void> {
  for (const name of COPIED) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
}

/** The npm that runs the tests, if one does. */
export function npm(...args: string[]): [string, string[]] {
  const script = process.env["npm_execpath"];
  return script ? [process.execPath, [script, ...args]] : ["npm", args];
}

/** As on a machine of somebody who has no settings, and no network. */
export function environment(home: string): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    TMPDIR: tmpdir(),
    npm_config_offline: "true",
    npm_config_update_notifier: "false",
    GIT_CONFIG_GLOBAL: join(home, "gitconfig"),
    GIT_CONFIG_NOSYSTEM: "1",
  };
}

export interface Ended {
  readonly code: number;
  readonly output: string;
}

/** Runs it to its end, in that folder; what it said on both streams. */
export async function run(
  [program, args]: readonly [string, readonly string[]],
  cwd: string,
  env = environment(cwd),
): Promise<Ended> {
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args, { cwd, env, maxBuffer: 2 ** 26 });
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code = 1, stdout = "", stderr = "" } = error as { code?: number; stdout?: string; stderr?: string };
    return { code, output: stdout + stderr };
  }
}

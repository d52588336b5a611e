import { spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Finding } from "../../contracts/finding.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const PROGRAM = fileURLToPath(new URL("./read-files.ts", import.meta.url));
const CODE = [join(ROOT, "src", "*"), join(ROOT, "package.json"), join(realpathSync(join(ROOT, "node_modules")), "*")];

/** A document that takes a reader over can read our code, write nothing and start nothing; what it is to read comes from its parent. */
const FLAGS = [
  "--permission",
  ...CODE.map((path) => `--allow-fs-read=${path}`),
  "--allow-worker",
  "--disable-sigusr1",
  "--disallow-code-generation-from-strings",
  "--max-old-space-size=640",
  "--max-semi-space-size=16",
  "--no-warnings",
];

/** How the program of a reader is started. */
export interface ReaderCommand {
  readonly program: string;
  readonly execPath: string;
  readonly execArgv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export function readerCommand(): ReaderCommand {
  const [execPath, ...execArgv] = [...confinement(), process.execPath, ...FLAGS] as [string, ...string[]];
  return { program: PROGRAM, execPath, execArgv, env: environment() };
}

/** What a process cannot be started without: on Windows at all, elsewhere where Node is installed in an unusual way. */
const TO_START =
  process.platform === "win32" ? ["SystemRoot"] : ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "NODE_ICU_DATA"];

function environment(): Record<string, string> {
  return Object.fromEntries(TO_START.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

const UNSHARE = ["/usr/bin/unshare", "/bin/unshare"].find((path) => existsSync(path));
const PROBE_MS = 5000;
let found: readonly string[] | undefined;

/**
 * What a program is started through so that it has no network, and cannot look into processes outside: user and network
 * namespaces of its own. Nothing where the system does not allow that, as in most containers.
 */
export function confinement(): readonly string[] {
  found ??= process.platform === "linux" && UNSHARE !== undefined ? probe([UNSHARE, "-U", "-n", "--"]) : [];
  return found ?? [];
}

/**
 * In a namespace even root reads only what its owner may, so the code has to be readable there. undefined: a probe that was cut
 * off, as on a machine that is too busy, says nothing; the next reader asks again.
 */
function probe(through: readonly [string, ...string[]]): readonly string[] | undefined {
  const [command, ...args] = through;
  const check = ["/bin/sh", "-c", 'test -r "$0" && test -x "$1"', PROGRAM, process.execPath];
  const { status } = spawnSync(command, [...args, ...check], { stdio: "ignore", env: {}, timeout: PROBE_MS });
  if (status === null) return undefined;
  return status === 0 ? through : [];
}

/** What `lockstep doctor` says of it. */
export function examineReaders(): Finding {
  const subject = "Readers of files";
  if (confinement().length > 0) {
    const detail =
      "They have no network and cannot look into other processes. Signals to processes of this account, and its Unix sockets, are not taken from them.";
    return { subject, outcome: "ok", detail, remedy: "" };
  }
  return {
    subject,
    outcome: "ok",
    detail: "They can reach the network: this system gives them no namespaces of their own (unshare -U -n).",
    remedy: "Allow user namespaces where files come from strangers, or run lockstep where it may reach little.",
  };
}

import { spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Finding } from "../../contracts/finding.ts";
import { moduleBeside } from "../../lib/module-beside.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const PROGRAM = fileURLToPath(moduleBeside(import.meta.url, "read-files"));
const CODE = [
  join(fileURLToPath(new URL("../../", import.meta.url)), "*"),
  join(ROOT, "package.json"),
  ...packagesFolders().map((folder) => join(folder, "*")),
];

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
  const [execPath, ...execArgv] = [...confinement().through, process.execPath, ...FLAGS] as [string, ...string[]];
  return { program: PROGRAM, execPath, execArgv, env: environment() };
}

/** Where our dependencies are: in the checkout, or, as installed, in the outermost folder of packages that we are in ourselves. Node asks for a link, too. */
function packagesFolders(): string[] {
  const [outermost] = /^.*?[\\/]node_modules(?=[\\/])/.exec(ROOT) ?? [];
  const folder = outermost ?? join(ROOT, "node_modules");
  return [...new Set([folder, realpathSync(folder)])];
}

/** What a process cannot be started without: on Windows at all, elsewhere where Node is installed in an unusual way. */
const TO_START =
  process.platform === "win32" ? ["SystemRoot"] : ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "NODE_ICU_DATA"];

function environment(): Record<string, string> {
  return Object.fromEntries(TO_START.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

const PROBE_MS = 5000;
/** By their full names: the environment of a reader has no PATH. */
const [SETPRIV, UNSHARE] = ["setpriv", "unshare"].map(
  (name) => [`/usr/bin/${name}`, `/bin/${name}`].find((path) => existsSync(path)) ?? name,
) as [string, string];

/** What a reader is started through, and what that keeps from it. */
interface Confinement {
  readonly through: readonly string[];
  readonly keeps: string;
}

/**
 * The best first. The first process of a pid namespace cannot be ended by signals from inside, and the watchdog ends a reader by one:
 * so a shell comes first, and tells of the signal by its exit code (128 and its number). Killing setpriv, or its parent, kills all.
 */
const CONFINEMENTS: readonly Confinement[] = [
  {
    through: [
      ...[SETPRIV, "--pdeathsig", "KILL"],
      ...[UNSHARE, "-U", "-n", "-p", "-f", "--kill-child", "--mount-proc", "--"],
      ...["/bin/sh", "-c", 'unset PWD OLDPWD SHLVL; "$@"; exit $?', "reader"],
    ],
    keeps: "They have no network, and neither see nor signal other processes.",
  },
  {
    through: [UNSHARE, "-U", "-n", "--"],
    keeps:
      "They have no network and cannot look into other processes; signals to processes of this account are not taken from them (setpriv, unshare -p --mount-proc).",
  },
];
const UNCONFINED: Confinement = { through: [], keeps: "" };
let found: Confinement | undefined;

/**
 * Namespaces of its own for a reader, as far as the system allows them; in most containers it does not. A probe that was cut off, as on a
 * machine that is too busy, says nothing; the next reader asks again.
 */
export function confinement(): Confinement {
  if (found) return found;
  if (process.platform !== "linux") return UNCONFINED;
  for (const one of CONFINEMENTS) {
    const outcome = probe(one.through);
    if (outcome === "cut off") return UNCONFINED;
    if (outcome === "works") {
      found = one;
      return one;
    }
  }
  found = UNCONFINED;
  return UNCONFINED;
}

/** In a namespace even root reads only what its owner may, so the code has to be readable there. */
function probe([command = "", ...args]: readonly string[]): "works" | "refused" | "cut off" {
  const check = ["/bin/sh", "-c", 'test -r "$0" && test -x "$1"', PROGRAM, process.execPath];
  const options = { stdio: "ignore", env: {}, timeout: PROBE_MS, killSignal: "SIGKILL" } as const;
  const { status, signal } = spawnSync(command, [...args, ...check], options);
  if (signal !== null) return "cut off";
  return status === 0 ? "works" : "refused";
}

/** What `lockstep doctor` says of it, and the server when it starts. */
export function examineReaders(): Finding {
  const { through, keeps } = confinement();
  const lacks =
    "They can reach the network and signal processes of this account: this system gives them no namespaces of their own (unshare -U -n).";
  const remedy = "Allow user namespaces where files come from strangers, or run lockstep where it may reach little.";
  const subject = "Readers of files";
  if (through.length === 0) return { subject, outcome: "ok", detail: lacks, remedy };
  return { subject, outcome: "ok", detail: `${keeps} Unix sockets in folders are not taken from them.`, remedy: "" };
}

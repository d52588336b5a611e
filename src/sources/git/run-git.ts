import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import type { Readable, Writable } from "node:stream";
import { BadInputError, RemoteError } from "../../contracts/errors.ts";
import type { GitAddress } from "./git-address.ts";

/** git exited with an error. Its message is input for explainGit(), and never shown as it is. */
export class GitFailure extends Error {
  override readonly name = "GitFailure";
}

interface GitOptions {
  /** The repository; without it, git uses none, whatever the working directory. */
  readonly gitDir?: string;
  readonly signal: AbortSignal;
  /** Whether it talks to a server: sends the token, and limits how long the server may be silent. */
  readonly isRemote?: true;
}

interface GitChild {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Rejects with GitFailure, the signal's reason, or a timeout. */
  readonly ended: Promise<void>;
  stop(): void;
}

/** Older versions cannot ignore the account's settings and take settings from the environment. */
const MIN_VERSION = [2, 32] as const;
const IDLE_TIMEOUT_MS = 120_000;
/** How long a stopped git may take to remove its temporary files before it is killed. */
const GRACE_MS = 3000;
const MAX_STDERR = 16_384;

/** Disables hooks, helpers and other protocols, whatever a repository or account configures. A redirect would send the token elsewhere. */
const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "credential.helper=",
  "http.followRedirects=false",
  "fetch.unpackLimit=1",
  "gc.auto=0",
  "maintenance.auto=false",
].flatMap((setting) => ["-c", setting]);

const SSH = "ssh -oBatchMode=yes -oConnectTimeout=30 -oServerAliveInterval=15 -oServerAliveCountMax=4";
const INHERITED = ["PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR"];
const INHERITED_FOR: Readonly<Record<GitAddress["protocol"], readonly string[]>> = {
  file: [],
  http: [],
  https: [
    ...["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"],
    ...["GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR"],
  ],
  ssh: ["HOME", "USERPROFILE", "USER", "LOGNAME", "SSH_AUTH_SOCK"],
};

/** Runs `git` for one repository, with its own environment, without terminal and prompts. */
export class Git {
  readonly #env: Readonly<Record<string, string>>;
  readonly #remoteEnv: Readonly<Record<string, string>>;
  readonly #secrets: readonly string[];
  #checked: Promise<void> | undefined;
  readonly idleTimeoutMs: number;

  /** `token`: "" for none; `user:token` if the server needs a user name. */
  constructor(
    address: GitAddress,
    variable: (name: string) => string | undefined,
    { token = "", idleTimeoutMs = IDLE_TIMEOUT_MS } = {},
  ) {
    const env: Record<string, string> = {
      // git must not read ~/.netrc of the account.
      HOME: tmpdir(),
      LC_ALL: "C",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_TERMINAL_PROMPT: "0",
      GIT_ASKPASS: "",
      SSH_ASKPASS: "",
      GIT_SSH_COMMAND: SSH,
      GIT_SSH_VARIANT: "ssh",
      GIT_ALLOW_PROTOCOL: address.protocol,
      GIT_LITERAL_PATHSPECS: "1",
      GIT_OPTIONAL_LOCKS: "0",
    };
    for (const name of [...INHERITED, ...INHERITED_FOR[address.protocol]]) {
      const value = variable(name);
      if (value !== undefined) env[name] = value;
    }
    const basic = Buffer.from(token.includes(":") ? token : `x-access-token:${token}`).toString("base64");
    this.#env = env;
    this.#remoteEnv =
      token === ""
        ? env
        : {
            ...env,
            GIT_CONFIG_COUNT: "1",
            GIT_CONFIG_KEY_0: `http.${new URL(address.location).origin}/.extraHeader`,
            GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
          };
    this.#secrets = token === "" ? [] : [basic, token, ...token.split(":").slice(1)].filter((text) => text !== "");
    this.idleTimeoutMs = idleTimeoutMs;
  }

  /** Throws unless a recent git is installed. Checks once. */
  async check(signal: AbortSignal): Promise<void> {
    this.#checked ??= this.#checkVersion(signal);
    try {
      await this.#checked;
    } catch (error) {
      this.#checked = undefined;
      throw error;
    }
  }

  async #checkVersion(signal: AbortSignal): Promise<void> {
    const text = (await this.run(["version"], { signal })).toString().trim();
    const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(text) ?? []).map(Number);
    if (major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1])) return;
    throw new BadInputError(
      `The git on this machine is too old (${text}); ${MIN_VERSION.join(".")} or later is needed.`,
    );
  }

  /** Returns the whole output. */
  async run(args: readonly string[], options: GitOptions): Promise<Buffer> {
    return Buffer.concat(await Array.fromAsync(this.stream(args, options)));
  }

  /** Yields the output. Ends normally only if git succeeded. */
  async *stream(args: readonly string[], options: GitOptions): AsyncGenerator<Buffer, void> {
    const child = this.start(args, options);
    child.stdin.end();
    try {
      yield* child.stdout as AsyncIterable<Buffer>;
      await child.ended;
    } finally {
      child.stop();
      await child.ended.catch(() => undefined);
    }
  }

  start(args: readonly string[], { gitDir = "/dev/null", signal, isRemote }: GitOptions): GitChild {
    signal.throwIfAborted();
    const child = spawn("git", [...SETTINGS, ...args], {
      // Any existing folder: GIT_DIR names the repository.
      cwd: tmpdir(),
      env: { ...(isRemote ? this.#remoteEnv : this.#env), GIT_DIR: gitDir },
      stdio: ["pipe", "pipe", "pipe"],
      // Own process group, so that the network helpers of git are stopped with it.
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    // Ignores EPIPE: if git exits early, `ended` reports why.
    child.stdin.on("error", () => undefined);
    const ended = this.#watch(child, signal, isRemote === true);
    // Avoids an unhandled rejection while the caller still reads stdout.
    ended.catch(() => undefined);
    return { stdin: child.stdin, stdout: child.stdout, ended, stop: () => stop(child) };
  }

  async #watch(child: Child, signal: AbortSignal, isRemote: boolean): Promise<void> {
    let stderr = "";
    let isIdle = false;
    const idleTimer = isRemote
      ? setTimeout(() => {
          isIdle = true;
          stop(child);
        }, this.idleTimeoutMs)
      : undefined;
    // Progress is written to stderr; the output of remote commands on stdout is short.
    child.stderr.on("data", (chunk: Buffer) => {
      idleTimer?.refresh();
      stderr = (stderr + chunk.toString()).slice(-MAX_STDERR);
    });
    const abort = (): void => stop(child);
    signal.addEventListener("abort", abort);
    try {
      const [code] = (await once(child, "close")) as [number | null];
      signal.throwIfAborted();
      if (isIdle) throw new RemoteError(`it sent nothing for ${this.idleTimeoutMs / 1000} seconds`);
      if (code !== 0) throw new GitFailure(this.#withoutSecrets(stderr) || `git ended with ${code ?? "a signal"}`);
    } catch (error) {
      if (isMissing(error)) throw new BadInputError(NO_GIT);
      throw error;
    } finally {
      clearTimeout(idleTimer);
      signal.removeEventListener("abort", abort);
    }
  }

  #withoutSecrets(text: string): string {
    return this.#secrets.reduce((redacted, secret) => redacted.replaceAll(secret, "…"), text);
  }
}

const NO_GIT = "There is no git on this machine (none in PATH), and repositories are read with it.";

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT" && "syscall" in error;
}

function stop(child: Child): void {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  kill(child, "SIGTERM");
  const timer = setTimeout(() => kill(child, "SIGKILL"), GRACE_MS);
  child.once("close", () => clearTimeout(timer));
  // Drained, because "close" is emitted only after stdout was read.
  child.stdout.resume();
}

function kill(child: Child, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    if (process.platform === "win32" || child.pid === undefined) child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // It exited meanwhile.
  }
}

import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError, NotFoundError, RemoteError } from "../../contracts/errors.ts";
import type { FileTree, SkippedFile, TreeFile, TreePage, UnreadableEntry } from "../../contracts/file-tree.ts";
import type { Finding } from "../../contracts/finding.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { limitBytes } from "../../lib/text.ts";
import { sentenceOf } from "../tree/create-object-tree.ts";
import { decoded } from "../tree/tree-kind.ts";
import { createTreeRules } from "../tree/tree-rules.ts";
import { fileAddress, type GitAddress, parseGitAddress } from "./git-address.ts";
import { GitClone, MissingObjectError, type TreeEntry } from "./git-clone.ts";
import type { GitTreeConfig } from "./git-source-codec.ts";
import { Git, GitFailure } from "./run-git.ts";

export interface GitTreeOptions {
  /** Throws unless the path is an existing folder in which sources may be. */
  readonly checkFolder: (path: string) => Promise<void>;
  /** Returns the value of an environment variable; undefined if it is not set. */
  readonly variable: (name: string) => string | undefined;
  /** Folder of the clone; a dry run only reads there. */
  readonly folder: string;
  readonly dryRun: boolean;
  /** How long a server may be silent; shorter in tests. */
  readonly idleTimeoutMs?: number;
}

const FILES_PER_PAGE = 1000;
const LINK = "120000";
const SUBMODULE = "160000";
/** Possible sizes of Git LFS pointers. */
const POINTER_BYTES = { min: 100, max: 1024 };
const POINTER = "version https://git-lfs.github.com/spec/";

/**
 * Opens a branch of a repository as a tree: the files of its last commit. Their blob ids are the stamps, so that only files at
 * new paths or with new content are read. The date of a file is that of the commit in which it was first seen so.
 */
export function createGitTree(config: GitTreeConfig, options: GitTreeOptions): FileTree {
  const { repository, branch } = config;
  const address = addressOf(repository);
  const location = branch === "" ? repository : `${repository} (branch ${branch})`;
  const folder = join(options.folder, "git");
  let git: Git | undefined;
  let clone: GitClone | undefined;
  const explain = (error: unknown): unknown => explainGit(error, location, { ...config, ...address });

  const open = async (signal: AbortSignal): Promise<Git> => {
    if (address.protocol === "file") {
      await options.checkFolder(address.location);
      await refuseLinkedWorkingTree(address.location);
    }
    git ??= new Git(address, options.variable, {
      token: readToken(config.credential, address, options.variable),
      ...options,
    });
    await git.check(signal);
    return git;
  };
  const readTip = async (signal: AbortSignal): Promise<RemoteTip> =>
    await findRemoteTip(await open(signal), address.location, branch, signal);
  const openClone = async (signal: AbortSignal): Promise<GitClone> => {
    const opened = await open(signal);
    clone ??= options.dryRun ? await GitClone.openTemporary(opened, folder, signal) : GitClone.open(opened, folder);
    return clone;
  };
  const idAt = async (path: string, from: GitClone, signal: AbortSignal): Promise<string> => {
    const bytes = Buffer.from(path);
    for await (const entry of from.entries(await from.tip(signal), signal, path)) {
      if (entry.path.equals(bytes) && isFile(entry)) return entry.id;
    }
    throw new NotFoundError(`There is no file '${path}' in ${location}.`);
  };

  return {
    location,
    identity: async () => "",
    async *walk(signal) {
      try {
        const tip = await readTip(signal);
        if (tip.commit === "") return "complete";
        const current = await openClone(signal);
        const { commit, committedAtMs } = await current.update({ ...tip, location: address.location, signal });
        const toPage = createPaging(config, current, committedAtMs, signal);
        let entries: TreeEntry[] = [];
        for await (const entry of current.entries(commit, signal)) {
          if (entries.push(entry) < FILES_PER_PAGE) continue;
          yield await toPage(entries);
          entries = [];
        }
        yield await toPage(entries);
        return "complete";
      } catch (error) {
        signal.throwIfAborted();
        throw explain(error);
      }
    },
    async *read(path, signal, stamp = "") {
      try {
        const from = await openClone(signal);
        const id = stamp || (await idAt(path, from, signal));
        yield* limitBytes(from.read(id, signal), config.maxFileBytes);
      } catch (error) {
        signal.throwIfAborted();
        throw error instanceof GitFailure ? explain(error) : error;
      }
    },
    addressOf: (path) => fileAddress(address, branch, path),
    async close() {
      await clone?.close();
      clone = undefined;
    },
    diagnose: (_isTaken, signal) => diagnoseRepository(config, { open, readTip, explain, signal }),
  };
}

function addressOf(repository: string): GitAddress {
  const address = parseGitAddress(repository);
  if (typeof address === "string") throw new BadInputError(`'repository' ${address}`);
  return address;
}

/** Refuses a linked working tree: its repository may be in a folder in which sources may not be. */
async function refuseLinkedWorkingTree(path: string): Promise<void> {
  const inner = await lstat(join(path, ".git")).catch(() => undefined);
  if (inner && !inner.isDirectory()) {
    throw new BadInputError(`'${path}' is a working tree whose repository lies elsewhere. Name that repository.`);
  }
}

function isFile({ mode }: TreeEntry): boolean {
  return mode !== LINK && mode !== SUBMODULE;
}

function createPaging(
  config: GitTreeConfig,
  clone: GitClone,
  modifiedAtMs: number,
  signal: AbortSignal,
): (entries: readonly TreeEntry[]) => Promise<TreePage> {
  const isIncluded = createTreeRules(config);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return async (entries) => {
    const files: TreeFile[] = [];
    const unreadable: UnreadableEntry[] = [];
    const skipped: SkippedFile[] = [];
    for (const entry of entries) {
      const path = decoder.decode(entry.path);
      if (!isIncluded(path)) continue;
      try {
        const reason = findReason(entry, path, config) ?? ((await isPointer(entry, clone, signal)) ? IS_POINTER : "");
        if (reason) skipped.push({ path, reason, ...(isLarge(entry, config) && { isTooLarge: true }) });
        else files.push({ path, size: entry.size ?? 0, modifiedAtMs, stamp: entry.id, node: "" });
      } catch (error) {
        if (!(error instanceof MissingObjectError)) throw error;
        unreadable.push({ kind: "unreadable", path, reason: error.message, what: "file" });
      }
    }
    return { folder: "", files, unreadable, skipped };
  };
}

const IS_POINTER = "It is a pointer of Git LFS; the document itself is not in the repository.";

/** Returns why an entry is skipped, as far as the listing shows. */
function findReason({ mode, size, path: bytes }: TreeEntry, path: string, config: GitTreeConfig): string | undefined {
  if (mode === LINK) return "It is a link, and links are not followed.";
  if (mode === SUBMODULE) return "It is a submodule; make it a source of its own.";
  if (!Buffer.from(path).equals(bytes)) return "Its name is not valid UTF-8.";
  // Such paths are only made by hand, to write outside of a working tree.
  if (path.split("/").some((part) => part === "" || part === "." || part === "..")) return "Its path is invalid.";
  return isLarge({ size }, config) ? `It has ${size} bytes; the limit is ${config.maxFileBytes}.` : undefined;
}

function isLarge({ size }: Pick<TreeEntry, "size">, { maxFileBytes }: GitTreeConfig): boolean {
  return size !== undefined && size > maxFileBytes;
}

/** Whether it is a pointer of Git LFS. Throws if the object is missing, also when git does not know its size. */
async function isPointer(
  { id, size = POINTER_BYTES.max }: TreeEntry,
  clone: GitClone,
  signal: AbortSignal,
): Promise<boolean> {
  if (size < POINTER_BYTES.min || size > POINTER_BYTES.max) return false;
  for await (const bytes of clone.read(id, signal)) {
    return Buffer.from(bytes.subarray(0, POINTER.length)).toString("latin1") === POINTER;
  }
  return false;
}

interface RepositoryChecks {
  /** Checks git, the token and the folder. */
  open(signal: AbortSignal): Promise<unknown>;
  readTip(signal: AbortSignal): Promise<RemoteTip>;
  explain(error: unknown): unknown;
  readonly signal: AbortSignal;
}

/** Checks git, access and branch. Fetches nothing: a repository may have gigabytes. */
async function* diagnoseRepository(
  { repository, credential }: GitTreeConfig,
  { open, readTip, explain: explainError, signal }: RepositoryChecks,
): AsyncGenerator<Finding, void> {
  const subject = `Repository ${repository}`;
  try {
    await open(signal);
  } catch (error) {
    const detail = sentenceOf(explainError(error));
    const remedy = /^(There is no git|The git on) /.test(detail) ? INSTALL_GIT : "";
    yield { subject: remedy ? "Git" : subject, outcome: "problem", detail, remedy };
    if (remedy)
      yield { subject, outcome: "not checked", detail: "Not checked before this is solved: Git.", remedy: "" };
    return;
  }
  try {
    const { commit, branch } = await readTip(signal);
    const named = branch ? `Its branch '${branch}'` : "Its default branch";
    const shown = credential ? ` with the token in ${credential}` : "";
    const detail = commit
      ? `${named} can be read${shown}; its last commit is ${commit.slice(0, 12)}.`
      : "It can be read, and has no commit yet.";
    yield { subject, outcome: "ok", detail, remedy: "" };
  } catch (error) {
    signal.throwIfAborted();
    yield { subject, outcome: "problem", detail: sentenceOf(explainError(error)), remedy: CORRECT };
  }
}

const INSTALL_GIT =
  "Ask an administrator of the server to install git 2.32 or later in the PATH of lockstep, and to restart lockstep.";
const CORRECT =
  "Correct 'repository', 'branch' or 'credential' in the domain's sources, or let the account that runs lockstep read it.";

/** Messages of git (in English) and of the programs it starts, with explanations. The first match counts. */
const REASONS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [
    /dubious ownership/,
    "it belongs to another account, and git does not read such repositories. Give it to the account that runs lockstep, or reach it by ssh:// or https://",
  ],
  [/could not resolve host/i, "there is no such host"],
  [/host key verification failed/i, "its host key is unknown to the account that runs lockstep: add it to known_hosts"],
  [
    /permission denied \(|too many authentication failures/i,
    "the host takes none of the ssh keys of the account that runs lockstep",
  ],
  [/cannot run ssh/i, "there is no ssh on this machine"],
  [/certificate|SSL|TLS/, "the TLS connection failed (certificate or protocol)"],
  [
    /redirect|returned error: 30\d/i,
    "it answers with a redirect, which is not followed. Write the address that it leads to; often that is the same one with .git at its end",
  ],
  [/returned error: 5\d\d/i, "the server has an error of its own; try again later"],
  [/returned error: 429/i, "too many requests; try again later"],
  [
    /failed to connect|couldn't connect|connection (refused|timed out|reset|closed)|network is unreachable/i,
    "it cannot be reached",
  ],
  [/no space left on device|disk quota exceeded/i, "the disk is full"],
  [/couldn't find remote ref/, "the branch was deleted during the fetch"],
];

const REFUSED =
  /authentication failed|could not read (username|password)|terminal prompts disabled|returned error: 40[13]|access denied|not authorized/i;
const ABSENT = /does not appear to be a git repository|not a git repository|not found|returned error: 404/i;

/** Explains a failure of git for users; quotes git only if the cause is unknown. Returns other errors unchanged. */
export function explainGit(error: unknown, location: string, { protocol, credential }: AccessUsed): unknown {
  const what = `Cannot read the repository ${location}`;
  if (error instanceof RemoteError) {
    return new RemoteError(`${what}: ${error.message.replace(/^read the folder '.*?': |\.$/g, "")}.`);
  }
  if (!(error instanceof GitFailure)) return error;
  const stderr = error.message;
  const known = REASONS.find(([pattern]) => pattern.test(stderr))?.[1];
  return new RemoteError(`${what}: ${known ?? reasonOf(stderr, protocol, credential)}.`);
}

interface AccessUsed {
  readonly protocol: string;
  /** Environment variable with the token; "": no token was sent. */
  readonly credential: string;
}

function reasonOf(stderr: string, protocol: string, credential: string): string {
  const isHttp = protocol.startsWith("http");
  if (REFUSED.test(stderr)) {
    return credential
      ? `the server refuses the token in ${credential}, or there is no such repository`
      : "there is no such repository, or it is not for everybody: name an environment variable with a token as 'credential'";
  }
  if (ABSENT.test(stderr)) {
    const hidden = isHttp
      ? credential
        ? `, or the token in ${credential} may not read it`
        : ", or it is not for everybody"
      : "";
    return `there is no such repository${hidden}`;
  }
  const lines = stderr.split(/[\r\n]+/).map((line) => line.replace(/\p{Cc}/gu, " ").trim());
  const last = lines.findLast((line) => /^(fatal|error): /.test(line)) ?? lines.findLast((line) => line !== "") ?? "";
  return `git says '${last.replace(/^(fatal|error): /, "").slice(0, 300)}'`;
}

/** Hosts that do not pass tokens on to owners of repositories. */
const WELL_KNOWN: ReadonlySet<string> = new Set([
  "github.com",
  "gitlab.com",
  "bitbucket.org",
  "dev.azure.com",
  "codeberg.org",
]);

/**
 * Returns `token` or `user:token` from the variable that a source names; "" for none. An editor of a domain could name any
 * variable and a host of their own. So a token for any other host has to name it: `https://token@git.example.com`.
 */
export function readToken(
  credential: string,
  { protocol, location }: GitAddress,
  variable: (name: string) => string | undefined,
): string {
  if (credential === "") return "";
  if (!protocol.startsWith("http")) {
    throw new BadInputError(
      "A 'credential' is for repositories at https:// alone; leave it empty. By ssh the keys of the account that runs lockstep count.",
    );
  }
  const text = variable(credential)?.trim();
  if (!text) {
    throw new BadInputError(
      `The environment variable ${credential}, which the source names as its credential, is not set.`,
    );
  }
  if (/[\p{Cc} ]/u.test(text)) {
    throw new BadInputError(`${credential} must hold a token, user:token, or https://user:token@host, without blanks.`);
  }
  const { origin, host, hostname } = new URL(location);
  if (!/^https?:\/\//i.test(text)) {
    if (WELL_KNOWN.has(host) || isLoopbackHost(hostname)) return text;
    throw new BadInputError(
      `${credential} holds a token alone, which is shown to ${[...WELL_KNOWN].join(", ")} only. For ${host} it has to hold https://token@${host}, or https://user:token@${host}.`,
    );
  }
  const address = URL.parse(text);
  if (address?.origin !== origin)
    throw new BadInputError(`The token in ${credential} is for another host than ${host}.`);
  const token = [address.username, address.password]
    .filter((part) => part !== "")
    .map(decoded)
    .join(":");
  if (token === "") throw new BadInputError(`${credential} must hold a token before the host: https://token@${host}.`);
  return token;
}

/** The commit a remote branch points to. */
interface RemoteTip {
  /** What is fetched: `HEAD` or the branch. */
  readonly ref: string;
  /** "": the repository has no branch, and so no files. */
  readonly commit: string;
  /** For messages; "" if the name of the default branch is unknown. */
  readonly branch: string;
}

const HEADS = "refs/heads/";
const NAMED = 5;

/** Asks the remote without fetching. `branch`: "" for the default branch. */
async function findRemoteTip(git: Git, location: string, branch: string, signal: AbortSignal): Promise<RemoteTip> {
  const list = async (...patterns: string[]): Promise<ReadonlyMap<string, string>> => {
    const args = ["ls-remote", "--symref", "--", location, ...patterns];
    const text = (await git.run(args, { signal, isRemote: true })).toString();
    const lines = text.split("\n").map((line) => line.split("\t"));
    // The line `ref: refs/heads/main<TAB>HEAD` names the default branch; another line has its commit.
    return new Map(
      lines.map(([id = "", ref = ""]) => (id.startsWith("ref: ") ? [`${ref} is`, id.slice(5)] : [ref, id])),
    );
  };
  const ref = branch === "" ? "HEAD" : HEADS + branch;
  const found = await list(ref);
  const commit = found.get(ref);
  const name = branch || (found.get("HEAD is") ?? "").replace(HEADS, "");
  if (commit !== undefined) return { ref, commit, branch: name };
  const branches = [...(await list()).keys()].flatMap((key) => (key.startsWith(HEADS) ? key.slice(HEADS.length) : []));
  if (branches.length === 0) return { ref, commit: "", branch: name };
  const named = branches.slice(0, NAMED).map((name) => `'${name}'`);
  const others = branches.length > NAMED ? `, and ${branches.length - NAMED} more` : "";
  const what =
    branch === "" ? "it has no default branch, so one has to be named as 'branch'" : `it has no branch '${branch}'`;
  throw new RemoteError(`${what}; there ${branches.length === 1 ? "is" : "are"} ${named.join(", ")}${others}`);
}

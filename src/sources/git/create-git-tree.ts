import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError, explain, NotFoundError, RemoteError } from "../../contracts/errors.ts";
import type { FileTree, TreeFile, TreePage, UnreadableEntry } from "../../contracts/file-tree.ts";
import type { Finding } from "../../contracts/finding.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { limitBytes } from "../../lib/text.ts";
import { createTreeRules } from "../tree/tree-rules.ts";
import { fileAddress, type GitAddress, parseGitAddress } from "./git-address.ts";
import { GitClone, MissingObjectError, type TreeEntry } from "./git-clone.ts";
import type { GitTreeConfig } from "./git-source-codec.ts";
import { Git, GitFailure } from "./run-git.ts";

export interface GitTreeOptions {
  /** Throws unless there is a folder at this path that sources may lie in. */
  readonly checkFolder: (path: string) => Promise<void>;
  /** What an environment variable holds; undefined when it is not set. */
  readonly variable: (name: string) => string | undefined;
  /** The copy of the repository is kept in it; a dry run only reads there. */
  readonly folder: string;
  readonly dryRun: boolean;
  /** How long a server may say nothing; tests have less patience. */
  readonly idleTimeoutMs?: number;
}

const FILES_PER_PAGE = 1000;
const LINK = "120000";
const SUBMODULE = "160000";
/** Pointers of Git LFS are shorter, and longer than the least that they have to say. */
const POINTER_BYTES = { min: 100, max: 1024 };
const POINTER = "version https://git-lfs.github.com/spec/";

/**
 * A branch of a repository as a tree: the files of its last commit, with the ids of their blobs as stamps, so that only what is at
 * a new path or has new content is read. The date of a file is that of the commit in which it was first seen so.
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

/** What a working tree points to may lie in a folder that sources may not. */
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
  const isLetIn = createTreeRules(config);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return async (entries) => {
    const files: TreeFile[] = [];
    const unreadable: UnreadableEntry[] = [];
    const skipped: { path: string; reason: string }[] = [];
    for (const entry of entries) {
      const path = decoder.decode(entry.path);
      if (!isLetIn(path)) continue;
      try {
        const reason = findReason(entry, path, config) ?? ((await isPointer(entry, clone, signal)) ? IS_POINTER : "");
        if (reason) skipped.push({ path, reason });
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

/** Why it is left out, as far as the listing tells. */
function findReason({ mode, size, path: bytes }: TreeEntry, path: string, config: GitTreeConfig): string | undefined {
  if (mode === LINK) return "It is a link, and links are not followed.";
  if (mode === SUBMODULE) return "It is a submodule; make it a source of its own.";
  if (!Buffer.from(path).equals(bytes)) return "Its name is not valid UTF-8.";
  // Only made by hand, or by somebody who wants to write elsewhere.
  if (path.split("/").some((part) => part === "" || part === "." || part === ".."))
    return "Its path is no path of files.";
  const isLarge = size !== undefined && size > config.maxFileBytes;
  return isLarge ? `It has ${size} bytes; the limit is ${config.maxFileBytes}.` : undefined;
}

/** Also throws when git cannot tell how large it is: then it cannot be read, either. */
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

interface Questions {
  /** Is there a git, a token, and a folder that may be read? */
  open(signal: AbortSignal): Promise<unknown>;
  readTip(signal: AbortSignal): Promise<RemoteTip>;
  explain(error: unknown): unknown;
  readonly signal: AbortSignal;
}

/** Everything between the program and the last commit. Nothing is fetched: that may be gigabytes. */
async function* diagnoseRepository(
  { repository, credential }: GitTreeConfig,
  { open, readTip, explain: explained, signal }: Questions,
): AsyncGenerator<Finding, void> {
  const subject = `Repository ${repository}`;
  try {
    await open(signal);
  } catch (error) {
    const detail = sentenceOf(explained(error));
    const remedy = /^(There is no git|The git on) /.test(detail) ? INSTALL_GIT : "";
    yield { subject: remedy ? "Git" : subject, outcome: "problem", detail, remedy };
    if (remedy)
      yield { subject, outcome: "not checked", detail: "Cannot be looked at before this is solved: Git.", remedy: "" };
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
    yield { subject, outcome: "problem", detail: sentenceOf(explained(error)), remedy: CORRECT };
  }
}

const INSTALL_GIT =
  "Whoever runs the server installs git 2.32 or later, where the PATH of lockstep has it, and starts lockstep again.";
const CORRECT =
  "Correct 'repository', 'branch' or 'credential' in the domain's sources, or let the account that runs lockstep read it.";

/** Never throws for what it finds, and other errors are none of its business. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof RemoteError || error instanceof BadInputError)) throw error;
  const text = explain(error);
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
}

/** What git (in English, as it is told to speak) and the programs it starts say, and what people are told. The first match counts. */
const REASONS: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [
    /dubious ownership/,
    "it belongs to another account, and git does not read such repositories. Give it to the account that runs lockstep, or reach it by ssh:// or https://",
  ],
  [/could not resolve host/i, "there is no such host"],
  [
    /host key verification failed/i,
    "the host is none that the account that runs lockstep knows: add it to its known_hosts",
  ],
  [
    /permission denied \(|too many authentication failures/i,
    "the host takes none of the ssh keys of the account that runs lockstep",
  ],
  [/cannot run ssh/i, "there is no ssh on this machine"],
  [/certificate|SSL|TLS/, "its certificate cannot be trusted, or its encryption not be used"],
  [
    /redirect|returned error: 30\d/i,
    "it answers with a redirect, which is not followed. Write the address that it leads to; often that is the same one with .git at its end",
  ],
  [/returned error: 5\d\d/i, "the server has trouble itself, and may answer later"],
  [/returned error: 429/i, "the server was asked too often, and may answer later"],
  [
    /failed to connect|couldn't connect|connection (refused|timed out|reset|closed)|network is unreachable/i,
    "it cannot be reached",
  ],
  [/no space left on device|disk quota exceeded/i, "the disk is full"],
  [/couldn't find remote ref/, "the branch went away while it was looked at"],
];

const REFUSED =
  /authentication failed|could not read (username|password)|terminal prompts disabled|returned error: 40[13]|access denied|not authorized/i;
const ABSENT = /does not appear to be a git repository|not a git repository|not found|returned error: 404/i;

/** For people; what git itself said only where nothing better is known. An error that is no failure of git is returned as it is. */
export function explainGit(error: unknown, location: string, { protocol, credential }: AccessUsed): unknown {
  const what = `Cannot read the repository ${location}`;
  if (error instanceof RemoteError) {
    return new RemoteError(`${what}: ${error.message.replace(/^look at the folder '.*?': |\.$/g, "")}.`);
  }
  if (!(error instanceof GitFailure)) return error;
  const stderr = error.message;
  const known = REASONS.find(([pattern]) => pattern.test(stderr))?.[1];
  return new RemoteError(`${what}: ${known ?? reasonOf(stderr, protocol, credential)}.`);
}

interface AccessUsed {
  readonly protocol: string;
  /** The name of the variable that holds the token; "": none was shown. */
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

/** Hosts whose owners do not pass tokens on to whoever has a repository there. */
const WELL_KNOWN: ReadonlySet<string> = new Set([
  "github.com",
  "gitlab.com",
  "bitbucket.org",
  "dev.azure.com",
  "codeberg.org",
]);

/**
 * `token` or `user:token`, from the variable that a source names; "" for none. Whoever edits a domain could name any variable and a
 * host of their own, so that a token for another host has to say itself which one: `https://token@git.example.com`.
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
    .map(decode)
    .join(":");
  if (token === "") throw new BadInputError(`${credential} must hold a token before the host: https://token@${host}.`);
  return token;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What a branch of a repository points to. */
interface RemoteTip {
  /** What is fetched: `HEAD`, or the branch. */
  readonly ref: string;
  /** "": the repository has no branch at all, so there is no file in it. */
  readonly commit: string;
  /** For people; "" where a repository does not say what its default branch is called. */
  readonly branch: string;
}

const HEADS = "refs/heads/";
const NAMED = 5;

/** Asks the other side, and fetches nothing. `branch`: "" for the default one. */
async function findRemoteTip(git: Git, location: string, branch: string, signal: AbortSignal): Promise<RemoteTip> {
  const list = async (...patterns: string[]): Promise<ReadonlyMap<string, string>> => {
    const args = ["ls-remote", "--symref", "--", location, ...patterns];
    const text = (await git.run(args, { signal, isRemote: true })).toString();
    const lines = text.split("\n").map((line) => line.split("\t"));
    // `ref: refs/heads/main` has no id, and is told of its name beside the line that has one.
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
  const named = branches.slice(0, NAMED).map((each) => `'${each}'`);
  const others = branches.length > NAMED ? `, and ${branches.length - NAMED} more` : "";
  const what =
    branch === "" ? "it has no default branch, so one has to be named as 'branch'" : `it has no branch '${branch}'`;
  throw new RemoteError(`${what}; there ${branches.length === 1 ? "is" : "are"} ${named.join(", ")}${others}`);
}

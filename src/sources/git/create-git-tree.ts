import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { FileTree, TreeFile, TreeHole, TreePage } from "../../contracts/file-tree.ts";
import { createTreeRules } from "../../detect/lineage/tree-rules.ts";
import { limitBytes } from "../../lib/limit-bytes.ts";
import { MissingObjectError } from "./blob-reader.ts";
import { examineRepository } from "./examine-repository.ts";
import { explainGit } from "./explain-git.ts";
import { findTip, type RemoteTip } from "./find-tip.ts";
import { fileAddress, type GitAddress, parseGitAddress } from "./git-address.ts";
import { GitCopy, type TreeEntry } from "./git-copy.ts";
import type { GitPlace } from "./git-source-codec.ts";
import { readToken } from "./read-token.ts";
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
  readonly silenceMs?: number;
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
export function createGitTree(config: GitPlace, options: GitTreeOptions): FileTree {
  const { repository, branch } = config;
  const address = addressOf(repository);
  const place = branch === "" ? repository : `${repository} (branch ${branch})`;
  const folder = join(options.folder, "git");
  let git: Git | undefined;
  let copy: GitCopy | undefined;
  const explain = (error: unknown): unknown => explainGit(error, place, { ...config, ...address });

  const open = async (signal: AbortSignal): Promise<Git> => {
    if (address.protocol === "file") {
      await options.checkFolder(address.location);
      await refuseElsewhere(address.location);
    }
    git ??= new Git(address, options.variable, {
      token: readToken(config.credential, address, options.variable),
      ...options,
    });
    await git.check(signal);
    return git;
  };
  const ask = async (signal: AbortSignal): Promise<RemoteTip> =>
    await findTip(await open(signal), address.location, branch, signal);
  const openCopy = async (signal: AbortSignal): Promise<GitCopy> => {
    const opened = await open(signal);
    copy ??= options.dryRun ? await GitCopy.openTemporary(opened, folder, signal) : GitCopy.open(opened, folder);
    return copy;
  };
  const idAt = async (path: string, from: GitCopy, signal: AbortSignal): Promise<string> => {
    const bytes = Buffer.from(path);
    for await (const entry of from.entries(await from.tip(signal), signal, path)) {
      if (entry.path.equals(bytes) && isFile(entry)) return entry.id;
    }
    throw new NotFoundError(`There is no file '${path}' in ${place}.`);
  };

  return {
    place,
    identity: async () => "",
    async *walk(signal) {
      try {
        const tip = await ask(signal);
        if (tip.commit === "") return "complete";
        const current = await openCopy(signal);
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
        const from = await openCopy(signal);
        const id = stamp || (await idAt(path, from, signal));
        yield* limitBytes(from.read(id, signal), config.maxFileBytes);
      } catch (error) {
        signal.throwIfAborted();
        throw error instanceof GitFailure ? explain(error) : error;
      }
    },
    addressOf: (path) => fileAddress(address, branch, path),
    async close() {
      await copy?.close();
      copy = undefined;
    },
    examine: (_isTaken, signal) => examineRepository(config, { open, ask, explain, signal }),
  };
}

function addressOf(repository: string): GitAddress {
  const address = parseGitAddress(repository);
  if (typeof address === "string") throw new BadInputError(`'repository' ${address}`);
  return address;
}

/** What a working tree points to may lie in a folder that sources may not. */
async function refuseElsewhere(path: string): Promise<void> {
  const inner = await lstat(join(path, ".git")).catch(() => undefined);
  if (inner && !inner.isDirectory()) {
    throw new BadInputError(`'${path}' is a working tree whose repository lies elsewhere. Name that repository.`);
  }
}

function isFile({ mode }: TreeEntry): boolean {
  return mode !== LINK && mode !== SUBMODULE;
}

function createPaging(
  config: GitPlace,
  copy: GitCopy,
  modifiedAtMs: number,
  signal: AbortSignal,
): (entries: readonly TreeEntry[]) => Promise<TreePage> {
  const isLetIn = createTreeRules(config);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return async (entries) => {
    const files: TreeFile[] = [];
    const unreadable: TreeHole[] = [];
    const skipped: { path: string; reason: string }[] = [];
    for (const entry of entries) {
      const path = decoder.decode(entry.path);
      if (!isLetIn(path)) continue;
      try {
        const reason = findReason(entry, path, config) ?? ((await isPointer(entry, copy, signal)) ? IS_POINTER : "");
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
function findReason({ mode, size, path: bytes }: TreeEntry, path: string, config: GitPlace): string | undefined {
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
  copy: GitCopy,
  signal: AbortSignal,
): Promise<boolean> {
  if (size < POINTER_BYTES.min || size > POINTER_BYTES.max) return false;
  for await (const bytes of copy.read(id, signal)) {
    return Buffer.from(bytes.subarray(0, POINTER.length)).toString("latin1") === POINTER;
  }
  return false;
}

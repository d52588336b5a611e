import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { explain } from "../../contracts/errors.ts";
import type { FileTree } from "../../contracts/file-tree.ts";
import type { Finding } from "../../contracts/finding.ts";
import { capital, joinFirst, limitBytes, plural, trimEnd } from "../../lib/text.ts";
import { createTreeRules } from "../tree/tree-rules.ts";
import { type FolderRoot, type FolderTreeOptions, openRoot } from "./folder-root.ts";
import type { FolderSourceConfig } from "./folder-source-codec.ts";
import { LocalDevices } from "./local-devices.ts";
import { readLocalFile } from "./read-local-file.ts";
import { createStatFiles, type WalkOptions, walkFolder, walkOnly } from "./walk-folder.ts";

/** Opens a local folder, or a mounted share, as a tree. */
export function createFolderTree(config: FolderSourceConfig, options: FolderTreeOptions): FileTree {
  const { root: location, gitignore, maxFileBytes, ignoreInodes = false } = config;
  const rules = createTreeRules(config);
  const devices = new LocalDevices();
  const statFiles = createStatFiles(devices);
  // Files are read below the root that was walked.
  let opened: Promise<FolderRoot> | undefined;
  const walkWith = async (signal: AbortSignal): Promise<WalkOptions> => {
    opened = openRoot(location, options);
    const root = await opened;
    return { root, rules, gitignore, maxFileBytes, ignoreInodes, devices, statFiles, signal };
  };
  const url = trimEnd(pathToFileURL(location).href, "/");
  const rawUrl = `file://${trimEnd(join(location), "/")}`;
  const tree: FileTree = {
    location,
    identity: async () => (await openRoot(location, options)).identity,
    async *walk(signal, below) {
      const walk = await walkWith(signal);
      // A .gitignore applies to everything below it, so the folders above have to be read, too.
      return yield* below && !gitignore ? walkOnly(walk, below) : walkFolder(walk);
    },
    async *read(path, signal, stamp = "") {
      opened ??= openRoot(location, options);
      const root = (await opened).path;
      yield* limitBytes(
        readLocalFile(join(root, path), { root, stamp, ignoreInodes, devices, signal }),
        config.maxFileBytes,
      );
    },
    localPath: (path) => join(location, path),
    addressOf: (path) => ({ url: `${url}/${encodePath(path)}`, rawUrl: `${rawUrl}/${path}` }),
    async sayLeftOut(path, signal) {
      // A tree with a .gitignore is walked from its root: not for a name that nothing has.
      if (path.split("/").includes("..") || !(await lstat(join(location, path)).catch(() => undefined)))
        return undefined;
      const folder = path.slice(0, Math.max(0, path.lastIndexOf("/")));
      const ignored = gitignore ? "A .gitignore names it, or its folder." : undefined;
      for await (const page of tree.walk(signal, new Set([folder]))) {
        if (page.folder !== folder) continue;
        if (page.files.some((file) => file.path === path)) return undefined;
        return page.skipped.find((one) => one.path === path)?.reason ?? ignored;
      }
      return ignored;
    },
    diagnose: (isTaken, signal) => diagnoseFolder(config, tree, isTaken, signal),
  };
  return tree;
}

/** Skips encoding where nothing needs it: every sighting has a URL, and most paths are plain. */
function encodePath(path: string): string {
  if (/^[\w./-]*$/.test(path)) return path;
  return encodeURIComponent(path.toWellFormed()).replaceAll("%2F", "/");
}

const COUNT_TIMEOUT_MS = 2000;

/** Checks that the folder exists, is readable and has files. Counting stops after a time limit. */
async function* diagnoseFolder(
  config: FolderSourceConfig,
  tree: FileTree,
  isTaken: (path: string) => boolean,
  signal: AbortSignal,
): AsyncGenerator<Finding, void> {
  const subject = `Folder '${config.root}'`;
  try {
    yield { subject, ...toFinding(config, await countFiles(tree, isTaken, signal)) };
  } catch (error) {
    const remedy = "Correct 'root', mount the share, or give the account that runs lockstep the right to read it.";
    const detail = capital(explain(error).replace(/^read the folder '.*?': /, ""));
    yield { subject, outcome: "problem", detail, remedy };
  }
}

interface FileCounts {
  readonly files: number;
  /** Files of types that are not accepted. */
  readonly others: number;
  readonly isAll: boolean;
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
  readonly unreadable: readonly { readonly path: string; readonly reason: string }[];
}

async function countFiles(
  tree: FileTree,
  isTaken: (path: string) => boolean,
  signal: AbortSignal,
): Promise<FileCounts> {
  const skipped: FileCounts["skipped"] = [];
  const unreadable: FileCounts["unreadable"][number][] = [];
  const count = { files: 0, others: 0, isAll: true, skipped, unreadable };
  const deadline = performance.now() + COUNT_TIMEOUT_MS;
  for await (const page of tree.walk(signal)) {
    const taken = page.files.filter(({ path }) => isTaken(path)).length;
    count.files += taken;
    count.others += page.files.length - taken;
    if (count.skipped.length === 0) count.skipped = page.skipped;
    count.unreadable.push(...page.unreadable.filter(({ what }) => what !== "link"));
    if (performance.now() < deadline) continue;
    count.isAll = false;
    break;
  }
  return count;
}

const UNREADABLE_NAMED = 5;

function toFinding(
  { include, exclude }: FolderSourceConfig,
  { files, others, isAll, skipped, unreadable }: FileCounts,
): Pick<Finding, "outcome" | "detail" | "remedy"> {
  if (unreadable.length > 0) {
    const names = unreadable.map(({ path, reason }) => `'${path}' (${reason})`);
    return {
      outcome: "problem",
      detail: `Cannot be read, so what is known there is kept: ${joinFirst(names, UNREADABLE_NAMED)}.`,
      remedy:
        "Give the account that runs lockstep the right to read it, rename what has a name that is not UTF-8, or exclude it.",
    };
  }
  const skippedTypes =
    others > 0 ? `${plural(others, "file")} of other types ${others === 1 ? "is" : "are"} left out.` : "";
  if (files === 0 && others > 0 && isAll) {
    const detail = `No file in it is of a type that is taken; ${skippedTypes}`;
    return { outcome: "problem", detail, remedy: "" };
  }
  if (files === 0 && isAll)
    return { outcome: "problem", ...explainEmpty(include.length + exclude.length > 0, skipped) };
  const count = `${isAll ? "Has" : "Has at least"} ${plural(files, "file")} that the source takes.`;
  return { outcome: "ok", detail: [count, skippedTypes].filter(Boolean).join(" "), remedy: "" };
}

function explainEmpty(hasRules: boolean, skipped: FileCounts["skipped"]): Pick<Finding, "detail" | "remedy"> {
  const [example] = skipped;
  if (example) return { detail: `Nothing is included; '${example.path}' was left out: ${example.reason}`, remedy: "" };
  return hasRules
    ? {
        detail: "Nothing in it matches include and exclude.",
        remedy: 'Correct them: "*.md" is every such file, "docs/**" is all below docs.',
      }
    : { detail: "There is no file in it.", remedy: "Names that begin with a dot count only with hidden=true." };
}

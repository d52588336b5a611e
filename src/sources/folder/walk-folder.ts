import { type Dirent, lstatSync, readdirSync } from "node:fs";
import { lstat, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { TreePage } from "../../contracts/file-tree.ts";
import type { Completeness } from "../../contracts/source.ts";
import type { TreeRules } from "../../detect/lineage/tree-rules.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { compareText } from "../../lib/compare-text.ts";
import { Turn } from "../../lib/turn.ts";
import { explainErrno } from "./explain-errno.ts";
import { FolderPage } from "./folder-page.ts";
import { cannotLook, type FolderRoot, isWithin } from "./folder-root.ts";
import { type IgnoreLevels, isIgnored, withLevel } from "./ignore-rules.ts";
import type { LocalDevices } from "./local-devices.ts";
import type { LookAtFiles } from "./look-at-files.ts";
import { readMountPoints } from "./mount-points.ts";

export interface Walk {
  readonly root: FolderRoot;
  readonly rules: TreeRules;
  readonly gitignore: boolean;
  readonly maxFileBytes: number;
  readonly ignoreInodes: boolean;
  readonly devices: LocalDevices;
  readonly lookAtFiles: LookAtFiles;
  readonly signal: AbortSignal;
}

interface Waiting {
  readonly folder: string;
  /** What the folders above say. */
  readonly levels: IgnoreLevels;
  /** It is on a disk of this machine for certain: the folder it lies in is, and nothing is mounted on it. To ask any other one may be to wait for a share. */
  readonly isLocal: boolean;
  opened?: Promise<Opened>;
}

/** A folder as it is read, before any file of it is looked at. */
interface Opened {
  readonly entries: readonly Dirent[];
  readonly device: number;
  readonly seenAtMs: number;
}

/** So many folders are read while the files of another one are looked at, where that takes waiting. */
const AHEAD = 4;

/** A page for every folder, the ones in a folder after it, in the order of their names. Links are not followed: what they lead to is found where it lies. */
export async function* walkFolder(walk: Walk): AsyncGenerator<TreePage, Completeness> {
  const waiting: Waiting[] = [{ folder: "", levels: [], isLocal: false }];
  const mounts = await readMountPoints();
  const turn = new Turn();
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    walk.signal.throwIfAborted();
    const page = await lookAtFolder(walk, next, ({ folders, levels, isLocal }) => {
      for (const folder of folders.toReversed()) {
        const isMounted = !mounts || mounts.has(join(walk.root.path, folder));
        waiting.push({ folder, levels, isLocal: isLocal && !isMounted });
      }
      for (const soon of waiting.slice(-AHEAD)) if (!soon.isLocal) soon.opened ??= openEarly(walk, soon);
    });
    yield page.toPage();
    if (turn.isOver()) await turn.next();
  }
  return "complete";
}

/** Only these folders, as far as they are there and the rules let them in. Not for trees whose own files say what is left out. */
export async function* walkOnly(walk: Walk, folders: ReadonlySet<string>): AsyncGenerator<TreePage, Completeness> {
  for (const folder of [...folders].sort(compareText)) {
    walk.signal.throwIfAborted();
    const absolute = join(walk.root.path, folder);
    const isThere = (await realpath(absolute).catch(() => "")) === absolute;
    if (!isThere || isWithin(absolute, walk.root.storage)) continue;
    if (folder !== "" && !walk.rules.enters(folder)) continue;
    yield (await lookAtFolder(walk, { folder, levels: [], isLocal: false })).toPage();
  }
  return "complete";
}

/** The folders in one, and what holds for them: its rules, and whether it is on a disk of this machine. */
interface Below {
  readonly folders: readonly string[];
  readonly levels: IgnoreLevels;
  readonly isLocal: boolean;
}

/** `tell` hears of the folders in it as soon as they are known. */
async function lookAtFolder(walk: Walk, waiting: Waiting, tell?: (below: Below) => void): Promise<FolderPage> {
  const { folder, levels: above } = waiting;
  const absolute = join(walk.root.path, folder);
  try {
    const { entries, device, seenAtMs } = await (waiting.opened ?? openFolder(walk, waiting));
    const levels = walk.gitignore ? await withLevel(above, folder, absolute) : above;
    const page = new FolderPage(folder, device, seenAtMs, walk);
    const { files, links } = sortOut(entries, page, walk, levels);
    const folders = page.folders.map((name) => page.pathOf(name));
    tell?.({ folders, levels, isLocal: await walk.devices.has(device, absolute) });
    for (const name of links) await leaveOutLink(name, absolute, page);
    await walk.lookAtFiles(absolute, device, files, (name, found) => {
      if (typeof found === "string") page.cannotRead(name, found, "file");
      else if (!found.isFile()) page.cannotRead(name, "it is no file any more", "file");
      else if (found.size > walk.maxFileBytes) {
        page.leaveOut(name, `It has ${found.size} bytes; the limit is ${walk.maxFileBytes}.`);
      } else page.add(name, found);
    });
    return page;
  } catch (error) {
    if (walk.signal.aborted) throw error;
    if (folder === "") throw cannotLook(walk.root.path, error);
    const page = new FolderPage(folder, undefined, 0);
    page.unreadable.push({ kind: "unreadable", path: folder, reason: explainErrno(error) });
    return page;
  }
}

/** Asked for its device when it was read: what was unmounted before that must not look like an empty folder of it. */
async function openFolder({ root }: Walk, { folder, isLocal }: Waiting): Promise<Opened> {
  const absolute = join(root.path, folder);
  const seenAtMs = Date.now();
  const types = { withFileTypes: true } as const;
  const entries = isLocal ? readdirSync(absolute, types) : await readdir(absolute, types);
  const stats = isLocal ? lstatSync(absolute) : await lstat(absolute);
  if (!stats.isDirectory()) throw new Error("it is no folder any more");
  return { entries: entries.sort(byName), device: stats.dev, seenAtMs };
}

/** Whoever takes it hears of a failure; until then it is nobody's. */
function openEarly(walk: Walk, waiting: Waiting): Promise<Opened> {
  const opened = openFolder(walk, waiting);
  opened.catch(() => undefined);
  return opened;
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1;
}

/** What is neither file nor link goes to the page; returns the names of those that are. */
function sortOut(
  entries: readonly Dirent[],
  page: FolderPage,
  walk: Walk,
  levels: IgnoreLevels,
): { readonly files: readonly string[]; readonly links: readonly string[] } {
  const files: string[] = [];
  const links: string[] = [];
  const takes = walk.rules.within(page.folder);
  let last = "";
  for (const entry of entries) {
    const { name } = entry;
    const kind = entry.isDirectory() ? "folder" : "file";
    const isIn = kind === "folder" ? mayEnter(page.pathOf(name), name, walk) : takes(name);
    if (!isIn || (levels.length > 0 && isIgnored(levels, page.pathOf(name), kind))) continue;
    // Names that are no UTF-8 are read with this character in the place of what cannot be read.
    const isUnclear = name === last && name.includes("\ufffd");
    last = name;
    if (isUnclear) page.cannotRead(name, "its name is not valid UTF-8", entry.isFile() ? "file" : undefined);
    else if (kind === "folder") page.folders.push(name);
    else if (entry.isFile()) files.push(name);
    else if (entry.isSymbolicLink()) links.push(name);
    else page.leaveOut(name, "It is neither a file nor a folder.");
  }
  return { files, links };
}

/** Whether it leads to something that could be read at all is worth knowing: a link that cannot be resolved may stand for anything. */
async function leaveOutLink(name: string, folder: string, page: FolderPage): Promise<void> {
  try {
    await stat(join(folder, name));
    page.leaveOut(name, "It is a link; what it leads to is found where it lies, if that is below the root.");
  } catch (error) {
    if (isErrno(error, "ENOENT")) page.leaveOut(name, "It is a link that leads nowhere.");
    else page.cannotRead(name, `it is a link that cannot be followed: ${explainErrno(error)}`, "link");
  }
}

function mayEnter(path: string, name: string, { root, rules, gitignore }: Walk): boolean {
  if (path === root.storageBelow || (gitignore && name === ".git")) return false;
  return rules.enters(path);
}

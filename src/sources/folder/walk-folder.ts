import { constants, type Dirent, lstatSync, readdirSync, type Stats } from "node:fs";
import { lstat, open, readdir, readFile, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Ignore } from "ignore";
import ignore from "ignore";
import type { SkippedFile, TreeFile, TreePage, UnreadableEntry } from "../../contracts/file-tree.ts";
import type { Completeness } from "../../contracts/source.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { compareText } from "../../lib/text.ts";
import { TimeSlice } from "../../lib/time-slice.ts";
import type { TreeRules } from "../tree/tree-rules.ts";
import { explainErrno } from "./explain-errno.ts";
import { type FolderRoot, isWithin, unreadableFolder } from "./folder-root.ts";
import type { LocalDevices } from "./local-devices.ts";
import { type FileStats, isRacy, stampOf } from "./read-local-file.ts";

export interface WalkOptions {
  readonly root: FolderRoot;
  readonly rules: TreeRules;
  readonly gitignore: boolean;
  readonly maxFileBytes: number;
  readonly ignoreInodes: boolean;
  readonly devices: LocalDevices;
  readonly statFiles: StatFiles;
  readonly signal: AbortSignal;
}

interface PendingFolder {
  readonly folder: string;
  /** `.gitignore` rules of the folders above. */
  readonly levels: IgnoreLevels;
  /** Whether it is certainly on a local disk: its parent is, and nothing is mounted on it. Calls on other folders may wait for a share. */
  readonly isLocal: boolean;
  opened?: Promise<FolderEntries>;
}

/** A folder listing, before its files are examined. */
interface FolderEntries {
  readonly entries: readonly Dirent[];
  readonly device: number;
  readonly seenAtMs: number;
}

/** Folders read ahead on network shares. */
const AHEAD = 4;

/** Yields a page per folder, parents first, in order of names. Links are not followed: their targets are found where they are. */
export async function* walkFolder(options: WalkOptions): AsyncGenerator<TreePage, Completeness> {
  const pending: PendingFolder[] = [{ folder: "", levels: [], isLocal: false }];
  const mounts = await readMountPoints();
  const timeSlice = new TimeSlice();
  for (let next = pending.pop(); next; next = pending.pop()) {
    options.signal.throwIfAborted();
    const page = await readFolder(options, next, ({ folders, levels, isLocal }) => {
      for (const folder of folders.toReversed()) {
        const isMounted = !mounts || mounts.has(join(options.root.path, folder));
        pending.push({ folder, levels, isLocal: isLocal && !isMounted });
      }
      for (const upcoming of pending.slice(-AHEAD))
        if (!upcoming.isLocal) upcoming.opened ??= openAhead(options, upcoming);
    });
    yield page.toPage();
    if (timeSlice.isOver()) await timeSlice.next();
  }
  return "complete";
}

/** Yields only these folders, if they exist and are included. Not for trees with `.gitignore` rules. */
export async function* walkOnly(
  options: WalkOptions,
  folders: ReadonlySet<string>,
): AsyncGenerator<TreePage, Completeness> {
  for (const folder of [...folders].sort(compareText)) {
    options.signal.throwIfAborted();
    const absolute = join(options.root.path, folder);
    const isThere = (await realpath(absolute).catch(() => "")) === absolute;
    if (!isThere || isWithin(absolute, options.root.storage)) continue;
    if (folder !== "" && !options.rules.enters(folder)) continue;
    yield (await readFolder(options, { folder, levels: [], isLocal: false })).toPage();
  }
  return "complete";
}

/** Subfolders of a folder, their ignore rules, and whether they are on a local disk. */
interface Subfolders {
  readonly folders: readonly string[];
  readonly levels: IgnoreLevels;
  readonly isLocal: boolean;
}

/** Reads a folder. Calls `onSubfolders` as soon as its subfolders are known. */
async function readFolder(
  options: WalkOptions,
  pending: PendingFolder,
  onSubfolders?: (below: Subfolders) => void,
): Promise<FolderPage> {
  const { folder, levels: above } = pending;
  const absolute = join(options.root.path, folder);
  try {
    const { entries, device, seenAtMs } = await (pending.opened ?? openFolder(options, pending));
    const levels = options.gitignore ? await withLevel(above, folder, absolute) : above;
    const page = new FolderPage(folder, device, seenAtMs, options);
    const { files, links } = classifyEntries(entries, page, options, levels);
    const folders = page.folders.map((name) => page.pathOf(name));
    onSubfolders?.({ folders, levels, isLocal: await options.devices.has(device, absolute) });
    for (const name of links) await skipLink(name, absolute, page);
    await options.statFiles(absolute, device, files, (name, found) => {
      if (typeof found === "string") page.cannotRead(name, found, "file");
      else if (!found.isFile()) page.cannotRead(name, "it is no longer a file", "file");
      else if (found.size > options.maxFileBytes) {
        page.addTooLarge(name, `It has ${found.size} bytes; the limit is ${options.maxFileBytes}.`);
      } else page.add(name, found);
    });
    return page;
  } catch (error) {
    if (options.signal.aborted) throw error;
    if (folder === "") throw unreadableFolder(options.root.path, error);
    const page = new FolderPage(folder, undefined, 0);
    page.unreadable.push({ kind: "unreadable", path: folder, reason: explainStatError(error, folder) });
    return page;
  }
}

/** Stats the folder after listing it: one that was unmounted before must not look like an empty folder of the share. */
async function openFolder({ root }: WalkOptions, { folder, isLocal }: PendingFolder): Promise<FolderEntries> {
  const absolute = join(root.path, folder);
  const seenAtMs = Date.now();
  const types = { withFileTypes: true } as const;
  const entries = isLocal ? readdirSync(absolute, types) : await readdir(absolute, types);
  const stats = isLocal ? lstatSync(absolute) : await lstat(absolute);
  if (!stats.isDirectory()) throw new Error("it is no longer a folder");
  return { entries: entries.sort(byName), device: stats.dev, seenAtMs };
}

/** Opens a folder ahead of time. An error is thrown when the result is awaited. */
function openAhead(options: WalkOptions, pending: PendingFolder): Promise<FolderEntries> {
  const opened = openFolder(options, pending);
  opened.catch(() => undefined);
  return opened;
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : 1;
}

/** Sorts entries. Adds folders and unusable entries to the page; returns the names of files and links. */
function classifyEntries(
  entries: readonly Dirent[],
  page: FolderPage,
  options: WalkOptions,
  levels: IgnoreLevels,
): { readonly files: readonly string[]; readonly links: readonly string[] } {
  const files: string[] = [];
  const links: string[] = [];
  const isIncluded = options.rules.within(page.folder);
  let last = "";
  for (const entry of entries) {
    const { name } = entry;
    const kind = entry.isDirectory() ? "folder" : "file";
    const isWanted = kind === "folder" ? mayEnter(page.pathOf(name), name, options) : isIncluded(name);
    if (!isWanted || (levels.length > 0 && isIgnored(levels, page.pathOf(name), kind))) continue;
    // Node replaces invalid UTF-8 by this character, so two names may become equal.
    const isAmbiguous = name === last && name.includes("\ufffd");
    last = name;
    if (isAmbiguous) page.cannotRead(name, "its name is not valid UTF-8", entry.isFile() ? "file" : undefined);
    else if (kind === "folder") page.folders.push(name);
    else if (entry.isFile()) files.push(name);
    else if (entry.isSymbolicLink()) links.push(name);
    else page.addSkipped(name, "It is neither a file nor a folder.");
  }
  return { files, links };
}

/** Skips a link. One that cannot be resolved is unreadable: it may stand for any known file. */
async function skipLink(name: string, folder: string, page: FolderPage): Promise<void> {
  try {
    await stat(join(folder, name));
    page.addSkipped(name, "It is a link; what it leads to is found where it lies, if that is below the root.");
  } catch (error) {
    if (isErrno(error, "ENOENT")) page.addSkipped(name, "It is a link that leads nowhere.");
    else page.cannotRead(name, `it is a link that cannot be followed: ${explainErrno(error)}`, "link");
  }
}

function mayEnter(path: string, name: string, { root, rules, gitignore }: WalkOptions): boolean {
  if (path === root.storageBelow || (gitignore && name === ".git")) return false;
  return rules.enters(path);
}

/** Collects the entries of one folder. */
class FolderPage {
  readonly folder: string;
  readonly #device: number | undefined;
  readonly #seenAtMs: number;
  readonly #ignoreInodes: boolean;
  readonly #files: TreeFile[] = [];
  readonly folders: string[] = [];
  readonly unreadable: UnreadableEntry[] = [];
  readonly skipped: SkippedFile[] = [];

  /** `device`: undefined if the folder could not be read. `seenAtMs`: time before the first file was examined. */
  constructor(folder: string, device: number | undefined, seenAtMs: number, { ignoreInodes = false } = {}) {
    this.folder = folder;
    this.#ignoreInodes = ignoreInodes;
    this.#device = device;
    this.#seenAtMs = seenAtMs;
  }

  pathOf(name: string): string {
    return this.folder === "" ? name : `${this.folder}/${name}`;
  }

  add(name: string, { size, mtimeMs, ino }: FileStats): void {
    const ignoreInodes = this.#ignoreInodes;
    this.#files.push({
      path: this.pathOf(name),
      size,
      modifiedAtMs: mtimeMs,
      stamp: isRacy(mtimeMs, this.#seenAtMs) ? "" : stampOf({ size, mtimeMs, ino }, { ignoreInodes }),
      node: `${this.#device}:${ignoreInodes ? "" : ino}`,
    });
  }

  addSkipped(name: string, reason: string): void {
    this.skipped.push({ path: this.pathOf(name), reason });
  }

  addTooLarge(name: string, reason: string): void {
    this.skipped.push({ path: this.pathOf(name), reason, isTooLarge: true });
  }

  cannotRead(name: string, reason: string, what?: UnreadableEntry["what"]): void {
    this.unreadable.push({ kind: "unreadable", path: this.pathOf(name), reason, ...(what && { what }) });
  }

  toPage(): TreePage {
    return {
      folder: this.folder,
      files: this.#files,
      unreadable: this.unreadable,
      skipped: this.skipped,
      whole: {
        folders: this.folders,
        device: this.#device === undefined ? "" : `${this.#device}`,
      },
    };
  }
}

const FILE = ".gitignore";
/** Larger files are rejected: they are not written by hand. */
const MAX_BYTES = 1024 * 1024;

/** `.gitignore` rules from the root down to a folder. */
type IgnoreLevels = readonly { readonly folder: string; readonly rules: Ignore }[];

/** Adds the rules of the folder itself. Throws if its `.gitignore` cannot be read, because ignored files must not be included. */
async function withLevel(above: IgnoreLevels, folder: string, absolute: string): Promise<IgnoreLevels> {
  const text = await readRules(`${absolute}/${FILE}`);
  if (text === undefined) return above;
  const rules = ignore({ ignorecase: false, allowRelativePaths: true }).add(text);
  return [...above, { folder, rules }];
}

/** The rules nearest to a file win. */
function isIgnored(levels: IgnoreLevels, path: string, kind: "file" | "folder"): boolean {
  let ignored = false;
  for (const { folder, rules } of levels) {
    const below = folder === "" ? path : path.slice(folder.length + 1);
    const answer = rules.test(kind === "folder" ? `${below}/` : below);
    if (answer.ignored) ignored = true;
    else if (answer.unignored) ignored = false;
  }
  return ignored;
}

/** Returns undefined if there is none. Does not follow a link, like git. */
async function readRules(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile()) return undefined;
    if (stats.size > MAX_BYTES) throw new Error(`its ${FILE} has more than ${MAX_BYTES} bytes`);
    return await file.readFile("utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ELOOP", "ENXIO")) return undefined;
    throw error;
  }
}

/** Returns the current mount points from the kernel; undefined where there is no such list. */
export async function readMountPoints(): Promise<ReadonlySet<string> | undefined> {
  const text = await readFile("/proc/self/mountinfo", "utf8").catch(() => undefined);
  return text === undefined ? undefined : mountPointsIn(text);
}

/** Returns the fifth field of each line; blanks in it are escaped as `\040`. */
export function mountPointsIn(mountinfo: string): ReadonlySet<string> {
  const paths = mountinfo.split("\n").flatMap((line) => line.split(" ")[4] ?? []);
  return new Set(paths.map((path) => path.replace(/\\([0-7]{3})/g, (_, code: string) => fromOctal(code))));
}

function fromOctal(code: string): string {
  return String.fromCharCode(Number.parseInt(code, 8));
}

const STATS_AT_ONCE = 16;

/** Calls `onFile` for each file, in the order of names, with its stats or the reason why it has none. */
type StatFiles = (
  folder: string,
  device: number,
  names: readonly string[],
  onFile: (name: string, found: Stats | string) => void,
) => Promise<void>;

/** Uses synchronous calls on local disks, concurrent ones on shares. */
export function createStatFiles(devices: LocalDevices): StatFiles {
  return async (folder, device, names, onFile) => {
    const isLocal = await devices.has(device, folder);
    devices.note(folder, { isLocal });
    if (!isLocal) return await statConcurrently(folder, names, onFile);
    const timeSlice = new TimeSlice();
    for (const name of names) {
      onFile(name, statLocal(`${folder}/${name}`, name));
      if (timeSlice.isOver()) await timeSlice.next();
    }
  };
}

function statLocal(path: string, name: string): Stats | string {
  try {
    return lstatSync(path);
  } catch (error) {
    return explainStatError(error, name);
  }
}

async function statConcurrently(
  folder: string,
  names: readonly string[],
  onFile: (name: string, found: Stats | string) => void,
): Promise<void> {
  const found = new Map<string, Stats | string>();
  await forEachConcurrent(names, STATS_AT_ONCE, async (name) => {
    found.set(name, await lstat(`${folder}/${name}`).catch((error: unknown) => explainStatError(error, name)));
  });
  for (const name of names) onFile(name, found.get(name) ?? "");
}

/** Explains a failed stat. A name that is no valid UTF-8 cannot be passed back to the system. */
function explainStatError(error: unknown, name: string): string {
  const why = explainErrno(error);
  return name.includes("\ufffd") ? `its name is not valid UTF-8, or ${why}` : why;
}

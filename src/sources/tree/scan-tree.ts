import type { BlockedItems } from "../../contracts/erasure.ts";
import type { FileTree, SkippedFile, TreeFile, TreePage, UnreadableEntry } from "../../contracts/file-tree.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { KnownFile, Manifest, ManifestEntry } from "../../contracts/manifest.ts";
import type { Completeness, LeftOut, Unreadable } from "../../contracts/source.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { plural } from "../../lib/text.ts";
import { TimeSlice } from "../../lib/time-slice.ts";
import { folderOf, nameOf } from "../../lib/tree-path.ts";
import { readFiles } from "./read-files.ts";

/** Differences between the tree and the manifest, before any file is read. */
export interface ScanDiff {
  readonly completeness: Completeness;
  /** Files with a new path or a changed stamp, and those that were read and have another content. */
  readonly toHash: readonly TreeFile[];
  /** The last read failed; readable again, and unchanged. */
  readonly recovered: readonly ManifestEntry[];
  /** Unchanged, but the file system has a new device number (remount). */
  readonly deviceChanged: readonly ManifestEntry[];
  /** Their path is gone, and not below anything unreadable. */
  readonly missing: readonly ManifestEntry[];
  readonly unreadable: readonly Unreadable[];
  readonly skipped: SkippedFiles;
  /** All of `toHash` are at new paths. */
  readonly onlyNewPaths: boolean;
  /** Known files below an unreadable folder: they are kept. */
  readonly belowUnreadable: readonly FileBelowUnreadable[];
  /** At least one known file was found. If not, another disk may be mounted here. */
  readonly foundKnownFile: boolean;
}

interface FileBelowUnreadable {
  readonly entry: ManifestEntry;
  /** The unreadable path at or above it. */
  readonly unreadable: Unreadable;
}

interface ScanOptions {
  readonly tree: FileTree;
  readonly manifest: () => Promise<Manifest>;
  readonly acceptedTypes: ReadonlySet<string>;
  readonly checksum: boolean;
  /** Whether a file is read although its stamp is unchanged. */
  readonly isDue?: (path: string) => boolean;
  /** Erased files: they are not there. */
  readonly blocked?: BlockedItems;
  readonly signal: AbortSignal;
}

/** Files compared in one batch; few, so that the garbage is collected while it is young. */
const BATCH = 1000;

/** Compares the whole tree with the manifest. */
export async function scanAll(tools: ScanOptions): Promise<ScanDiff> {
  const scanner = new Scanner(tools);
  const completeness = await scanner.walk();
  if (completeness === "complete") await scanner.addAbsentElsewhere();
  return await scanner.result(completeness);
}

/** Compares only these folders and new folders in them. Returns undefined when one of them is gone, so that everything has to be scanned. */
export async function scanFolders(tools: ScanOptions, only: ReadonlySet<string>): Promise<ScanDiff | undefined> {
  const scanner = new Scanner(tools);
  const known = await knownBelow(only, await tools.manifest());
  let next: ReadonlySet<string> = only;
  while (next.size > 0) {
    await scanner.walk(next);
    next = scanner.newFolders(known);
  }
  await scanner.addAbsentIn(scanner.goneFolders(known));
  for (const folder of only) if (known.has(folder) && !scanner.folders.has(folder)) return undefined;
  return { ...(await scanner.result("complete")), foundKnownFile: true };
}

/** Returns the folders at and below these that have known files, and the folders above those. */
async function knownBelow(folders: ReadonlySet<string>, manifest: Manifest): Promise<ReadonlySet<string>> {
  const known = new Set<string>();
  const isCovered = (folder: string): boolean => {
    for (let at = folder; at !== ""; at = folderOf(at)) if (folders.has(folderOf(at))) return true;
    return false;
  };
  for (const top of folders) {
    if (isCovered(top)) continue;
    for await (const page of manifest.folders(top)) {
      for (const folder of page) {
        for (let at = folder; !known.has(at); at = folderOf(at)) {
          known.add(at);
          if (at === "") break;
        }
      }
    }
  }
  return known;
}

class Scanner {
  readonly #tools: ScanOptions;
  readonly #toHash: TreeFile[] = [];
  /** Files of the pending pages that are read although their stamp is the same. */
  #toReadAgain: { readonly file: TreeFile; readonly contentHash: string }[] = [];
  readonly #recovered: KnownFile[] = [];
  readonly #deviceChanged: KnownFile[] = [];
  /** Documents that were not compared folder by folder. */
  readonly #seen = new Set<ItemId>();
  #seenCount = 0;
  readonly #absent: KnownFile[] = [];
  readonly #unreadable: Unreadable[] = [];
  readonly #skipped = new SkippedFiles();
  readonly #named = new Set<string>();
  readonly #devices = new Map<string, string>();
  /** Folders with a known file in them. */
  readonly #foldersWithKnown = new Set<string>();
  readonly #timeSlice = new TimeSlice();
  #pending: PendingPage[] = [];
  #pendingFiles = 0;
  #onlyNewPaths = true;
  /** Folders that were walked. */
  readonly folders = new Set<string>();

  constructor(tools: ScanOptions) {
    this.#tools = tools;
  }

  async walk(below?: ReadonlySet<string>): Promise<Completeness> {
    const { tree, signal } = this.#tools;
    const pages = tree.walk(signal, below);
    let step = await pages.next();
    for (; !step.done; step = await pages.next()) {
      this.#addPage(step.value);
      if (this.#pendingFiles >= BATCH) await this.#comparePending();
    }
    await this.#comparePending();
    return step.value;
  }

  #addPage({ folder, files, unreadable, skipped, whole }: TreePage): void {
    this.#skipped.add(skipped);
    if (whole) {
      this.folders.add(folder);
      this.#devices.set(folder, whole.device);
      for (const name of whole.folders) this.#named.add(folder === "" ? name : `${folder}/${name}`);
    }
    const { blocked } = this.#tools;
    const accepted = files.filter(({ path }) => {
      if (blocked?.hasPath(path)) {
        blocked.skipFile(path);
        return false;
      }
      const type = fileTypeOf(nameOf(path));
      const isAccepted = this.#tools.acceptedTypes.has(type);
      if (!isAccepted) this.#skipped.addType(type);
      return isAccepted;
    });
    this.#pending.push({ folder, files: accepted, unreadable, isWhole: whole !== undefined });
    this.#pendingFiles += accepted.length + 1;
  }

  async #comparePending(): Promise<void> {
    const pages = this.#pending;
    if (pages.length === 0) return;
    [this.#pending, this.#pendingFiles] = [[], 0];
    const manifest = await this.#tools.manifest();
    const differences = await manifest.differences(pages.filter((page) => this.#trustsStamps(page)));
    const whole = await manifest.inFolders(
      pages.flatMap(({ folder, isWhole }) => (isWhole && !differences.has(folder) ? [folder] : [])),
    );
    const paths = pages.flatMap(({ folder, files, unreadable, isWhole }) => [
      ...(isWhole ? (differences.get(folder) ?? []) : files.map(({ path }) => path)),
      ...unreadable.map(({ path }) => path),
    ]);
    const byPath = await manifest.knownAt(paths);
    for (const { folder, files, unreadable, isWhole } of pages) {
      for (const entry of unreadable) this.#addUnreadable(entry, byPath);
      const different = differences.get(folder);
      if (different) this.#compareDifferences(folder, files, different, byPath);
      else if (isWhole) this.#compareFolder(folder, files, whole.get(folder) ?? new Map());
      else for (const file of files) this.#compare(file, this.#markSeen(byPath.get(file.path)));
      if (this.#timeSlice.isOver()) await this.#timeSlice.next();
    }
    await this.#readAgain();
  }

  /** For a tree whose files are all read: keeps only files with changed content. */
  async #readAgain(): Promise<void> {
    const { tree, signal } = this.#tools;
    const again = this.#toReadAgain;
    if (again.length === 0) return;
    this.#toReadAgain = [];
    const outcomes = await readFiles(
      again.map(({ file }) => file),
      { tree },
      signal,
    );
    for (const [at, { file, contentHash }] of again.entries()) {
      const outcome = outcomes[at];
      const isAsRead = outcome !== undefined && "contentHash" in outcome && outcome.file === file;
      if (isAsRead && outcome.contentHash === contentHash) continue;
      this.#toHash.push(file);
      this.#onlyNewPaths = false;
    }
  }

  /** Whether files of the folder with an unchanged stamp may be skipped. */
  #trustsStamps({ files, isWhole }: PendingPage): boolean {
    const { checksum, isDue } = this.#tools;
    return isWhole && !checksum && !(isDue && files.some(({ path }) => isDue(path)));
  }

  /** Compares the files that differ; all others of the folder are unchanged. */
  #compareDifferences(
    folder: string,
    files: readonly TreeFile[],
    different: ReadonlySet<string>,
    known: ReadonlyMap<string, KnownFile>,
  ): void {
    if (different.size === 0) {
      this.#seenCount += files.length;
      if (files.length > 0) this.#foldersWithKnown.add(folder);
      return;
    }
    const knownHere = new Map<string, KnownFile[]>();
    for (const path of different) {
      const file = known.get(path);
      if (file) knownHere.set(path, [file]);
    }
    const seen = files.filter(({ path }) => different.has(path));
    this.#seenCount += files.length - seen.length;
    if (files.length > seen.length) this.#foldersWithKnown.add(folder);
    this.#compareFolder(folder, seen, knownHere);
  }

  #compareFolder(folder: string, files: readonly TreeFile[], known: ReadonlyMap<string, readonly KnownFile[]>): void {
    const seen = new Set<string>();
    for (const file of files) {
      const [knownHere] = known.get(file.path) ?? [];
      if (knownHere) seen.add(file.path);
      this.#compare(file, knownHere);
    }
    if (seen.size > 0) this.#foldersWithKnown.add(folder);
    for (const [path, same] of known) this.#absent.push(...(seen.has(path) ? same.slice(1) : same));
  }

  #markSeen(known: KnownFile | undefined): KnownFile | undefined {
    if (!known) return undefined;
    this.#seen.add(known.docId);
    this.#foldersWithKnown.add(folderOf(known.path));
    return known;
  }

  /** An unreadable link, or file of a type that is not accepted, matters only at the path of a known document. */
  #addUnreadable(unreadable: UnreadableEntry, known: ReadonlyMap<string, KnownFile>): void {
    const { path, reason, what } = unreadable;
    const isWanted = what === undefined || (what === "file" && this.#tools.acceptedTypes.has(fileTypeOf(nameOf(path))));
    if (isWanted || known.has(path)) this.#unreadable.push(unreadable);
    else this.#skipped.add([{ path, reason }]);
  }

  #compare(file: TreeFile, known: KnownFile | undefined): void {
    if (known) this.#seenCount += 1;
    const isSame = file.stamp !== "" && file.stamp === known?.stamp;
    const isRead = this.#tools.checksum || this.#tools.isDue?.(file.path);
    if (isRead && isSame && known?.status === "active" && file.node === known.node) {
      this.#toReadAgain.push({ file, contentHash: known.contentHash });
    } else if (!isSame || isRead) {
      this.#toHash.push(file);
      if (known) this.#onlyNewPaths = false;
    } else if (known?.status === "error") this.#recovered.push({ ...known, node: file.node });
    else if (known && file.node !== known.node) this.#deviceChanged.push({ ...known, node: file.node });
  }

  /** Adds the files of folders that were not walked. */
  async addAbsentElsewhere(): Promise<void> {
    const manifest = await this.#tools.manifest();
    const { present } = await manifest.countPresent();
    if (this.#seenCount + this.#absent.length === present) return;
    for await (const page of manifest.folders()) {
      await this.addAbsentIn(page.filter((folder) => !this.folders.has(folder)));
    }
  }

  async addAbsentIn(folders: readonly string[]): Promise<void> {
    if (folders.length === 0) return;
    for (const known of (await (await this.#tools.manifest()).inFolders(folders)).values()) {
      for (const files of known.values()) {
        for (const file of files) if (!this.#seen.has(file.docId)) this.#absent.push(file);
      }
    }
  }

  /** Returns new folders that are not walked yet. */
  newFolders(known: ReadonlySet<string>): ReadonlySet<string> {
    return new Set([...this.#named].filter((folder) => !this.folders.has(folder) && !known.has(folder)));
  }

  /** Returns known folders that are gone from the walked ones, with all folders below them. */
  goneFolders(known: ReadonlySet<string>): readonly string[] {
    const isGone = (at: string): boolean =>
      this.folders.has(folderOf(at)) && !this.#named.has(at) && !this.folders.has(at);
    return [...known].filter((folder) => {
      for (let at = folder; at !== ""; at = folderOf(at)) if (isGone(at)) return true;
      return false;
    });
  }

  async result(completeness: Completeness): Promise<ScanDiff> {
    const absent = completeness === "complete" ? this.#absent : [];
    this.#unreadable.push(...findUnmounted(absent, this.#devices, this.#foldersWithKnown));
    const unreadablePaths = new UnreadablePaths(this.#unreadable);
    const vanished: ManifestEntry[] = [];
    const hidden: FileBelowUnreadable[] = [];
    for (const entry of await this.#entriesOf(absent)) {
      const unreadable = unreadablePaths.above(entry.path);
      if (unreadable) hidden.push({ entry, unreadable });
      else vanished.push(entry);
    }
    return {
      completeness,
      toHash: this.#toHash,
      recovered: await this.#entriesOf(this.#recovered),
      deviceChanged: await this.#entriesOf(this.#deviceChanged),
      missing: vanished,
      unreadable: this.#unreadable,
      skipped: this.#skipped,
      onlyNewPaths: this.#onlyNewPaths,
      belowUnreadable: hidden,
      foundKnownFile: this.#seenCount > 0,
    };
  }

  async #entriesOf(files: readonly KnownFile[]): Promise<readonly ManifestEntry[]> {
    if (files.length === 0) return [];
    const entries = await (await this.#tools.manifest()).find(files.map(({ docId }) => docId));
    return files.flatMap(({ docId, node }) => {
      const entry = entries.get(docId);
      return entry ? { ...entry, node } : [];
    });
  }
}

interface PendingPage extends Pick<TreePage, "folder" | "files" | "unreadable"> {
  /** The page has all files of its folder. */
  readonly isWhole: boolean;
}

/**
 * Finds folders on which a share is no longer mounted: their known files were on another file system, and no known file is in
 * them now. The root is checked by its identity instead.
 */
function findUnmounted(
  absent: readonly KnownFile[],
  /** Device of every folder that is there. */
  devices: ReadonlyMap<string, string>,
  /** Folders with a known file in them. */
  foldersWithKnown: ReadonlySet<string>,
): readonly Unreadable[] {
  const mounts = new Set<string>();
  for (const { path, node } of absent) {
    const folder = nearest(path, devices);
    const device = devices.get(folder) ?? "";
    if (folder !== "" && node !== "" && device !== "" && !node.startsWith(`${device}:`)) mounts.add(folder);
  }
  if (mounts.size === 0) return [];
  const alive = new Set<string>();
  for (const folder of foldersWithKnown)
    for (let at = folder; at !== "" && !alive.has(at); at = folderOf(at)) alive.add(at);
  return [...mounts]
    .filter((folder) => !alive.has(folder))
    .map((path) => ({ kind: "unreadable", path, reason: UNMOUNTED_REASON }));
}

const UNMOUNTED_REASON =
  "another file system was mounted here, with all that is known of this folder. If it is a share, mount it; if it is gone for good, delete the empty folder";

function nearest(path: string, devices: ReadonlyMap<string, string>): string {
  let folder = folderOf(path);
  while (folder !== "" && !devices.has(folder)) folder = folderOf(folder);
  return folder;
}

const MAX_NAMED = 10;

/** Files that the rules skip, reported in a few log lines. */
class SkippedFiles {
  readonly #examples: { readonly path: string; readonly reason: string }[] = [];
  readonly #types = new Map<string, number>();
  #count = 0;
  #tooLarge = 0;

  add(skipped: readonly SkippedFile[]): void {
    this.#count += skipped.length;
    this.#tooLarge += skipped.filter(({ isTooLarge }) => isTooLarge).length;
    this.#examples.push(...skipped.slice(0, MAX_NAMED - this.#examples.length));
  }

  get counts(): LeftOut {
    const type = [...this.#types.values()].reduce((sum, count) => sum + count, 0);
    return { type, size: this.#tooLarge, other: this.#count - this.#tooLarge };
  }

  addType(type: string): void {
    this.#types.set(type, (this.#types.get(type) ?? 0) + 1);
  }

  *lines(): Generator<string> {
    for (const { path, reason } of this.#examples) yield `Left out '${path}': ${reason}`;
    const more = this.#count - this.#examples.length;
    if (more > 0) yield `Left out ${plural(more, "more file")} for such reasons.`;
    if (this.#types.size === 0) return;
    const most = [...this.#types].sort(([, a], [, b]) => b - a);
    const count = most.reduce((sum, [, n]) => sum + n, 0);
    const names = most.slice(0, MAX_NAMED).map(([type, n]) => `${type || "no type"} ${n}`);
    const rest = most.length > MAX_NAMED ? ", and others" : "";
    yield `Left out ${plural(count, "file")} of types that are not accepted: ${names.join(", ")}${rest}.`;
  }
}

/** Finds paths at or below something unreadable: it is unknown whether these files exist. */
export class UnreadablePaths {
  readonly #unreadable: ReadonlyMap<string, Unreadable>;

  constructor(unreadable: readonly Unreadable[]) {
    this.#unreadable = new Map(unreadable.map((entry) => [entry.path, entry]));
  }

  has(path: string): boolean {
    return this.above(path) !== undefined;
  }

  /** Returns the nearest unreadable path at or above. */
  above(path: string): Unreadable | undefined {
    if (this.#unreadable.size === 0) return undefined;
    for (let at = path; at !== ""; at = folderOf(at)) {
      const unreadable = this.#unreadable.get(at);
      if (unreadable) return unreadable;
    }
    return this.#unreadable.get("");
  }
}

import { randomUUID } from "node:crypto";
import { existsSync, lstatSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import type { ItemId } from "../contracts/ids.ts";
import type { Observed } from "../contracts/ledger.ts";
import { ifMissing, isErrno } from "../lib/atomic-file.ts";
import { below } from "../lib/file-system.ts";
import { TimeSlice, yieldIfDue } from "../lib/time-slice.ts";
import { FilesOnDisk } from "./files-on-disk.ts";
import { EMBEDDED_FOLDER, FAILED_FOLDER, ORIGINALS_FOLDER, PRIVATE_FOLDER } from "./layout.ts";
import { PathsOnDisk } from "./paths-on-disk.ts";
import { type FileOnDisk, fileAt, scanInThread, visitFiles } from "./scan-files.ts";
import { inFolder, writeBody } from "./write-body.ts";

/** A complete download in the staging folder. */
export interface Staged {
  readonly path: string;
  readonly observed: Observed;
}

/** Stands for the bytes that a dry run does not fetch, with size, time and hash as far as they are known. */
export class ForeseenBody {
  readonly observed: Observed;

  constructor(observed: Observed) {
    this.observed = observed;
  }

  // biome-ignore lint/correctness/useYield: there is nothing to read.
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    throw new Error("read a file that a dry run did not fetch");
  }
}

/** A file as a dry run foresees it. */
interface ForeseenFile extends FileOnDisk {
  /** Where its bytes are on disk. */
  readonly bytesAt?: string;
}

/**
 * One source's files on our disk. A `file` is a path relative to `crawler/`, `/`-separated, as the ledger holds it.
 * A file appears in its place only when it is whole: downloads are staged beside it and renamed.
 */
export class Mirror {
  readonly #crawlerFolder: string;
  /** Relative to the crawler folder: `DEMO/01_files/docs`. */
  readonly root: string;
  readonly #depth: number;
  /** Its folders with a slash at the end, as files begin. */
  readonly #tops: readonly string[];
  readonly #staging: string;
  #followed: FilesOnDisk | undefined;
  /** In a dry run: planned files over those on disk; null: planned to be gone. The disk is not changed. */
  readonly #foreseen: Map<string, ForeseenFile | null> | undefined;
  /** Likewise, files between moveOut and moveIn. */
  readonly #foreseenWaiting = new Map<ItemId, ForeseenFile>();

  constructor(crawlerFolder: string, root: string, options: { readonly dryRun?: boolean } = {}) {
    this.#crawlerFolder = join(crawlerFolder);
    this.root = root;
    this.#depth = root.split("/").length;
    this.#tops = FOLDERS.map((folder) => `${root}/${folder}/`);
    this.#foreseen = options.dryRun ? new Map() : undefined;
    this.#staging = this.#private("staging");
  }

  /**
   * Whether the path is inside this source's folders. Map files are edited by hand: other paths are never read, moved
   * or deleted.
   */
  owns(file: string): boolean {
    return this.#tops.some((top) => file.startsWith(top)) && !LEADS_ELSEWHERE.test(file);
  }

  absolute(file: string): string {
    if (!this.owns(file)) throw new Error(`use '${file}': it is outside the folders of its source`);
    return below(this.#crawlerFolder, file);
  }

  /** Where the bytes of the file are on disk: what a dry run moves stays where it is. */
  bytesAt(file: string): string {
    const path = this.absolute(file);
    return this.#foreseen?.get(file)?.bytesAt ?? path;
  }

  embeddedFile(path: string): string {
    return `${this.root}/${EMBEDDED_FOLDER}/${path}`;
  }

  /** The path of an original, the input of the process step. */
  originalFile(path: string): string {
    return `${this.root}/${ORIGINALS_FOLDER}/${path}`;
  }

  /** The path below `01_originals/`, `02_embedded/` or `03_failed/`, as users know it. */
  relativePath(file: string): string {
    let at = -1;
    for (let folders = this.#depth + 1; folders > 0; folders--) {
      at = file.indexOf("/", at + 1);
      if (at < 0) return "";
    }
    return file.slice(at + 1);
  }

  /** The path of a file that cannot be processed or embedded. */
  failedFile(file: string): string {
    return `${this.root}/${FAILED_FOLDER}/${this.relativePath(file)}`;
  }

  isFailed(file: string): boolean {
    return file.startsWith(`${this.root}/${FAILED_FOLDER}/`);
  }

  /** Whether the file waits for the process step. */
  isOriginal(file: string): boolean {
    return file.startsWith(`${this.root}/${ORIGINALS_FOLDER}/`);
  }

  /** Returns the paths below `01_originals/` of those files that are originals. */
  originalsAmong(files: Iterable<string>): ReadonlySet<string> {
    const paths = new Set<string>();
    for (const file of files) if (this.isOriginal(file)) paths.add(this.relativePath(file));
    return paths;
  }

  /** Another path in the same folder (`01_originals/`, …) as `file`. */
  beside(file: string, path: string): string {
    return file.slice(0, file.length - this.relativePath(file).length) + path;
  }

  /**
   * Lists every file, with one stat each: detect and verify use the result. If many are expected, a worker thread does
   * it.
   */
  async scan(options?: { readonly expected: number; readonly signal: AbortSignal }): Promise<FilesOnDisk> {
    const order = { top: this.#crawlerFolder, folders: this.#folders };
    const isLarge = options && options.expected >= WORTH_A_THREAD;
    const scanned = isLarge ? await scanInThread(order, options.signal) : undefined;
    if (!scanned) options?.signal.throwIfAborted();
    const found = scanned ?? new FilesOnDisk();
    if (!scanned) await this.visit((path, file) => found.add(path, file.size, file.mtimeMs, file.placedAtMs));
    for (const [path, file] of this.#foreseen ?? []) file ? found.set(path, file) : found.delete(path);
    return found;
  }

  /** Looks up one file. */
  find(file: string): FileOnDisk | undefined {
    if (!this.owns(file)) return undefined;
    const foreseen = this.#foreseen?.get(file);
    return foreseen === undefined ? fileAt(below(this.#crawlerFolder, file)) : (foreseen ?? undefined);
  }

  /** Whether these are two files, and not two spellings of one. */
  areApart(a: string, b: string): boolean {
    if (this.#foreseen?.has(a) || this.#foreseen?.has(b)) return a !== b && [a, b].every((file) => this.find(file));
    const [one, other] = [a, b].map((file) => lstatSync(this.absolute(file), { throwIfNoEntry: false }));
    return one !== undefined && other !== undefined && (one.ino !== other.ino || one.dev !== other.dev);
  }

  /** Calls `onFile` for every file, without holding all of them. */
  async visit(onFile: (path: string, file: FileOnDisk) => void): Promise<void> {
    const timeSlice = new TimeSlice();
    for (const folder of this.#folders) await visitFiles(this.#crawlerFolder, folder, onFile, timeSlice);
  }

  /** Keeps the result of a scan up to date with changes made through this mirror, not with those of others. */
  follow(disk: FilesOnDisk): void {
    this.#followed = disk;
  }

  /** The paths that have a file, in any of the three folders. */
  places(): PathsOnDisk {
    return new PathsOnDisk(FOLDERS.map((folder) => join(this.folder, folder)));
  }

  /**
   * Writes a download to the staging folder, with the source's time. If the body throws, nothing is left behind. No
   * fsync: a file torn by a power failure fails the size check of the next run.
   */
  async stage(body: AsyncIterable<Uint8Array>, modifiedAt: string, signal: AbortSignal): Promise<Staged> {
    await yieldIfDue();
    if (this.#foreseen) return { path: "", observed: foreseenOf(body, modifiedAt) };
    const path = below(this.#staging, randomUUID());
    return { path, observed: await writeBody(path, body, modifiedAt, signal) };
  }

  /** Moves a staged file to its path, replacing any file there. */
  async place(staged: Staged, file: string): Promise<Observed> {
    const target = this.absolute(file);
    this.#changing({ [file]: { ...staged.observed, placedAtMs: Date.now() } }, () =>
      inFolder(dirname(target), () => renameOver(staged.path, target)),
    );
    return staged.observed;
  }

  /**
   * First half of a move: the file waits under its item's id. Files that swap names all move out before the first moves
   * in. In between the caller writes the new path into the ledger, so that `recover` knows where the file belongs.
   */
  async moveOut(itemId: ItemId, file: string): Promise<void> {
    await yieldIfDue();
    const [from, to] = [this.absolute(file), this.#waiting(itemId)];
    if (this.#foreseen) this.#foreseenWaiting.set(itemId, this.#foundAt(file));
    this.#changing({ [file]: null }, () => inFolder(dirname(to), () => renameSync(from, to)));
    this.#pruneFolders(file);
  }

  async moveIn(itemId: ItemId, file: string): Promise<void> {
    await yieldIfDue();
    const [from, to] = [this.#waiting(itemId), this.absolute(file)];
    const left = this.#foreseen && (this.#foreseenWaiting.get(itemId) ?? fileAt(from));
    this.#changing({ [file]: left ? { bytesAt: from, ...left } : null }, () =>
      inFolder(dirname(to), () => renameOver(from, to)),
    );
  }

  /**
   * After a crash: moves waiting files to their path in the ledger, and deletes partial downloads. A file that cannot
   * be moved is deleted, too: its item then counts as missing and is fetched again.
   */
  async recover(fileOf: (item: ItemId) => Promise<string>): Promise<void> {
    if (!this.#foreseen) await rm(this.#staging, { recursive: true, force: true });
    for (const itemId of await this.#itemsWaiting()) {
      const file = await fileOf(itemId);
      try {
        if (this.owns(file) && !this.#exists(file)) await this.moveIn(itemId, file);
      } catch {
        // Another file has its path.
      }
      await this.dropWaiting(itemId);
    }
  }

  /** Deletes a waiting file. */
  async dropWaiting(itemId: ItemId): Promise<void> {
    if (this.#foreseen) this.#foreseenWaiting.delete(itemId);
    else await rm(this.#waiting(itemId), { force: true });
  }

  /** Moves a file directly; does nothing if it is missing or the target exists. */
  async shift(from: string, to: string): Promise<void> {
    await yieldIfDue();
    if (!this.owns(from) || this.#exists(to) || !this.#exists(from)) return;
    const move = (): void => renameSync(this.absolute(from), this.absolute(to));
    const found = this.find(from);
    const moved = { [to]: found ? { bytesAt: this.bytesAt(from), ...found } : null, [from]: null };
    this.#changing(moved, () => inFolder(dirname(this.absolute(to)), move));
    this.#pruneFolders(from);
  }

  /** Deletes a file; a missing one is no error. */
  async remove(file: string): Promise<void> {
    if (!this.owns(file)) return;
    await yieldIfDue();
    this.#changing({ [file]: null }, () => unlinkIfExists(this.absolute(file)));
    this.#pruneFolders(file);
  }

  /** Deletes the whole folder of the source. */
  async destroy(): Promise<void> {
    if (!this.#foreseen) await rm(this.folder, { recursive: true, force: true });
  }

  /** The folder of the source, absolute. */
  get folder(): string {
    return join(this.#crawlerFolder, this.root);
  }

  /** A private file beside the mirror. */
  privatePath(name: string): string {
    return this.#private(name);
  }

  #private(folder: string): string {
    return join(this.#crawlerFolder, this.root, PRIVATE_FOLDER, folder);
  }

  /** A percent-encoded id may be longer than a file name: the rest becomes nested folders. */
  #waiting(itemId: ItemId): string {
    const pieces = encodeURIComponent(itemId).match(/.{1,200}/g) ?? [];
    return join(this.#private("moving"), ...pieces.map((piece, i) => (i < pieces.length - 1 ? `${piece}+` : piece)));
  }

  async #itemsWaiting(): Promise<ItemId[]> {
    const root = this.#private("moving");
    const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(ifMissing([]));
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return files.map(
      (path) => decodeURIComponent(relative(root, path).split(sep).join("").replaceAll("+", "")) as ItemId,
    );
  }

  get #folders(): string[] {
    return FOLDERS.map((folder) => `${this.root}/${folder}`);
  }

  /**
   * Every change on disk goes through here. Updates the followed scan even if `work` fails; a dry run only records it.
   */
  #changing(after: Readonly<Record<string, ForeseenFile | null>>, work: () => void): void {
    let isDone = false;
    try {
      if (!this.#foreseen) work();
      else for (const [file, now] of Object.entries(after)) this.#foreseen.set(file, now);
      isDone = true;
    } finally {
      for (const file of this.#followed ? Object.keys(after) : []) {
        const now = (isDone && after[file]) || this.find(file);
        if (now) this.#followed?.set(file, now);
        else this.#followed?.delete(file);
      }
    }
  }

  /** Whether a file or folder exists there. */
  #exists(file: string): boolean {
    const foreseen = this.#foreseen?.get(file);
    return foreseen === undefined ? existsSync(this.absolute(file)) : foreseen !== null;
  }

  #foundAt(file: string): ForeseenFile {
    const found = this.find(file);
    if (!found) throw new Error(`move '${file}': it is not there`);
    return { bytesAt: this.bytesAt(file), ...found };
  }

  /** Removes folders that became empty, up to but not including `01_originals/`, `02_embedded/` and `03_failed/`. */
  #pruneFolders(file: string): void {
    if (this.#foreseen) return;
    for (let folder = dirname(file); folder.split("/").length > this.#depth + 1; folder = dirname(folder)) {
      try {
        rmdirSync(join(this.#crawlerFolder, folder));
      } catch (error) {
        if (isErrno(error, "ENOENT")) continue;
        return;
      }
    }
  }
}

/** A segment that is empty, or one or two dots. */
const LEADS_ELSEWHERE = /(?:^|\/)(?:\.{0,2})(?:\/|$)/;

function foreseenOf(body: AsyncIterable<Uint8Array>, modifiedAt: string): Observed {
  return body instanceof ForeseenBody ? body.observed : { size: 0, mtimeMs: Date.parse(modifiedAt), sha256: "" };
}

/** Fewer files are scanned faster than a thread starts. */
const WORTH_A_THREAD = 20_000;
const FOLDERS: readonly string[] = [ORIGINALS_FOLDER, EMBEDDED_FOLDER, FAILED_FOLDER];

/** Deletes a file; not an error if it is missing, a folder, or below a file. */
function unlinkIfExists(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    const isThere = !isErrno(error, "ENOENT", "ENOTDIR") && !lstatSync(path, { throwIfNoEntry: false })?.isDirectory();
    if (isThere) throw error;
  }
}

/** Renames; an empty folder at the target is removed. */
function renameOver(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!isErrno(error, "EISDIR", "ENOTEMPTY", "EEXIST", "EPERM")) throw error;
    rmdirSync(to);
    renameSync(from, to);
  }
}

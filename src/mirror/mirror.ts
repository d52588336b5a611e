import { randomUUID } from "node:crypto";
import { existsSync, lstatSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import type { ItemId } from "../contracts/ids.ts";
import type { Observed } from "../contracts/ledger.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { TimeSlice, yieldIfDue } from "../lib/time-slice.ts";
import { FilesOnDisk } from "./files-on-disk.ts";
import { EMBEDDED_FOLDER, FAILED_FOLDER, ORIGINALS_FOLDER, PRIVATE_FOLDER } from "./layout.ts";
import { PathsOnDisk } from "./paths-on-disk.ts";
import { type FileOnDisk, fileAt, scanInThread, visitFiles } from "./scan-files.ts";
import { inFolder, writeBody } from "./write-body.ts";

/** A complete download that is not yet in its place. */
export interface Staged {
  readonly path: string;
  readonly observed: Observed;
}

/** What a dry run has in place of the bytes it does not fetch: as much of them as is known. */
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

/**
 * One source's files on our disk. A `file` is a path relative to `crawler/`, `/`-separated, as the ledger holds it.
 * A file appears in its place only when it is whole: downloads are staged beside it and renamed.
 */
export class Mirror {
  readonly #crawlerFolder: string;
  /** Relative to the crawler folder: `DEMO/01_files/docs`. */
  readonly root: string;
  readonly #depth: number;
  #followed: FilesOnDisk | undefined;
  /** Of a dry run: the files as they would be, null where one would be gone, over those on disk, which are left alone. */
  readonly #foreseen: Map<string, FileOnDisk | null> | undefined;
  /** Likewise, files between two places. */
  readonly #foreseenWaiting = new Map<ItemId, FileOnDisk>();

  constructor(crawlerFolder: string, root: string, options: { readonly dryRun?: boolean } = {}) {
    this.#crawlerFolder = crawlerFolder;
    this.root = root;
    this.#depth = root.split("/").length;
    this.#foreseen = options.dryRun ? new Map() : undefined;
  }

  /** Map files are edited by hand: a path in them that leaves this source's folders is never read, moved or deleted. */
  owns(file: string): boolean {
    const inside = FOLDERS.some((folder) => file.startsWith(`${this.root}/${folder}/`));
    return inside && !file.split("/").some((segment) => segment === ".." || segment === "." || segment === "");
  }

  absolute(file: string): string {
    if (!this.owns(file)) throw new Error(`use '${file}': it is outside the folders of its source`);
    return join(this.#crawlerFolder, file);
  }

  embeddedFile(path: string): string {
    return `${this.root}/${EMBEDDED_FOLDER}/${path}`;
  }

  /** Where the process step finds what it starts from. */
  originalFile(path: string): string {
    return `${this.root}/${ORIGINALS_FOLDER}/${path}`;
  }

  /** The path below `01_originals/`, `02_embedded/` or `03_failed/`: what a person knows the file by. */
  relativePath(file: string): string {
    let at = -1;
    for (let folders = this.#depth + 1; folders > 0; folders--) {
      at = file.indexOf("/", at + 1);
      if (at < 0) return "";
    }
    return file.slice(at + 1);
  }

  /** Where a file goes when it cannot be processed or embedded. */
  failedFile(file: string): string {
    return `${this.root}/${FAILED_FOLDER}/${this.relativePath(file)}`;
  }

  isFailed(file: string): boolean {
    return file.startsWith(`${this.root}/${FAILED_FOLDER}/`);
  }

  /** It waits for the process step. */
  isOriginal(file: string): boolean {
    return file.startsWith(`${this.root}/${ORIGINALS_FOLDER}/`);
  }

  /** Which of these files are originals, by their paths below `01_originals/`. */
  originalsAmong(files: Iterable<string>): ReadonlySet<string> {
    const paths = new Set<string>();
    for (const file of files) if (this.isOriginal(file)) paths.add(this.relativePath(file));
    return paths;
  }

  /** The same folder as `file`, another path in it. */
  beside(file: string, path: string): string {
    return file.slice(0, file.length - this.relativePath(file).length) + path;
  }

  /**
   * Every file that is there now. One pass, one stat a file: what detect and verify know of the disk. Where many are expected, another
   * thread does it.
   */
  async scan(wish?: { readonly expected: number; readonly signal: AbortSignal }): Promise<FilesOnDisk> {
    const order = { top: this.#crawlerFolder, folders: this.#folders };
    const there = wish && wish.expected >= WORTH_A_THREAD ? await scanInThread(order, wish.signal) : undefined;
    if (!there) wish?.signal.throwIfAborted();
    const found = there ?? new FilesOnDisk();
    if (!there) await this.visit((path, file) => found.add(path, file.size, file.mtimeMs, file.placedAtMs));
    for (const [path, file] of this.#foreseen ?? []) file ? found.set(path, file) : found.delete(path);
    return found;
  }

  /** One of them. */
  find(file: string): FileOnDisk | undefined {
    if (!this.owns(file)) return undefined;
    const foreseen = this.#foreseen?.get(file);
    return foreseen === undefined ? fileAt(join(this.#crawlerFolder, file)) : (foreseen ?? undefined);
  }

  /** Two files, and not two spellings of one. */
  areApart(a: string, b: string): boolean {
    if (this.#foreseen?.has(a) || this.#foreseen?.has(b)) return a !== b && [a, b].every((file) => this.find(file));
    const [one, other] = [a, b].map((file) => lstatSync(this.absolute(file), { throwIfNoEntry: false }));
    return one !== undefined && other !== undefined && (one.ino !== other.ino || one.dev !== other.dev);
  }

  /** The same, for those who need not have all of them at once. */
  async visit(hear: (path: string, file: FileOnDisk) => void): Promise<void> {
    const timeSlice = new TimeSlice();
    for (const folder of this.#folders) await visitFiles(this.#crawlerFolder, folder, hear, timeSlice);
  }

  /** From now on the result of the scan goes along with what is done here to files. What others do to them it does not know. */
  follow(disk: FilesOnDisk): void {
    this.#followed = disk;
  }

  /** Which paths have a file, in whichever folder. */
  places(): PathsOnDisk {
    return new PathsOnDisk(FOLDERS.map((folder) => join(this.folder, folder)));
  }

  /**
   * Throws when the body does; nothing is left behind then. The file gets the source's time. No fsync: a file torn by a
   * power cut fails the size check of the next run.
   */
  async stage(body: AsyncIterable<Uint8Array>, modifiedAt: string, signal: AbortSignal): Promise<Staged> {
    await yieldIfDue();
    if (this.#foreseen) return { path: "", observed: foreseenOf(body, modifiedAt) };
    const path = join(this.#private("staging"), randomUUID());
    return { path, observed: await writeBody(path, body, modifiedAt, signal) };
  }

  /** Puts a staged file into its place, over whatever was there. */
  async place(staged: Staged, file: string): Promise<Observed> {
    const target = this.absolute(file);
    this.#changing({ [file]: { ...staged.observed, placedAtMs: Date.now() } }, () =>
      inFolder(dirname(target), () => renameOver(staged.path, target)),
    );
    return staged.observed;
  }

  /**
   * First half of a move: the file waits under its item's id. Files that swap names all leave before the first arrives.
   * Between the halves the caller writes the new place into the ledger, so that `recover` knows where they go.
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
    const foreseen = this.#foreseen && (this.#foreseenWaiting.get(itemId) ?? fileAt(from) ?? null);
    this.#changing({ [file]: foreseen ?? null }, () => inFolder(dirname(to), () => renameOver(from, to)));
  }

  /**
   * After a crash: returns files caught between two places to where the ledger has them, and drops half downloads. A
   * file that cannot be returned is dropped, too: its item then counts as missing on disk and is fetched again.
   */
  async recover(fileOf: (item: ItemId) => Promise<string>): Promise<void> {
    if (!this.#foreseen) await rm(this.#private("staging"), { recursive: true, force: true });
    for (const itemId of await this.#itemsWaiting()) {
      const file = await fileOf(itemId);
      try {
        if (this.owns(file) && !this.#exists(file)) await this.moveIn(itemId, file);
      } catch {
        // Something else stands where it should go.
      }
      await this.dropWaiting(itemId);
    }
  }

  /** Gives up a file between two places. */
  async dropWaiting(itemId: ItemId): Promise<void> {
    if (this.#foreseen) this.#foreseenWaiting.delete(itemId);
    else await rm(this.#waiting(itemId), { force: true });
  }

  /** From one place straight to another; nothing happens when there is nothing, or the place is taken. */
  async shift(from: string, to: string): Promise<void> {
    await yieldIfDue();
    if (!this.owns(from) || this.#exists(to) || !this.#exists(from)) return;
    const move = (): void => renameSync(this.absolute(from), this.absolute(to));
    const moved = { [to]: this.find(from) ?? null, [from]: null };
    this.#changing(moved, () => inFolder(dirname(this.absolute(to)), move));
    this.#pruneFolders(from);
  }

  /** Already gone is as good as removed. */
  async remove(file: string): Promise<void> {
    if (!this.owns(file)) return;
    await yieldIfDue();
    this.#changing({ [file]: null }, () => unlinkIfExists(this.absolute(file)));
    this.#pruneFolders(file);
  }

  /** Takes away all that is left of a source: folders, map files, everything. */
  async destroy(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Everything of the source is in here, absolute. */
  get folder(): string {
    return join(this.#crawlerFolder, this.root);
  }

  /** A file of ours beside the mirror. */
  privatePath(name: string): string {
    return this.#private(name);
  }

  #private(folder: string): string {
    return join(this.#crawlerFolder, this.root, PRIVATE_FOLDER, folder);
  }

  /** Ids may be longer, percent-encoded, than a file name: then they go on in a folder below. */
  #waiting(itemId: ItemId): string {
    const pieces = encodeURIComponent(itemId).match(/.{1,200}/g) ?? [];
    return join(this.#private("moving"), ...pieces.map((piece, i) => (i < pieces.length - 1 ? `${piece}+` : piece)));
  }

  async #itemsWaiting(): Promise<ItemId[]> {
    const root = this.#private("moving");
    const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
      if (isErrno(error, "ENOENT")) return [];
      throw error;
    });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    return files.map(
      (path) => decodeURIComponent(relative(root, path).split(sep).join("").replaceAll("+", "")) as ItemId,
    );
  }

  get #folders(): string[] {
    return FOLDERS.map((folder) => `${this.root}/${folder}`);
  }

  /** Every change of a file on disk comes through here. Whatever becomes of the work, the scan hears of it; a dry run only foresees it. */
  #changing(after: Readonly<Record<string, FileOnDisk | null>>, work: () => void): void {
    try {
      if (!this.#foreseen) work();
      else for (const [file, now] of Object.entries(after)) this.#foreseen.set(file, now);
    } finally {
      for (const file of this.#followed ? Object.keys(after) : []) {
        const now = this.find(file);
        if (now) this.#followed?.set(file, now);
        else this.#followed?.delete(file);
      }
    }
  }

  /** Something is there, a folder perhaps. */
  #exists(file: string): boolean {
    const foreseen = this.#foreseen?.get(file);
    return foreseen === undefined ? existsSync(this.absolute(file)) : foreseen !== null;
  }

  #foundAt(file: string): FileOnDisk {
    const found = this.find(file);
    if (!found) throw new Error(`move '${file}': it is not there`);
    return found;
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

function foreseenOf(body: AsyncIterable<Uint8Array>, modifiedAt: string): Observed {
  return body instanceof ForeseenBody ? body.observed : { size: 0, mtimeMs: Date.parse(modifiedAt), sha256: "" };
}

/** Fewer are looked at sooner than a thread has begun, or not much later. */
const WORTH_A_THREAD = 20_000;
const FOLDERS: readonly string[] = [ORIGINALS_FOLDER, EMBEDDED_FOLDER, FAILED_FOLDER];

/** Where a folder has its place, or a file is on the way to it, it is not there either. */
function unlinkIfExists(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    const isThere = !isErrno(error, "ENOENT", "ENOTDIR") && !lstatSync(path, { throwIfNoEntry: false })?.isDirectory();
    if (isThere) throw error;
  }
}

/** An empty folder where the file should go is nobody's, and makes way. */
function renameOver(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!isErrno(error, "EISDIR", "ENOTEMPTY", "EEXIST", "EPERM")) throw error;
    rmdirSync(to);
    renameSync(from, to);
  }
}

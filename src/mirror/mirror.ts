import { randomBytes } from "node:crypto";
import { type Dirent, lstatSync, renameSync, rmdirSync } from "node:fs";
import { mkdir, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import type { ItemId } from "../contracts/ids.ts";
import type { Observed } from "../contracts/ledger.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { Turn } from "../lib/turn.ts";
import { EMBEDDED_FOLDER, FAILED_FOLDER, ORIGINALS_FOLDER, PRIVATE_FOLDER } from "./layout.ts";
import { inFolder, writeBody } from "./write-body.ts";

/** A complete download that is not yet in its place. */
export interface Staged {
  readonly path: string;
  readonly observed: Observed;
}

export interface FileOnDisk {
  readonly size: number;
  /** The source's time, which we give the file. */
  readonly mtimeMs: number;
  /** When the file came to its place, by our clock. */
  readonly placedAtMs: number;
}

/**
 * One source's files on our disk. A `file` is a path relative to `crawler/`, `/`-separated, as the ledger holds it.
 * A file appears in its place only when it is whole: downloads are staged beside it and renamed.
 */
export class Mirror {
  readonly #crawlerFolder: string;
  /** Relative to the crawler folder: `DEMO/01_files/docs`. */
  readonly root: string;

  constructor(crawlerFolder: string, root: string) {
    this.#crawlerFolder = crawlerFolder;
    this.root = root;
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
    return file
      .split("/")
      .slice(this.root.split("/").length + 1)
      .join("/");
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

  /** Every file that is there now. One pass, one stat a file: what detect and verify know of the disk. */
  async scan(): Promise<Map<string, FileOnDisk>> {
    const found = new Map<string, FileOnDisk>();
    await this.visit((path, file) => found.set(path, file));
    return found;
  }

  /** One of them. */
  find(file: string): FileOnDisk | undefined {
    return this.owns(file) ? fileAt(join(this.#crawlerFolder, file)) : undefined;
  }

  /** The same, for those who need not have all of them at once. */
  async visit(hear: (path: string, file: FileOnDisk) => void): Promise<void> {
    const turn = new Turn();
    for (const folder of FOLDERS) await this.#visitFolder(`${this.root}/${folder}`, hear, turn);
  }

  /**
   * Throws when the body does; nothing is left behind then. The file gets the source's time. No fsync: a file torn by a
   * power cut fails the size check of the next run.
   */
  async stage(body: AsyncIterable<Uint8Array>, modifiedAt: string, signal: AbortSignal): Promise<Staged> {
    const path = join(this.#private("staging"), randomBytes(12).toString("hex"));
    return { path, observed: await writeBody(path, body, modifiedAt, signal) };
  }

  /** Puts a staged file into its place, over whatever was there. */
  async place(staged: Staged, file: string): Promise<Observed> {
    const target = this.absolute(file);
    inFolder(dirname(target), () => renameOver(staged.path, target));
    return staged.observed;
  }

  /**
   * First half of a move: the file waits under its item's id. Files that swap names all leave before the first arrives.
   * Between the halves the caller writes the new place into the ledger, so that `recover` knows where they go.
   */
  async moveOut(itemId: ItemId, file: string): Promise<void> {
    await mkdir(dirname(this.#waiting(itemId)), { recursive: true });
    await rename(this.absolute(file), this.#waiting(itemId));
    await this.#pruneFolders(file);
  }

  async moveIn(itemId: ItemId, file: string): Promise<void> {
    await mkdir(dirname(this.absolute(file)), { recursive: true });
    renameOver(this.#waiting(itemId), this.absolute(file));
  }

  /**
   * After a crash: returns files caught between two places to where the ledger has them, and drops half downloads. A
   * file that cannot be returned is dropped, too: its item then counts as missing on disk and is fetched again.
   */
  async recover(fileOf: (item: ItemId) => Promise<string>): Promise<void> {
    await rm(this.#private("staging"), { recursive: true, force: true });
    for (const itemId of await this.#itemsWaiting()) {
      const file = await fileOf(itemId);
      try {
        if (this.owns(file) && !(await exists(this.absolute(file)))) await this.moveIn(itemId, file);
      } catch {
        // Something else stands where it should go.
      }
      await this.dropWaiting(itemId);
    }
  }

  /** Gives up a file between two places. */
  async dropWaiting(itemId: ItemId): Promise<void> {
    await rm(this.#waiting(itemId), { force: true });
  }

  /** From one place straight to another; nothing happens when there is nothing, or the place is taken. */
  async shift(from: string, to: string): Promise<void> {
    if (!this.owns(from) || (await exists(this.absolute(to)))) return;
    await mkdir(dirname(this.absolute(to)), { recursive: true });
    await rename(this.absolute(from), this.absolute(to)).catch((error: unknown) => {
      if (!isErrno(error, "ENOENT")) throw error;
    });
    await this.#pruneFolders(from);
  }

  /** Already gone is as good as removed. */
  async remove(file: string): Promise<void> {
    if (!this.owns(file)) return;
    await rm(this.absolute(file), { force: true });
    await this.#pruneFolders(file);
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

  async #visitFolder(folder: string, hear: (path: string, file: FileOnDisk) => void, turn: Turn): Promise<void> {
    // Not in our thread: storage that hangs usually does so here, and the rest of the process goes on.
    for (const entry of await readdirIfExists(join(this.#crawlerFolder, folder))) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        await this.#visitFolder(path, hear, turn);
      } else {
        // Another step may have moved the file away since the folder was read.
        const file = fileAt(`${this.#crawlerFolder}/${path}`);
        if (file) hear(path, file);
        if (turn.isOver()) await turn.next();
      }
    }
  }

  /** Removes folders that became empty, up to but not including `01_originals/`, `02_embedded/` and `03_failed/`. */
  async #pruneFolders(file: string): Promise<void> {
    const rootDepth = this.root.split("/").length + 1;
    for (let folder = dirname(file); folder.split("/").length > rootDepth; folder = dirname(folder)) {
      try {
        await rmdir(join(this.#crawlerFolder, folder));
      } catch (error) {
        if (isErrno(error, "ENOENT")) continue;
        return;
      }
    }
  }
}

const FOLDERS: readonly string[] = [ORIGINALS_FOLDER, EMBEDDED_FOLDER, FAILED_FOLDER];

function fileAt(path: string): FileOnDisk | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats && { size: stats.size, mtimeMs: stats.mtimeMs, placedAtMs: stats.ctimeMs };
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function readdirIfExists(path: string): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
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

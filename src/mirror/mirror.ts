import { createHash, randomBytes } from "node:crypto";
import { createWriteStream, lstatSync } from "node:fs";
import { mkdir, readdir, rename, rm, rmdir, stat, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ItemId } from "../contracts/ids.ts";
import type { Observed } from "../contracts/ledger.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { Turn } from "../lib/turn.ts";
import { EMBEDDED_FOLDER, FAILED_FOLDER, PRIVATE_FOLDER } from "./layout.ts";

/** A complete download that is not yet in its place. */
export interface Staged {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
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
    const inside = [EMBEDDED_FOLDER, FAILED_FOLDER].some((folder) => file.startsWith(`${this.root}/${folder}/`));
    return inside && !file.split("/").some((segment) => segment === ".." || segment === "." || segment === "");
  }

  absolute(file: string): string {
    if (!this.owns(file)) throw new Error(`use '${file}': it is outside the folders of its source`);
    return join(this.#crawlerFolder, file);
  }

  embeddedFile(path: string): string {
    return `${this.root}/${EMBEDDED_FOLDER}/${path}`;
  }

  /** The path below `02_embedded/` or `03_failed/`: what a person knows the file by. */
  relativePath(file: string): string {
    return file
      .split("/")
      .slice(this.root.split("/").length + 1)
      .join("/");
  }

  /** Where a file of `02_embedded/` goes when it cannot be embedded. */
  failedFile(file: string): string {
    return file.replace(`${this.root}/${EMBEDDED_FOLDER}/`, `${this.root}/${FAILED_FOLDER}/`);
  }

  isFailed(file: string): boolean {
    return file.startsWith(`${this.root}/${FAILED_FOLDER}/`);
  }

  /** Every file that is there now. One pass, one stat a file: what detect and verify know of the disk. */
  async scan(): Promise<Map<string, FileOnDisk>> {
    const found = new Map<string, FileOnDisk>();
    const turn = new Turn();
    for (const folder of [EMBEDDED_FOLDER, FAILED_FOLDER]) {
      await this.#scanFolder(`${this.root}/${folder}`, found, turn);
    }
    return found;
  }

  /** Throws when the body does; nothing is left behind then. No fsync: a file torn by a power cut fails the size check of the next run. */
  async stage(body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<Staged> {
    const folder = this.#private("staging");
    await mkdir(folder, { recursive: true });
    const path = join(folder, randomBytes(12).toString("hex"));
    const hash = createHash("sha256");
    let size = 0;
    const measured = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      for await (const chunk of chunks) {
        hash.update(chunk);
        size += chunk.byteLength;
        yield chunk;
      }
    };
    try {
      await pipeline(Readable.from(measured(body)), createWriteStream(path, { flags: "wx" }), { signal });
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
    return { path, size, sha256: hash.digest("hex") };
  }

  /** Puts a staged file into its place, over whatever was there, with the source's time. */
  async place(staged: Staged, file: string, modifiedAt: string): Promise<Observed> {
    const target = this.absolute(file);
    const modified = new Date(modifiedAt);
    if (!Number.isNaN(modified.getTime())) await utimes(staged.path, modified, modified);
    await mkdir(dirname(target), { recursive: true });
    await rename(staged.path, target);
    const { mtimeMs } = await stat(target);
    return { size: staged.size, mtimeMs, sha256: staged.sha256 };
  }

  /**
   * First half of a move: the file waits under its item's id. Files that swap names all leave before the first arrives.
   * Between the halves the caller writes the new place into the ledger, so that `recover` knows where they go.
   */
  async moveOut(itemId: ItemId, file: string): Promise<void> {
    await mkdir(this.#private("moving"), { recursive: true });
    await rename(this.absolute(file), this.#waiting(itemId));
    await this.#pruneFolders(file);
  }

  async moveIn(itemId: ItemId, file: string): Promise<void> {
    await mkdir(dirname(this.absolute(file)), { recursive: true });
    await rename(this.#waiting(itemId), this.absolute(file));
  }

  /**
   * After a crash: returns files caught between two places to where the ledger has them, and drops half downloads. A
   * file that cannot be returned is dropped, too: its item then counts as missing on disk and is fetched again.
   */
  async recover(fileOf: (item: ItemId) => Promise<string>): Promise<void> {
    await rm(this.#private("staging"), { recursive: true, force: true });
    for (const name of await readdirIfExists(this.#private("moving"))) {
      const itemId = decodeURIComponent(name) as ItemId;
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

  /** Already gone is as good as removed. */
  async remove(file: string): Promise<void> {
    if (!this.owns(file)) return;
    await rm(this.absolute(file), { force: true });
    await this.#pruneFolders(file);
  }

  /** Takes away all that is left of a source: folders, map files, everything. */
  async destroy(): Promise<void> {
    await rm(join(this.#crawlerFolder, this.root), { recursive: true, force: true });
  }

  /** A file of ours beside the mirror. */
  privatePath(name: string): string {
    return this.#private(name);
  }

  #private(folder: string): string {
    return join(this.#crawlerFolder, this.root, PRIVATE_FOLDER, folder);
  }

  #waiting(itemId: ItemId): string {
    return join(this.#private("moving"), encodeURIComponent(itemId));
  }

  async #scanFolder(folder: string, found: Map<string, FileOnDisk>, turn: Turn): Promise<void> {
    for (const entry of await readdirIfExists(join(this.#crawlerFolder, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        await this.#scanFolder(path, found, turn);
      } else {
        // Another step may have moved the file away since the folder was read.
        const stats = lstatSync(`${this.#crawlerFolder}/${path}`, { throwIfNoEntry: false });
        if (stats) found.set(path, { size: stats.size, mtimeMs: stats.mtimeMs, placedAtMs: stats.ctimeMs });
        if (turn.isOver()) await turn.next();
      }
    }
  }

  /** Removes folders that became empty, up to but not including `02_embedded/` or `03_failed/`. */
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

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function readdirIfExists(path: string): Promise<string[]>;
function readdirIfExists(path: string, options: { withFileTypes: true }): Promise<import("node:fs").Dirent[]>;
async function readdirIfExists(path: string, options?: { withFileTypes: true }): Promise<unknown[]> {
  try {
    return options ? await readdir(path, options) : await readdir(path);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

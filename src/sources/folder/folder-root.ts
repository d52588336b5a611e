import { lstat, realpath } from "node:fs/promises";
import { delimiter, relative, resolve, sep } from "node:path";
import { setTimeout } from "node:timers/promises";
import { BadInputError, RemoteError } from "../../contracts/errors.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { explainErrno } from "./explain-errno.ts";

export interface FolderRoot {
  /** Absolute, without links: what lies below it begins so. */
  readonly path: string;
  /** `device:inode`. */
  readonly identity: string;
  /** Our own storage, absolute, without links. */
  readonly storage: string;
  /** The same, below the root and `/`-separated; "" when it is not there. */
  readonly storageBelow: string;
}

export interface FolderTreeOptions {
  /** Our own storage: never a source, never below one. */
  readonly storagePath: string;
  readonly roots: AllowedRoots;
}

/** The folders that sources may lie in, as things stand now. */
export type AllowedRoots = () => Promise<readonly string[] | "anywhere">;

/** Throws unless it is a folder that may be read: then nothing is known of what is in it. */
export async function openRoot(root: string, options: FolderTreeOptions): Promise<FolderRoot> {
  const storage = await realOrWritten(options.storagePath);
  const path = await realpath(root).catch(async (error: unknown) => {
    // Where it may not be is the better reason, and one that holds when it is there again.
    await assertAllowed(root, resolve(root), storage, options);
    throw unreadableFolder(root, error);
  });
  await assertAllowed(root, path, storage, options);
  const stats = await lstat(path);
  if (!stats.isDirectory()) {
    throw new BadInputError(
      `'${root}' is a file. The root of a source is a folder; name the one that the file lies in.`,
    );
  }
  const storageBelow = isWithin(storage, path) ? relative(path, storage).replaceAll(sep, "/") : "";
  return { path, identity: `${stats.dev}:${stats.ino}`, storage, storageBelow };
}

/**
 * What can be said of a root before it is crawled: BadInputError for one that no crawl would take. A share that is not mounted, or
 * does not answer, may be there when it is crawled.
 */
export async function validateRoot(root: string, options: FolderTreeOptions): Promise<void> {
  const looking = openRoot(root, options).catch((error: unknown) => {
    if (error instanceof BadInputError) throw error;
  });
  await Promise.race([looking, setTimeout(CHECK_TIMEOUT_MS, undefined, { ref: false })]);
}

const CHECK_TIMEOUT_MS = 2000;

/** `path` is what `root` really is. */
async function assertAllowed(root: string, path: string, storage: string, options: FolderTreeOptions): Promise<void> {
  const roots = await options.roots();
  if (roots !== "anywhere") {
    const allowed = await Promise.all(roots.map(realOrWritten));
    if (!allowed.some((folder) => isWithin(path, folder))) {
      throw new BadInputError(`The folder '${root}' is none that may be read: ${sayAllowed(root, roots)}`);
    }
  }
  if (isWithin(path, storage)) {
    throw new BadInputError(
      `The folder '${root}' lies in the storage of lockstep, which cannot be a source of itself. Choose another folder.`,
    );
  }
}

function sayAllowed(root: string, roots: readonly string[]): string {
  const add = `Set FOLDER_ROOTS to '${root}', or a folder above it, beside what it names already ('${delimiter}' between folders), and start lockstep again.`;
  if (roots.length === 0) return `since there are keys, FOLDER_ROOTS has to allow it, and names no folder. ${add}`;
  return `only ${roots.map((each) => `'${each}'`).join(", ")} and what is below may. ${add}`;
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Without its cause, which would say the same once more in the system's words. */
export function unreadableFolder(root: string, error: unknown): RemoteError {
  const why = isErrno(error, "ENOENT") ? "it is not there; if it is a share, is it mounted?" : explainErrno(error);
  return new RemoteError(`look at the folder '${root}': ${why}`);
}

/** What is not there yet has no real path. */
async function realOrWritten(path: string): Promise<string> {
  return await realpath(path).catch(() => resolve(path));
}

import { lstat, realpath } from "node:fs/promises";
import { delimiter, relative, resolve, sep } from "node:path";
import { setTimeout } from "node:timers/promises";
import { BadInputError, RemoteError } from "../../contracts/errors.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { explainErrno } from "./explain-errno.ts";

export interface FolderRoot {
  /** Absolute real path. */
  readonly path: string;
  /** `device:inode`. */
  readonly identity: string;
  /** Absolute real path of our own storage. */
  readonly storage: string;
  /** Storage below the root, `/`-separated; "" if it is elsewhere. */
  readonly storageBelow: string;
}

export interface FolderTreeOptions {
  /** Our own storage: never a source, and skipped below one. undefined: the folder is ours. */
  readonly storagePath: string | undefined;
  readonly roots: AllowedRoots;
}

/** Returns the folders in which sources may be, by the current settings. */
export type AllowedRoots = () => Promise<readonly string[] | "anywhere">;

/** Throws unless it is a readable folder: without it, nothing is known about its files. */
export async function openRoot(root: string, options: FolderTreeOptions): Promise<FolderRoot> {
  const { storagePath } = options;
  const storage = storagePath === undefined ? "" : await realPathIfExists(storagePath);
  const path = await realpath(root).catch(async (error: unknown) => {
    // Prefer the message that it is not allowed: that stays true when the folder is back.
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
  const storageBelow = storage !== "" && isWithin(storage, path) ? relative(path, storage).replaceAll(sep, "/") : "";
  return { path, identity: `${stats.dev}:${stats.ino}`, storage, storageBelow };
}

/**
 * Checks a root before it is saved. Throws BadInputError for one that no crawl would accept. Accepts a share that is not
 * mounted or does not respond: it may be available later.
 */
export async function validateRoot(root: string, options: FolderTreeOptions): Promise<void> {
  const check = openRoot(root, options).catch((error: unknown) => {
    if (error instanceof BadInputError) throw error;
  });
  await Promise.race([check, setTimeout(CHECK_TIMEOUT_MS, undefined, { ref: false })]);
}

const CHECK_TIMEOUT_MS = 2000;

/** `path`: real path of `root`. */
async function assertAllowed(root: string, path: string, storage: string, options: FolderTreeOptions): Promise<void> {
  const roots = await options.roots();
  if (roots !== "anywhere") {
    const allowed = await Promise.all(roots.map(realPathIfExists));
    if (!allowed.some((folder) => isWithin(path, folder))) {
      throw new BadInputError(`The folder '${root}' may not be read: ${explainRoots(root, roots)}`);
    }
  }
  if (storage !== "" && isWithin(path, storage)) {
    throw new BadInputError(
      `The folder '${root}' lies in the storage of lockstep, which cannot be a source of itself. Choose another folder.`,
    );
  }
}

function explainRoots(root: string, roots: readonly string[]): string {
  const add = `Set FOLDER_ROOTS to '${root}', or a folder above it, beside what it names already ('${delimiter}' between folders), and start lockstep again.`;
  if (roots.length === 0) return `since there are keys, FOLDER_ROOTS has to allow it, and names no folder. ${add}`;
  return `only ${roots.map((each) => `'${each}'`).join(", ")} and what is below may. ${add}`;
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Leaves out the cause, which repeats the reason in the system's words. */
export function unreadableFolder(root: string, error: unknown): RemoteError {
  const why = isErrno(error, "ENOENT") ? "it is not there; if it is a share, is it mounted?" : explainErrno(error);
  return new RemoteError(`read the folder '${root}': ${why}`);
}

/** Returns the real path, or the absolute path if it does not exist. */
async function realPathIfExists(path: string): Promise<string> {
  return await realpath(path).catch(() => resolve(path));
}

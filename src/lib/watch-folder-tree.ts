import { type Stats, watch } from "node:fs";
import { lstat, readdir, statfs } from "node:fs/promises";
import { basename, join } from "node:path";
import { explain } from "../contracts/errors.ts";
import { isErrno } from "./atomic-file.ts";
import { NETWORK_FILE_SYSTEMS } from "./network-disk.ts";

export interface Notices {
  /** Something changed directly in this folder: below the root, `/`-separated, "" for the root itself. */
  touched(folder: string): void;
  /** Called once: no more notifications follow, and some may have been missed already. */
  lost(reason: string): void;
}

export interface FolderTreeWatch {
  close(): void;
}

/** Watches one folder. `name` is the entry that changed, if the system says so; throws if the folder cannot be watched. */
export type WatchFolder = (
  path: string,
  options: { readonly recursive: boolean },
  listener: { event(kind: string, name: string | null): void; error(error: unknown): void },
) => { close(): void };

export interface TreeWatchOptions {
  /** Tells whether anything in this folder, below the root, is of interest. */
  readonly enters: (folder: string) => boolean;
  readonly watchFolder?: WatchFolder;
  /** One watch for the whole tree, where the system supports that well. */
  readonly recursive?: boolean;
  /** The file system type from `statfs`. */
  readonly fileSystemOf?: (path: string) => Promise<number>;
}

/**
 * Reports changes in a folder and everything below it. Notifications are hints: callers must scan the folder themselves, now and then also
 * without a notification. New folders are watched at once, and reported when their watch is active, because files may have come before it.
 * Resolves when everything is watched; throws if that is not possible.
 */
export async function watchFolderTree(
  root: string,
  notices: Notices,
  options: TreeWatchOptions,
): Promise<FolderTreeWatch> {
  const tree = new TreeWatch(root, notices, options);
  await tree.open();
  return tree;
}

/** FUSE and 9P: mostly a remote disk behind a driver. */
const WITHOUT_NOTIFICATIONS: ReadonlySet<number> = new Set([...NETWORK_FILE_SYSTEMS, 0x65735546, 0x01021997]);

const SUPPORTS_RECURSIVE = process.platform === "darwin" || process.platform === "win32";

class TreeWatch implements FolderTreeWatch {
  readonly #root: string;
  readonly #notices: Notices;
  readonly #options: Required<TreeWatchOptions>;
  readonly #watches = new Map<string, { close(): void }>();
  /** Entries that appeared, left or were replaced, and were not checked yet. */
  readonly #renamed = new Set<string>();
  #checking = false;
  #closed = false;
  #isOpen = false;
  /** The reason of a loss before watching began: the caller has no watch yet. */
  #lostEarly: string | undefined;
  #identity: string | undefined;

  constructor(root: string, notices: Notices, options: TreeWatchOptions) {
    this.#root = root;
    this.#notices = notices;
    const fileSystemOf = async (path: string): Promise<number> => (await statfs(path)).type;
    this.#options = { watchFolder: watchOneFolder, recursive: SUPPORTS_RECURSIVE, fileSystemOf, ...options };
  }

  async open(): Promise<void> {
    this.#identity = identityOf(await lstat(this.#root));
    if (WITHOUT_NOTIFICATIONS.has(await this.#options.fileSystemOf(this.#root))) {
      throw new Error("it lies on a network file system, and what others change there is not reported here");
    }
    try {
      await this.#enter("");
      if (this.#lostEarly !== undefined) throw new Error(this.#lostEarly);
      this.#isOpen = true;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close(): void {
    this.#closed = true;
    for (const one of this.#watches.values()) one.close();
    this.#watches.clear();
  }

  #lose(reason: string): void {
    if (this.#closed) return;
    this.close();
    if (this.#isOpen) this.#notices.lost(reason);
    else this.#lostEarly = reason;
  }

  /** Watches a folder, then lists it: later changes are reported. */
  async #enter(top: string): Promise<void> {
    const waiting = [top];
    for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
      if (this.#closed) return;
      if (!this.#watch(folder)) continue;
      this.#notices.touched(folder);
      const entries = await readdir(this.#absolute(folder), { withFileTypes: true }).catch(() => []);
      for (const entry of entries) {
        const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
        if (entry.isDirectory() && this.#options.enters(path)) waiting.push(path);
      }
    }
  }

  /** Returns false if it does not exist any more. */
  #watch(folder: string): boolean {
    const { recursive, watchFolder } = this.#options;
    if (recursive && folder !== "") return true;
    try {
      const watching = watchFolder(
        this.#absolute(folder),
        { recursive },
        {
          event: (kind, name) => this.#onEvent(folder, kind, name),
          error: (error) => this.#lose(explain(error)),
        },
      );
      this.#watches.get(folder)?.close();
      this.#watches.set(folder, watching);
      return true;
    } catch (error) {
      if (folder !== "" && (isErrno(error, "ENOENT") || isErrno(error, "ENOTDIR"))) return false;
      throw error;
    }
  }

  #onEvent(folder: string, kind: string, name: string | null): void {
    if (this.#closed) return;
    const below = name?.replaceAll("\\", process.platform === "win32" ? "/" : "\\") ?? "";
    const path = folder === "" || below === "" ? folder + below : `${folder}/${below}`;
    const where = this.#options.recursive ? path.slice(0, Math.max(path.lastIndexOf("/"), 0)) : folder;
    if (where !== "" && !this.#options.enters(where)) return;
    this.#notices.touched(where);
    if (kind !== "rename") return;
    this.#renamed.add(path);
    if (this.#checking) return;
    this.#checking = true;
    void this.#checkRenamed().catch((error: unknown) => this.#lose(explain(error)));
  }

  async #checkRenamed(): Promise<void> {
    try {
      for (const path of this.#renamed) {
        this.#renamed.delete(path);
        // For a watched folder that left, the system reports only its own name; nothing else would report the root.
        if (path === basename(this.#root) && !(await this.#isSameRoot())) {
          return this.#lose("the folder was moved, removed or replaced");
        }
        this.#leave(path);
        const found = await lstat(this.#absolute(path)).catch(() => undefined);
        if (found?.isDirectory() && (path === "" || this.#options.enters(path))) await this.#enter(path);
      }
    } finally {
      this.#checking = false;
    }
  }

  /** A watch follows its folder when that is moved: the path needs a new one. */
  #leave(path: string): void {
    if (this.#options.recursive) this.#notices.touched(path);
    if (!this.#watches.has(path)) return;
    for (const [folder, watching] of this.#watches) {
      if (folder !== path && !(path === "" || folder.startsWith(`${path}/`))) continue;
      watching.close();
      this.#watches.delete(folder);
      this.#notices.touched(folder);
    }
  }

  async #isSameRoot(): Promise<boolean> {
    const found = await lstat(this.#root).catch(() => undefined);
    return found !== undefined && identityOf(found) === this.#identity;
  }

  #absolute(folder: string): string {
    return join(this.#root, folder);
  }
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

const watchOneFolder: WatchFolder = (path, options, listener) => {
  const watcher = watch(path, { ...options, persistent: false }, (kind, name) => listener.event(kind, name));
  watcher.on("error", (error) => listener.error(error));
  return watcher;
};

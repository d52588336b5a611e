import type { Finding } from "./finding.ts";
import type { Completeness, Unreadable } from "./source.ts";

/** A file as listed, without reading it. Files of a tree have no ids, only paths. */
export interface TreeFile {
  /** Below the tree's root, `/`-separated, exactly as the tree spells it. */
  readonly path: string;
  readonly size: number;
  /** Milliseconds since 1970, with fraction. Formatted as text only where needed: that is slow for many files. */
  readonly modifiedAtMs: number;
  /**
   * The same stamp for the same path means unchanged bytes. For folders: size, modified time and inode; for containers:
   * the ETag. "": unknown, so the file is read.
   */
  readonly stamp: string;
  /**
   * Stays the same when the file is renamed (`device:inode`); `device:` where inodes are unreliable, "" where there is
   * none.
   */
  readonly node: string;
}

/** The files of one folder, without its subfolders; of a container, one page of the listing. */
export interface TreePage {
  readonly folder: string;
  readonly files: readonly TreeFile[];
  /** Entries that could not be read. */
  readonly unreadable: readonly UnreadableEntry[];
  /** Left out by a rule (too large, a link out of the root), with the reason. Not gone. */
  readonly skipped: readonly SkippedFile[];
  /** Present if this page is the whole folder. */
  readonly whole?: WholeFolder;
}

export interface SkippedFile {
  readonly path: string;
  readonly reason: string;
  /** It is larger than the source takes. */
  readonly isTooLarge?: true;
}

/** `what`, if known: an unreadable link, or file of an unwanted type, matters only if a document was there. */
export interface UnreadableEntry extends Unreadable {
  readonly what?: "file" | "link";
}

export interface WholeFolder {
  /** Names of the subfolders that are walked. */
  readonly folders: readonly string[];
  /** Prefix of its files' nodes; "" where there is none. */
  readonly device: string;
}

/** A folder, or a container of blobs. */
export interface FileTree {
  /** For messages: the path of the folder, or the URL of the container without secrets. */
  readonly location: string;
  /** Identifies the root (`device:inode`), to detect another disk mounted there; "" where there is none. */
  identity(signal: AbortSignal): Promise<string>;
  /**
   * Lists everything that the source's rules include. With `below`, at least those folders, without their subfolders; a
   * missing one is left out. Throws if the root cannot be read.
   */
  walk(signal: AbortSignal, below?: ReadonlySet<string>): AsyncGenerator<TreePage, Completeness>;
  /**
   * Returns the bytes as they are now; with `stamp`, as of that stamp, if the tree can tell. Throws NotFoundError if
   * the file is gone, another error if it cannot be read completely, has changed since, or is larger than the source
   * allows.
   */
  read(path: string, signal: AbortSignal, stamp?: string): AsyncIterable<Uint8Array>;
  /** Returns the file's path on this machine; absent for trees that are not local. */
  localPath?(path: string): string;
  /** Returns the URL that a user can open, percent-encoded, and the same not encoded. */
  addressOf(path: string): { readonly url: string; readonly rawUrl: string };
  /** As Source.sayLeftOut. */
  sayLeftOut?(path: string, signal: AbortSignal): Promise<string | undefined>;
  /** Removes its temporary files. */
  close?(): Promise<void>;
  /** As Source.diagnose. `isTaken`: whether a file can become a document by its type. */
  diagnose(isTaken: (path: string) => boolean, signal: AbortSignal): AsyncIterable<Finding>;
}

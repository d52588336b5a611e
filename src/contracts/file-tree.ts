import type { Finding } from "./finding.ts";
import type { Completeness, Unreadable } from "./source.ts";

/** A file as its tree tells of it, without our reading it. Files of a tree have no ids: a path is all there is. */
export interface TreeFile {
  /** Below the tree's root, `/`-separated, exactly as the tree spells it. */
  readonly path: string;
  readonly size: number;
  /** Milliseconds since 1970, with their fraction: text is made only of those that are to be told. */
  readonly modifiedAtMs: number;
  /**
   * The same text, for the same path: the bytes were not touched. Of a folder made of size, modified time and inode, of a
   * container of the ETag. "": nobody can tell, so the file is read.
   */
  readonly stamp: string;
  /** What stays with a file that is renamed, as long as it lives (`device:inode`); `device:` where inodes tell nothing, "" where there is no such thing. */
  readonly node: string;
}

/** What one folder holds, not what is below its folders; of a container, as many as one answer has. */
export interface TreePage {
  readonly folder: string;
  readonly files: readonly TreeFile[];
  /** What is there and could not be looked at. */
  readonly unreadable: readonly UnreadableEntry[];
  /** Left out by a rule (too large, a link that leads out of the root), with the reason. Not gone: it may be asked for why it is not found. */
  readonly skipped: readonly { readonly path: string; readonly reason: string }[];
  /** Of a page that is all there is of its folder. */
  readonly whole?: WholeFolder;
}

/** `what`, where that is known: of a file of a type that nobody wants, and of a link, it matters only when a document was there. */
export interface UnreadableEntry extends Unreadable {
  readonly what?: "file" | "link";
}

export interface WholeFolder {
  /** The folders in it that are walked, by name. */
  readonly folders: readonly string[];
  /** What the nodes of its files begin with; "" where there is no such thing. */
  readonly device: string;
}

/** A place full of files: a folder, a container of blobs. */
export interface FileTree {
  /** Where it is, for messages: the path of the folder, the address of the container, never with a secret. */
  readonly location: string;
  /** What tells that this is the place it was last time (`device:inode` of the root); "" where there is no such thing. */
  identity(signal: AbortSignal): Promise<string>;
  /**
   * Everything that the rules of the source let in. With `below`, at least those folders, not what is below them; one that is
   * not there is left out. Throws when the root itself cannot be read: then nothing is known.
   */
  walk(signal: AbortSignal, below?: ReadonlySet<string>): AsyncGenerator<TreePage, Completeness>;
  /**
   * The bytes as they are now; with `stamp`, as they were when they had it, where the tree can tell. Throws NotFoundError when
   * it is gone, anything else when it cannot be read now, or not whole, has changed since, or is larger than the source allows.
   */
  read(path: string, signal: AbortSignal, stamp?: string): AsyncIterable<Uint8Array>;
  /** Where the bytes lie on a disk of this machine; not asked where the tree has none there. */
  localPath?(path: string): string;
  /** Address a person can open, percent-encoded, and the same not encoded. */
  addressOf(path: string): { readonly url: string; readonly rawUrl: string };
  /** Removes its temporary files. */
  close?(): Promise<void>;
  /** As Source.diagnose. `isTaken`: whether a file can become a document by its type. */
  diagnose(isTaken: (path: string) => boolean, signal: AbortSignal): AsyncIterable<Finding>;
}

import type { ItemId } from "./ids.ts";

/**
 * active: it is there. error: it could not be read this time, and keeps its place. missing: it is not there, hidden from search,
 * and kept in case it comes back. deleted: the grace is over and what was kept of it is purged; only the name is remembered.
 */
export const FILE_STATUSES = ["active", "missing", "error", "deleted"] as const;
export type FileStatus = (typeof FILE_STATUSES)[number];

/** What `manifest.json` says of itself. */
export const MANIFEST_LAYOUT = 2;
/** `v1` for the first version of a document, then `v2` and so on: also the name of a folder. */
export const VERSION_ID = "^v[1-9][0-9]{0,8}$";

/** One file of a tree, under an identity of ours that follows it wherever it goes. */
export interface ManifestEntry {
  /** Below the root, as the tree spells it; of one that is missing or deleted, where it was. */
  readonly path: string;
  /** `doc_…`, given at first sight. */
  readonly docId: ItemId;
  /** SHA-256 of the bytes, hex. */
  readonly contentHash: string;
  readonly size: number;
  /** ISO 8601 UTC with six fraction digits. */
  readonly modifiedAt: string;
  /** As in TreeFile. */
  readonly stamp: string;
  readonly node: string;
  readonly status: FileStatus;
  /** When it was last seen to be there, ISO 8601 UTC. */
  readonly lastSeenAt: string;
  /** Failures to read it, in a row. */
  readonly retryCount: number;
  /** Why it could not be read; "" unless its status is error. */
  readonly error: string;
  /** Since when, and in how many complete looks, it was missing; "" and 0 while it is not. */
  readonly missingSinceAt: string;
  readonly missingRuns: number;
  /** "" unless it is deleted. */
  readonly deletedAt: string;
  /** What the knowledge base kept of it, oldest first; the last one is the current one. */
  readonly versions: readonly FileVersion[];
  /** What happened to it, oldest first; the last few. */
  readonly lineage: readonly LineageEvent[];
}

/** What tells whether a file is what it was. */
export type FileMark = Pick<ManifestEntry, "path" | "stamp" | "node">;

/** What is known of one folder, beside what is found in it. Good until something is put. */
export interface KnownFolder {
  /** The entry that has this path, if it is active or error. "same": it is active and has this mark; nothing more of it was read, which is what makes it cheap. */
  meet(file: FileMark): ManifestEntry | "same" | undefined;
  /** How many were met. */
  readonly met: number;
  /** Those of the folder that are active or error and were not. */
  unmet(): Iterable<ManifestEntry>;
}

export interface FileVersion {
  /** As VERSION_ID has it. */
  readonly versionId: string;
  /** ISO 8601 UTC. */
  readonly at: string;
  /** Of the bytes it was made from. */
  readonly hash: string;
}

export interface LineageEvent {
  /** found: seen for the first time. copied: the same, with the content of another file that is still there. edited: other content at the same path. */
  readonly event: "found" | "copied" | "edited" | "moved" | "moved-and-edited" | "restored" | "missing" | "deleted";
  /** Where it was before; "" when that does not apply. */
  readonly from: string;
  /** 1: the content is the same, or the path is. Less: how similar the texts are. */
  readonly certainty: number;
  /** ISO 8601 UTC. */
  readonly at: string;
}

/** What a whole tree was like when it was last looked at. */
export interface TreeLook {
  /** FileTree.identity() and FileTree.place, with a space between; "" where there is no identity. */
  readonly root: string;
  /** The last look at everything, ISO 8601 UTC: whatever is active was seen then, or since. "" before the first one. */
  readonly at: string;
  /** Names what was seen: another name there means that this manifest does not know of it. "" when it was not told. */
  readonly id: string;
}

/**
 * The memory of one tree, `manifest.json`: a snapshot, and a journal of what changed since. Written only under the lease of the
 * source's download step; anybody may read. Entries are keyed by path; one whose path belongs to another file now (only ever
 * one that is missing or deleted) is kept beside them, by its document.
 */
export interface Manifest {
  /** How many entries there are, by status. */
  count(): Readonly<Record<FileStatus, number>>;
  /** The entry that has this path now. */
  at(path: string): ManifestEntry | undefined;
  find(docId: ItemId): ManifestEntry | undefined;
  /** Every entry, in pages, in no particular order; safe against puts while iterating. */
  entries(): Iterable<readonly ManifestEntry[]>;
  /** Only those that are missing or deleted; cheap when there are few. */
  absent(): Iterable<ManifestEntry>;
  /** Of one folder, not of the folders below it. */
  inFolder(folder: string): KnownFolder;
  /** Those that are active or error and have this content; cheap. */
  withContent(contentHash: string): Iterable<ManifestEntry>;
  /** Active ones whose current version is not of their content; cheap when there are none. */
  unkept(): Iterable<ManifestEntry>;
  /** Sets the entry of its document, wherever that was before. Reads see it at once; it is on disk with the next flush. */
  put(entry: ManifestEntry): void;
  /** Forgets a document. */
  drop(docId: ItemId): void;
  /** undefined before the first look. */
  readonly look: TreeLook | undefined;
  /** Everything active was seen at `at`: sets `lastSeenAt` of all of them without writing them. */
  noteLook(look: TreeLook): void;
  /** Everything put so far survives a crash. */
  flush(): Promise<void>;
  /**
   * The same, and `manifest.json` says it all. Does nothing when there is nothing to say; "due": nor for a few changes of a large
   * one, which stay in the journal. Nothing may be put meanwhile.
   */
  snapshot(when?: "due" | "now"): Promise<void>;
  /** To be called also when it was opened for reading. Snapshots when that is due, unless it was. */
  close(): Promise<void>;
  /** Lets go of it without writing anything more, as after a failure; also of one that is closed. */
  release(): void;
}

import type { ItemId } from "./ids.ts";

/**
 * active: present. error: present, but could not be read this time. missing: not there, hidden from search, and
 * retained in case it returns. deleted: the grace period is over and its data was purged; only the entry is left.
 */
export const FILE_STATUSES = ["active", "missing", "error", "deleted"] as const;
export type FileStatus = (typeof FILE_STATUSES)[number];

/** The value of `layout` in `manifest.json`. */
export const MANIFEST_LAYOUT = 2;
export const MANIFEST_FILE = "manifest.json";
/** `v1` for the first version of a document, then `v2` and so on: also a folder name. */
export const VERSION_ID = "^v[1-9][0-9]{0,8}$";

/** One file of a tree, with an id of ours that stays when it is moved or edited. */
export interface TrackedFile {
  /** Below the root, as the tree spells it; of a missing or deleted file, its last path. */
  readonly path: string;
  /** `doc_…`, assigned when it was first seen. */
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
  /** When it was last seen, ISO 8601 UTC. */
  readonly lastSeenAt: string;
  /** Consecutive failures to read it. */
  readonly retryCount: number;
  /** Why it could not be read; "" unless its status is error. */
  readonly error: string;
  /** Missing since when, and in how many complete listings; "" and 0 while it is not missing. */
  readonly missingSinceAt: string;
  readonly missingRuns: number;
  /** "" unless it is deleted. */
  readonly deletedAt: string;
}

export interface ManifestEntry extends TrackedFile {
  /** Its versions in the knowledge base, oldest first; the last one is current. */
  readonly versions: readonly FileVersion[];
  /** Its last events, oldest first. */
  readonly lineage: readonly LineageEvent[];
}

/** A file as listed. */
export type ListedFile = Pick<TrackedFile, "docId" | "path" | "size" | "modifiedAt" | "contentHash">;

/** The fields that show whether a present (active or error) file changed. */
export type KnownFile = Pick<TrackedFile, "docId" | "path" | "stamp" | "node" | "status" | "contentHash">;

/** The files of a folder now. Stamps and nodes contain no slash, and names neither. */
export interface FilesOfFolder {
  readonly folder: string;
  readonly files: readonly Pick<TrackedFile, "path" | "stamp" | "node">[];
}

export interface FileVersion {
  /** Matches VERSION_ID. */
  readonly versionId: string;
  /** ISO 8601 UTC. */
  readonly at: string;
  /** SHA-256 of the bytes it was made from. */
  readonly hash: string;
}

export interface LineageEvent {
  /**
   * found: seen for the first time. copied: likewise, with the content of another file that still exists. edited: other
   * content at the same path.
   */
  readonly event: "found" | "copied" | "edited" | "moved" | "moved-and-edited" | "restored" | "missing" | "deleted";
  /** The earlier path; "" if that does not apply. */
  readonly from: string;
  /** 1: same content or same path. Less: the similarity of the texts. */
  readonly certainty: number;
  /** ISO 8601 UTC. */
  readonly at: string;
}

/** The last scan of a tree. */
export interface ScanRecord {
  /** FileTree.identity() and FileTree.location, separated by a space; "" if there is no identity. */
  readonly root: string;
  /** The last full scan, ISO 8601 UTC: every active file was seen then, or since. "" before the first one. */
  readonly at: string;
  /** Id of the scan. "": the rest of the ledger may lack some entries, or `manifest.json` was edited. */
  readonly id: string;
  /** The part of the files that was last read in full, where stamps are not reliable. */
  readonly turn: number;
}

/**
 * The files of one tree: part of its ledger, and written with it. Changed only under the lease of the source's download
 * step; readable any time. Several entries may have the same path: a present one wins, then the one written last.
 */
export interface Manifest {
  /** false: nothing was written yet, or everything is lost. */
  readonly isKnown: boolean;
  /** Counts entries by status. */
  count(): Promise<Readonly<Record<FileStatus, number>>>;
  /** Counts present (active or error) and absent entries; ten times as fast. */
  countPresent(): Promise<{ readonly present: number; readonly absent: number }>;
  /** Returns the entries that have these paths now, by path. */
  at(paths: readonly string[]): Promise<ReadonlyMap<string, ManifestEntry>>;
  find(docIds: readonly ItemId[]): Promise<ReadonlyMap<ItemId, ManifestEntry>>;
  /** Returns one entry without its history. */
  file(docId: ItemId): Promise<TrackedFile | undefined>;
  /** Every entry, in pages, in no particular order; safe against puts while iterating. */
  entries(): AsyncIterable<readonly ManifestEntry[]>;
  /** Active files as listed, likewise. */
  active(): AsyncIterable<readonly ListedFile[]>;
  /** Only entries with these statuses; cheap if few are missing or deleted. */
  withStatus(...statuses: readonly FileStatus[]): AsyncIterable<readonly ManifestEntry[]>;
  /** Active files without a text of their current content; cheap if there are none. */
  withoutText(): AsyncIterable<readonly TrackedFile[]>;
  /** In pages, at least every folder with a present file; with `below`, only that folder and those below it. */
  folders(below?: string): AsyncIterable<readonly string[]>;
  /**
   * Returns, by folder, the paths of its files (not below it) that differ from the given ones: new, missing, or with
   * another or no stamp, or another node; perhaps others as well. May leave folders out, and does so if not every file
   * in one is active, or two have the same path.
   */
  differences(folders: readonly FilesOfFolder[]): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** Returns the present files of these folders, not below them, by path; the first of each list owns the path. */
  inFolders(folders: readonly string[]): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly KnownFile[]>>>;
  /** Returns the present files at these paths, by path. */
  knownAt(paths: readonly string[]): Promise<ReadonlyMap<string, KnownFile>>;
  /** In pages, items with a file in the mirror and no entry: entries were removed from `manifest.json`. */
  unknown(): AsyncIterable<readonly ItemId[]>;
  /** Returns those of these documents that have no entry, of whatever status. */
  lacking(docIds: readonly ItemId[]): Promise<readonly ItemId[]>;
  /** Counts the present files by content hash. */
  countContent(hashes: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Returns the present files with such a content hash and node. */
  withNodes(files: readonly Pick<TrackedFile, "contentHash" | "node">[]): Promise<readonly ManifestEntry[]>;
  /** Sets the entry of its document, replacing any earlier path. Reads see it at once; the next flush writes it. */
  put(entry: ManifestEntry): void;
  /** Deletes an entry. */
  drop(docId: ItemId): void;
  /** undefined before the first scan. */
  readonly lastScan: ScanRecord | undefined;
  /** Sets `lastSeenAt` of all active files to `at`, without writing each of them. */
  recordScan(scan: ScanRecord): void;
  /** As Ledger.flush. ConflictError if another process wrote it meanwhile. */
  flush(): Promise<void>;
}

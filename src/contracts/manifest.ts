import type { ItemId } from "./ids.ts";

/**
 * active: it is there. error: it could not be read this time, and keeps its place. missing: it is not there, hidden from search,
 * and kept in case it comes back. deleted: the grace is over and what was kept of it is purged; only the name is remembered.
 */
export const FILE_STATUSES = ["active", "missing", "error", "deleted"] as const;
export type FileStatus = (typeof FILE_STATUSES)[number];

/** What `manifest.json` says of itself. */
export const MANIFEST_LAYOUT = 2;
export const MANIFEST_FILE = "manifest.json";
/** `v1` for the first version of a document, then `v2` and so on: also the name of a folder. */
export const VERSION_ID = "^v[1-9][0-9]{0,8}$";

/** One file of a tree, under an identity of ours that follows it wherever it goes. */
export interface TrackedFile {
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
}

export interface ManifestEntry extends TrackedFile {
  /** What the knowledge base kept of it, oldest first; the last one is the current one. */
  readonly versions: readonly FileVersion[];
  /** What happened to it, oldest first; the last few. */
  readonly lineage: readonly LineageEvent[];
}

/** What a listing says of a file. */
export type ListedFile = Pick<TrackedFile, "docId" | "path" | "size" | "modifiedAt" | "contentHash">;

/** What tells whether a file that is there, active or error, is what it was. */
export type KnownFile = Pick<TrackedFile, "docId" | "path" | "stamp" | "node" | "status">;

/** What a folder holds now. Stamps and nodes have no slash in them, as little as names. */
export interface FilesOfFolder {
  readonly folder: string;
  readonly files: readonly Pick<TrackedFile, "path" | "stamp" | "node">[];
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

/** The last scan of a tree. */
export interface ScanRecord {
  /** FileTree.identity() and FileTree.place, with a space between; "" where there is no identity. */
  readonly root: string;
  /** The last full scan, ISO 8601 UTC: every active file was seen then, or since. "" before the first one. */
  readonly at: string;
  /** Id of the scan. "": entries were written that the rest of the ledger may not know of yet, or somebody edited `manifest.json`. */
  readonly id: string;
  /** Which part of the files was last read in full, where stamps do not tell enough. */
  readonly turn: number;
}

/**
 * The files of one tree: part of its ledger, and written with it. Changed only under the lease of the source's download step;
 * anybody may read. Several entries may have one path: one that is there has it, and of those the one that was written last.
 */
export interface Manifest {
  /** false: nothing was ever written, or all of it is lost. */
  readonly isKnown: boolean;
  /** How many entries there are, by status. */
  count(): Promise<Readonly<Record<FileStatus, number>>>;
  /** How many are active or error, and how many are not: a tenth of the work. */
  countPresent(): Promise<{ readonly present: number; readonly absent: number }>;
  /** By path, the entries that have these paths now. */
  at(paths: readonly string[]): Promise<ReadonlyMap<string, ManifestEntry>>;
  find(docIds: readonly ItemId[]): Promise<ReadonlyMap<ItemId, ManifestEntry>>;
  /** One of them, without its history. */
  file(docId: ItemId): Promise<TrackedFile | undefined>;
  /** Every entry, in pages, in no particular order; safe against puts while iterating. */
  entries(): AsyncIterable<readonly ManifestEntry[]>;
  /** Those that are active, likewise, as they are listed. */
  active(): AsyncIterable<readonly ListedFile[]>;
  /** Only those with such a status; cheap where few are missing or deleted. */
  withStatus(...statuses: readonly FileStatus[]): AsyncIterable<readonly ManifestEntry[]>;
  /** Active ones whose current version is not of their content; cheap when there are none. */
  withoutText(): AsyncIterable<readonly TrackedFile[]>;
  /** In pages, at least every folder with a file in it that is active or error; with `below`, of those at and below it. */
  folders(below?: string): AsyncIterable<readonly string[]>;
  /**
   * By folder, the paths of files in it, not below it, that are not what these folders hold: new, not there any more, or with another stamp or
   * node, or no stamp; perhaps others as well. May leave folders out, and does so with those in which not every file is active, or two have one path.
   */
  differences(folders: readonly FilesOfFolder[]): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** Files that are active or error, of these folders, not of those below: by path, the first of each has it. */
  inFolders(folders: readonly string[]): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly KnownFile[]>>>;
  /** By path, the files that are active or error and have these paths. */
  knownAt(paths: readonly string[]): Promise<ReadonlyMap<string, KnownFile>>;
  /** In pages, items with a file on disk that it does not know: somebody took entries out of `manifest.json`. */
  unknown(): AsyncIterable<readonly ItemId[]>;
  /** Those of these documents that it does not know, whatever became of the others. */
  lacking(docIds: readonly ItemId[]): Promise<readonly ItemId[]>;
  /** By content, how many files that are active or error have it; none are left out. */
  countContent(hashes: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Those that are active or error and have such content in such a node. */
  withNodes(files: readonly Pick<TrackedFile, "contentHash" | "node">[]): Promise<readonly ManifestEntry[]>;
  /** Sets the entry of its document, wherever that was before. Reads see it at once; it is written with the next flush. */
  put(entry: ManifestEntry): void;
  /** Forgets a document. */
  drop(docId: ItemId): void;
  /** undefined before the first scan. */
  readonly lastScan: ScanRecord | undefined;
  /** Everything active was seen at `at`: sets `lastSeenAt` of all of them without writing them. */
  recordScan(scan: ScanRecord): void;
  /** As Ledger.flush. ConflictError when somebody else wrote it meanwhile. */
  flush(): Promise<void>;
}

import type { ListedChange } from "../contracts/change.ts";
import type { VectorStoreId } from "../contracts/ids.ts";
import type { Indexed, LedgerEntry, Mirrored } from "../contracts/ledger.ts";
import type { ManifestEntry } from "../contracts/manifest.ts";
import type { IndexedRef } from "../contracts/search-index.ts";
import type { Sighting } from "../contracts/source.ts";
import { fileTypeOf } from "../lib/file-type.ts";

/*
 * Decides what each step does with one item. Pure functions: from the known state to an outcome with a reason.
 *
 *     download  judgeFile       added, changed: fetch   moved: same bytes elsewhere       unchanged
 *     process   judgeText       added, changed: extract moved: same text elsewhere        unchanged: only the manifest is behind
 *     embed     judgeDocument   put: embed              relabel: same bytes, other label  adopt: only our row is behind   remove   none
 *
 * Whether items that are not listed are removed is decided in detect-changes.ts, for all of them together.
 */

/** Returns the file at a path of the mirror; undefined: none. */
export type DiskLookup = (file: string) => { readonly size: number; readonly mtimeMs: number } | undefined;

/** File systems keep modified times with different precision. */
export const MTIME_TOLERANCE_MS = 2;

/** Judges the file of a listed item. `disk` looks up the path that the ledger has. */
export function judgeFile(
  sighting: Sighting,
  entry: LedgerEntry | undefined,
  disk: DiskLookup,
  { mode }: { readonly mode: "full" | "incremental" },
): ListedChange {
  const known = entry?.mirrored;
  const base = { itemId: sighting.itemId, sighting, entry };
  if (!known) return { kind: "added", ...base, reason: "new at the source" };
  if (known.file === "") return { kind: "added", ...base, reason: "never fetched", anomaly: "missing" };
  const onDisk = disk(known.file);
  if (!onDisk) return { kind: "added", ...base, reason: "missing on disk", anomaly: "missing" };
  const changed = whyChanged(sighting, known);
  if (changed) return { kind: "changed", ...base, reason: changed };
  const altered = whyAltered(known, onDisk, sighting);
  if (altered) return { kind: "changed", ...base, reason: altered, anomaly: "altered" };
  if (mode === "full") return { kind: "changed", ...base, reason: "full crawl" };
  if (known.sourceError) return { kind: "changed", ...base, reason: "the last download failed" };
  if (sighting.serverPath === known.serverPath) return { kind: "unchanged", ...base, reason: "" };
  return { kind: "moved", ...base, reason: `was '${known.serverPath}'` };
}

function whyAltered(
  known: Mirrored,
  onDisk: { size: number; mtimeMs: number },
  { contentHash }: Pick<Sighting, "contentHash">,
): string {
  if (!known.observed) return "";
  // As after a ledger was rebuilt from exports that are older than the mirror.
  if (contentHash && known.observed.sha256 !== contentHash) return "altered on disk: other content";
  if (onDisk.size !== known.observed.size) return "altered on disk: another size";
  return isAsMeasured(onDisk, known.observed) ? "" : "altered on disk: another time";
}

type SizeAndTime = NonNullable<ReturnType<DiskLookup>>;

/** Whether a file has the size and time that we measured. */
export function isAsMeasured(onDisk: SizeAndTime, measured: SizeAndTime): boolean {
  return onDisk.size === measured.size && Math.abs(onDisk.mtimeMs - measured.mtimeMs) <= MTIME_TOLERANCE_MS;
}

/** Compares two listings, never bytes on disk. Times compare with !==: a restored version may be older. */
function whyChanged(sighting: Sighting, known: Mirrored): string {
  const now = sighting.fingerprint;
  const was = known.fingerprint;
  if (now.size !== was.size) return `size ${was.size} became ${now.size}`;
  const isAsWas = sighting.dateIsLabel && was.contentVersion !== "" && now.contentVersion === was.contentVersion;
  if (now.modifiedAt !== was.modifiedAt && !isAsWas) return `modified ${now.modifiedAt}`;
  if (fileTypeOf(sighting.name) !== fileTypeOf(known.name)) return "another file type";
  // The ETag changes with every touch, even a rename or a property; the content version only with the bytes. An unknown
  // earlier value (a lost `.lockstep/`) is no evidence of a change.
  if (was.contentVersion && now.contentVersion) {
    return now.contentVersion === was.contentVersion ? "" : "another content version";
  }
  // Nor is a value that the source does not give now, for example of the published version below a draft.
  if (was.contentVersion) return "";
  const touched = was.etag !== "" && now.etag !== "" && now.etag !== was.etag;
  return touched ? "another ETag" : "";
}

/** What to do with the text of a file; undefined: nothing. */
export type TextChange = "added" | "changed" | "moved" | "unchanged";

/** The current text of a file in the knowledge base. */
interface StoredText {
  /** Hash of the bytes it was made from. */
  readonly hash: string;
  readonly fileType: string;
  readonly path: string;
  /** Revision of the extractor that made it. */
  readonly extractor: string;
  /** Why there is no text, or "". */
  readonly error: string;
}

/** A text is made again if bytes, type or extractor changed, or on request if it failed. */
export function judgeText(
  { path, contentHash, versions }: Pick<ManifestEntry, "path" | "contentHash" | "versions">,
  stored: StoredText | undefined,
  { extractor, retryFailed }: { readonly extractor: string; readonly retryFailed: boolean },
): TextChange | undefined {
  if (!stored) return "added";
  const isMade = stored.hash === contentHash && stored.fileType === fileTypeOf(path) && stored.extractor === extractor;
  if (!isMade || (stored.error !== "" && retryFailed)) return "changed";
  if (stored.path !== path) return "moved";
  return versions.at(-1)?.hash === contentHash ? undefined : "unchanged";
}

/**
 * - put: embed the file; `isAnew`: also if the index has its content already. relabel: same bytes, new name or path. adopt: the index has it already, but our row is
 *   missing (a run was killed between commit and row). remove: it has no file any more.
 */
export type IndexChange =
  | { readonly kind: "put"; readonly reason: string; readonly isAnew?: boolean }
  | { readonly kind: "remove"; readonly reason: string }
  | { readonly kind: "adopt"; readonly stored: IndexedRef }
  | { readonly kind: "relabel" }
  | { readonly kind: "none" };

/** The state of one item in mirror, ledger and index. */
export interface IndexState {
  readonly store: VectorStoreId;
  readonly mode: "full" | "incremental";
  /** Extract, cut and embed it again even if the index has its content. */
  readonly isForced: boolean;
  /** What the vector store has of it; `indexed` of the entry is what the ledger says that it has. */
  readonly stored: IndexedRef | undefined;
  /** The file failed before and is in `03_failed/`. */
  readonly failed: boolean;
  /** An original that waits for the process step: its indexed version stays until the document is there. */
  readonly waiting: boolean;
  /** Path and URL of a label made now; "" if unknown. */
  readonly path: string;
  readonly url: string;
  /** The source no longer has it. A row that is only missing from a map file is no reason to remove anything. */
  readonly mayRemove: boolean;
  /** The download found it at another path or address. */
  readonly hasMoved: boolean;
}

const NONE: IndexChange = { kind: "none" };

/** Judges the document of one item. */
export function judgeDocument(entry: LedgerEntry, state: IndexState): IndexChange {
  const change = judgeContent(entry, state);
  // The site has another address: the file is unchanged, but the URL is not.
  return change.kind === "none" && state.hasMoved && entry.indexed?.fileId ? { kind: "relabel" } : change;
}

function judgeContent({ mirrored, indexed }: LedgerEntry, state: IndexState): IndexChange {
  const { stored } = state;
  if (!mirrored) {
    return state.mayRemove && (stored || indexed) ? { kind: "remove", reason: "no longer in the mirror" } : NONE;
  }
  if (mirrored.file === "" || state.waiting) return NONE;
  if (state.failed) return stored ? { kind: "remove", reason: "its file cannot be embedded" } : NONE;
  const anew = state.isForced && { isAnew: true };
  if (state.mode === "full") return { kind: "put", reason: "full crawl", ...anew };
  if (state.isForced) return { kind: "put", reason: "forced", ...anew };
  const mine = indexed?.fileId && indexed.vectorStoreId === state.store ? indexed : undefined;
  if (!stored || mine?.fileId !== stored.fileId) {
    if (stored && isSameDocument(stored, mirrored)) return { kind: "adopt", stored };
    if (!stored && mine) return { kind: "put", reason: "missing in the vector store" };
    return { kind: "put", reason: indexed?.embeddingError ? "the last embedding failed" : "new" };
  }
  if (isNewContent(mirrored, mine, stored)) return { kind: "put", reason: "changed" };
  // A new version failed, and the source has the old one again.
  if (mine.embeddingError !== "") return { kind: "adopt", stored };
  return isNewLabel(mirrored, mine) || isOutdated(stored, state) ? { kind: "relabel" } : NONE;
}

/** The index has an older path or URL than our rows (after a rollback). */
function isOutdated({ path, url }: IndexedRef, state: IndexState): boolean {
  const differs = (was: string | undefined, now: string): boolean => was !== undefined && now !== "" && was !== now;
  return differs(path, state.path) || differs(url, state.url);
}

/** Whether bytes and file type are the same: another type would give another text. */
function isSameDocument({ sha256, fileType }: IndexedRef, { file, observed }: Mirrored): boolean {
  const sameType = fileType === undefined || fileType === fileTypeOf(file);
  return sameType && sha256 !== "" && sha256 === observed?.sha256;
}

/**
 * The store's own hash is the most reliable: ours is lost with `.lockstep/`, and the map of another store has none.
 * Without any hash, size and time decide, as the specification says.
 */
function isNewContent(mirrored: Mirrored, mine: Indexed, stored: IndexedRef): boolean {
  // The same bytes read as another type give another text.
  if ((stored.fileType ?? fileTypeOf(mine.file)) !== fileTypeOf(mirrored.file)) return true;
  const sha256 = stored.sha256 || mine.sha256;
  if (sha256 && mirrored.observed) return sha256 !== mirrored.observed.sha256;
  return mine.size !== mirrored.fingerprint.size || mine.modifiedAt !== mirrored.fingerprint.modifiedAt;
}

function isNewLabel(mirrored: Mirrored, mine: Indexed): boolean {
  return (
    mine.file !== mirrored.file ||
    mine.name !== mirrored.name ||
    mine.modifiedAt !== mirrored.fingerprint.modifiedAt ||
    mine.size !== mirrored.fingerprint.size
  );
}

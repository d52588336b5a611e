import type { VectorStoreId } from "../contracts/ids.ts";
import type { Indexed, LedgerEntry, Mirrored } from "../contracts/ledger.ts";
import type { IndexedRef } from "../contracts/search-index.ts";
import { fileTypeOf } from "../lib/file-type.ts";

/**
 * What the index needs for one item, judged from what is on disk, what we wrote down about the index, and what the
 * index says it holds.
 * - put: embed the file. relabel: same bytes, new name or place. adopt: the index holds it already, only our row does
 *   not say so (a run was killed between commit and row). remove: nothing on disk stands for it any more.
 */
export type IndexChange =
  | { readonly kind: "put" | "remove"; readonly reason: string }
  | { readonly kind: "adopt"; readonly held: IndexedRef }
  | { readonly kind: "relabel" }
  | { readonly kind: "none" };

export interface IndexView {
  readonly store: VectorStoreId;
  readonly mode: "full" | "incremental";
  readonly held: IndexedRef | undefined;
  /** The file could not be embedded before and waits in `03_failed/`. */
  readonly failed: boolean;
  /** It is an original that waits for the process step: what is held of it stays until its document is there. */
  readonly waiting: boolean;
  /** What a label made now would say; "" where that is not known. */
  readonly path: string;
  readonly url: string;
  /** The source was seen to have it no more. Without that, a row missing from a map file is no reason to remove anything. */
  readonly mayRemove: boolean;
}

const NONE: IndexChange = { kind: "none" };

export function judgeIndex({ mirrored, indexed }: LedgerEntry, view: IndexView): IndexChange {
  const { held } = view;
  if (!mirrored) {
    return view.mayRemove && (held || indexed) ? { kind: "remove", reason: "no longer in the mirror" } : NONE;
  }
  if (mirrored.file === "" || view.waiting) return NONE;
  if (view.failed) return held ? { kind: "remove", reason: "its file cannot be embedded" } : NONE;
  if (view.mode === "full") return { kind: "put", reason: "full crawl" };
  const mine = indexed?.fileId && indexed.vectorStoreId === view.store ? indexed : undefined;
  if (!held || mine?.fileId !== held.fileId) {
    if (held && isSameDocument(held, mirrored)) return { kind: "adopt", held };
    if (!held && mine) return { kind: "put", reason: "missing in the vector store" };
    return { kind: "put", reason: indexed?.embeddingError ? "the last embedding failed" : "new" };
  }
  if (isNewContent(mirrored, mine, held)) return { kind: "put", reason: "changed" };
  // A new version failed, and the source has the old one again.
  if (mine.embeddingError !== "") return { kind: "adopt", held };
  return isNewLabel(mirrored, mine) || isOutdated(held, view) ? { kind: "relabel" } : NONE;
}

/** Our rows know of the move, but the index went back to before it (a rollback). */
function isOutdated({ path, url }: IndexedRef, view: IndexView): boolean {
  const differs = (held: string | undefined, now: string): boolean => held !== undefined && now !== "" && held !== now;
  return differs(path, view.path) || differs(url, view.url);
}

/** The same bytes, read as the same type: another one would give another text. */
function isSameDocument({ sha256, fileType }: IndexedRef, { file, observed }: Mirrored): boolean {
  const sameType = fileType === undefined || fileType === fileTypeOf(file);
  return sameType && sha256 !== "" && sha256 === observed?.sha256;
}

/**
 * The store itself says best what it holds: our hash is lost with `.lockstep/`, and the map of another store has none. Where
 * nobody knows a hash, size and time decide, as the specification says.
 */
function isNewContent(mirrored: Mirrored, mine: Indexed, held: IndexedRef): boolean {
  // The same bytes read as another type give another text.
  if ((held.fileType ?? fileTypeOf(mine.file)) !== fileTypeOf(mirrored.file)) return true;
  const sha256 = held.sha256 || mine.sha256;
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

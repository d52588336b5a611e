import { createHash } from "node:crypto";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { type ItemId, isDocumentId } from "../../contracts/ids.ts";
import type { ManifestEntry } from "../../contracts/manifest.ts";
import type { EarlierFile } from "./earlier-codec.ts";
import type { EarlierDocument, EarlierStore } from "./earlier-store.ts";

/** An entry of the current layout, and the document that was kept of it. */
export interface PlannedEntry {
  readonly entry: ManifestEntry;
  readonly document: EarlierDocument | undefined;
}

export interface EntryPlan {
  readonly entries: readonly PlannedEntry[];
  /** Files that get another id than they had. */
  readonly renamed: readonly { readonly path: string; readonly from: string; readonly to: ItemId }[];
  /** Files that do not come along. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
}

export interface PlanOptions {
  /** Absolute: where the source is, by all its names. */
  readonly roots: readonly string[];
  readonly now: string;
}

/** What becomes of every file of the store. Files keep their ids, as far as these can be names of folders and are theirs alone. */
export function planEntries({ files, documents }: EarlierStore, options: PlanOptions): EntryPlan {
  const entries: PlannedEntry[] = [];
  const renamed: EntryPlan["renamed"][number][] = [];
  const leftOut: EntryPlan["leftOut"][number][] = [];
  const [paths, ids] = [new Set<string>(), new Set<string>()];
  for (const file of byRight(files, documents)) {
    const path = options.roots.map((root) => pathBelow(root, file.path)).find((found) => found !== "");
    const isTaken = ids.has(file.docId.toLowerCase());
    const reason = reasonToLeaveOut(file, { isBelow: path !== undefined, isTwice: paths.has(path ?? ""), isTaken });
    if (path === undefined || reason !== "") {
      leftOut.push({ path: file.path, reason });
      continue;
    }
    paths.add(path);
    const isOwn = isDocumentId(file.docId) && !isTaken;
    const docId = isOwn ? (file.docId as ItemId) : newId(file);
    ids.add(docId.toLowerCase());
    if (!isOwn && file.docId !== "") renamed.push({ path, from: file.docId, to: docId });
    const document = isOwn && file.status !== "deleted" ? documents.get(file.docId) : undefined;
    entries.push({ entry: entryOf({ ...file, path }, docId, document, options.now), document });
  }
  return { entries, renamed, leftOut };
}

/**
 * Of several files with one id, the one with the best right to it first. One that is there comes before one that is not: that is
 * where it was before it was renamed. Then the one that the text was made from, then one with the same content.
 */
function byRight(files: readonly EarlierFile[], documents: EarlierStore["documents"]): readonly EarlierFile[] {
  const madeFrom = new Map<string, EarlierFile>();
  for (const file of files) if (documents.get(file.docId)?.sourcePath === file.path) madeFrom.set(file.docId, file);
  const rank = (file: EarlierFile): number => {
    const origin = madeFrom.get(file.docId);
    const hasItsContent = file.contentHash !== "" && origin?.contentHash === file.contentHash;
    return (isAbsent(file) ? 4 : 0) + (origin === file ? 0 : hasItsContent ? 1 : 2);
  };
  return files.toSorted((a, b) => rank(a) - rank(b));
}

function isAbsent({ status }: EarlierFile): boolean {
  return status === "missing" || status === "deleted";
}

/** "" when it comes along. */
function reasonToLeaveOut(
  file: EarlierFile,
  { isBelow, isTwice, isTaken }: { readonly isBelow: boolean; readonly isTwice: boolean; readonly isTaken: boolean },
): string {
  if (!isBelow) return "it is not below the root of the source";
  if (isTwice) return "it is there twice";
  return isTaken && isAbsent(file) ? "it is gone, and another file has its document now" : "";
}

/** The same whenever it is asked for: undone and migrated again, a file is the same document. */
function newId({ docId, path, contentHash }: EarlierFile): ItemId {
  const name = JSON.stringify([docId, path, contentHash]);
  return `doc_${createHash("sha256").update(name).digest("hex").slice(0, 32)}` as ItemId;
}

/** `/`-separated; "" when it is not below. */
function pathBelow(root: string, path: string): string {
  const below = relative(root, resolve(root, path));
  const isOutside = below === ".." || below.startsWith(`..${sep}`) || isAbsolute(below);
  return isOutside ? "" : below.split(sep).join("/");
}

/** Its stamp is unknown, so the next crawl reads it once, and finds by path and hash that it is the same. */
function entryOf(file: EarlierFile, docId: ItemId, document: EarlierDocument | undefined, now: string): ManifestEntry {
  const { path, contentHash, size, modifiedAt, status, retryCount } = file;
  const hash = document && isOf(document, file) ? contentHash : "";
  const versions = [...(document?.versions.keys() ?? [])].map((versionId) => ({ versionId, at: now, hash: "" }));
  if (document) versions.push({ versionId: `v${document.version}`, at: now, hash });
  return {
    ...{ path, docId, contentHash, size, modifiedAt, stamp: "", node: "", status },
    ...{
      lastSeenAt: now,
      retryCount: status === "error" ? retryCount : 0,
      error: status === "error" ? "It could not be read before." : "",
    },
    ...{ missingSinceAt: isAbsent(file) ? now : "", missingRuns: 0, deletedAt: status === "deleted" ? now : "" },
    ...{ versions, lineage: [] },
  };
}

/** Was the text made from the content that the manifest knows? A file that was edited later may not have been ingested again. */
export function isOf(document: EarlierDocument, { modifiedAt }: Pick<EarlierFile, "modifiedAt">): boolean {
  return modifiedAt !== "" && document.modifiedAt === modifiedAt;
}

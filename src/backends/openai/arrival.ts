import { CancelledError, explain, RemoteError } from "../../contracts/errors.ts";
import type { FileId, ItemId } from "../../contracts/ids.ts";
import type { DocumentFile, FailedRef } from "../../contracts/search-index.ts";
import type { UploadJournal, UploadTry } from "../../contracts/uploads.ts";
import { hashFile } from "../../lib/hash-file.ts";
import { nowUtcMicros } from "../../lib/time.ts";
import { Refusal } from "./refusal.ts";
import { detachFile, type Store } from "./store-files.ts";
import { deleteUpload, findUpload, type Upload, uploadFile, uploadName } from "./upload.ts";

/** What the arrivals of one draft share. */
export interface ArrivalScope {
  readonly store: Store;
  readonly journal: UploadJournal;
  /** Uploads of an earlier run that it did not come to attach. */
  readonly leftovers: Leftovers;
  /** false: the file is the document of another item, or somebody else's. */
  readonly claim: (fileId: FileId, itemId: ItemId) => boolean;
  /** Files in a row that the service gave no usable answer to, however often it was asked. */
  unanswered: number;
  /** Set by the first refusal that would meet every other file too: the draft can only be discarded. */
  trouble: Refusal | undefined;
}

/** One large file may break every connection; so many different ones in a row mean that the service is not there. */
const MOST_UNANSWERED = 5;

export interface Leftovers {
  /** Hands out an upload of this very content, once. */
  take(file: DocumentFile): { readonly fileId: FileId; readonly key: number } | undefined;
}

/** Uploads of earlier drafts whose files are in no store: a put of the same content takes one over instead of sending it again. */
export function collectLeftovers(unsettled: readonly UploadTry[]): Leftovers {
  // With the name, because the service goes by its ending.
  const contentOf = (itemId: string, name: string, sha256: string): string => JSON.stringify([itemId, name, sha256]);
  const answered = unsettled.filter(({ fileId, sha256 }) => fileId !== undefined && sha256 !== "");
  const byContent = Map.groupBy(answered, ({ itemId, name, sha256 }) => contentOf(itemId, name, sha256));
  return {
    take(file) {
      const one = byContent.get(contentOf(file.itemId, uploadName(file), file.sha256))?.pop();
      return one?.fileId && { fileId: one.fileId, key: one.key };
    },
  };
}

/** The bytes of a put are at the service, in no store yet. */
export interface Arrived {
  readonly fileId: FileId;
  readonly uploadedAt: string;
  /** Under which the journal has it; undefined for a file that others use too, which is never deleted. */
  readonly key: number | undefined;
}

export type ArrivalOutcome =
  | { readonly status: "arrived"; readonly arrived: Arrived }
  | { readonly status: "failed"; readonly failure: FailedRef };

/** Thrown for what will fail again unless the bytes change. */
class RejectedFile extends RemoteError {}

/** Rejects with CancelledError, and with a Refusal that is about more than this file. */
export async function arrive(scope: ArrivalScope, file: DocumentFile, signal: AbortSignal): Promise<ArrivalOutcome> {
  let release: (() => void) | undefined;
  try {
    release = await scope.store.connection.uploads.take(`put '${file.label.name}'`, signal);
    if (scope.trouble) throw scope.trouble;
    const arrived = await bring(scope, file, signal);
    scope.unanswered = 0;
    return { status: "arrived", arrived };
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    if (error instanceof Refusal && meetsAll(scope, error)) {
      scope.trouble ??= error;
      throw scope.trouble;
    }
    const permanent = error instanceof RejectedFile;
    return { status: "failed", failure: { itemId: file.itemId, reason: explain(error), permanent } };
  } finally {
    release?.();
  }
}

function meetsAll(scope: ArrivalScope, refusal: Refusal): boolean {
  if (refusal.retryable) scope.unanswered += 1;
  return refusal.concernsAll || scope.unanswered >= MOST_UNANSWERED;
}

async function bring(scope: ArrivalScope, file: DocumentFile, signal: AbortSignal): Promise<Arrived> {
  const { connection } = scope.store;
  const mayShare = file.knownFileId && scope.claim(file.knownFileId, file.itemId);
  const known = mayShare ? await findUpload(connection, file.knownFileId, signal) : undefined;
  if (known) return { ...known, key: undefined };
  const leftover = scope.leftovers.take(file);
  const found = leftover && (await findUpload(connection, leftover.fileId, signal));
  if (found) return { ...found, key: leftover.key };
  if (leftover) await scope.journal.settle(leftover.key);
  const upload = await sendBytes(scope, file, signal);
  const { fileId, key, uploadedAt } = upload;
  if (file.sha256 && upload.sha256 !== file.sha256) {
    await dropUpload(scope, { fileId, key }, signal);
    throw changedOnDisk(file);
  }
  return { fileId, key, uploadedAt: uploadedAt || nowUtcMicros() };
}

async function sendBytes(scope: ArrivalScope, file: DocumentFile, signal: AbortSignal): Promise<Upload> {
  try {
    return await uploadFile(scope.store.connection, scope.journal, file, signal);
  } catch (error) {
    if (!(error instanceof Refusal && error.concernsFile)) throw error;
    // What was refused may be a file caught half-way; that says nothing about its bytes.
    if (file.sha256 && (await hashFile(file.path)) !== file.sha256) throw changedOnDisk(file);
    throw new RejectedFile(error.message, { cause: error.cause });
  }
}

function changedOnDisk(file: DocumentFile): RemoteError {
  return new RemoteError(`upload '${file.label.name}': the file changed on disk since it was hashed`);
}

/**
 * Detach first: deleting alone has been seen to leave a row without a file in the store. Whatever fails here leaves the
 * journal as it is, and the next draft of the source tries again.
 */
export async function dropUpload(
  { store, journal }: Pick<ArrivalScope, "store" | "journal">,
  { fileId, key }: Pick<Arrived, "fileId" | "key">,
  signal?: AbortSignal,
): Promise<void> {
  await detachFile(store, fileId, signal);
  if (key === undefined) return;
  await deleteUpload(store.connection, fileId, signal);
  await journal.settle(key);
}

import { CancelledError, explain, RemoteError } from "../../contracts/errors.ts";
import type { FileId } from "../../contracts/ids.ts";
import type { DocumentFile, FailedRef, IndexedRef } from "../../contracts/search-index.ts";
import { hashFile } from "../../lib/hash-file.ts";
import { nowUtcMicros } from "../../lib/time.ts";
import { attachFile, waitUntilDone } from "./attach.ts";
import { Refusal } from "./refusal.ts";
import { detachFile, type Store, type WireAttributes } from "./store-files.ts";
import { deleteUpload, uploadFile } from "./upload.ts";
import type { StoreFile } from "./wire-codec.ts";

/** What one draft knows about its additions. */
export interface AdditionScope {
  readonly store: Store;
  /** Uploads of this draft that nothing older was given up for yet: a discard deletes them. */
  readonly unsettled: Set<FileId>;
  /** Set by the first refusal that would meet every other file too; the rest then fails without a request. */
  trouble: Refusal | undefined;
}

export type AdditionOutcome =
  | { readonly status: "ready"; readonly ref: IndexedRef }
  | { readonly status: "failed"; readonly failure: FailedRef };

export interface Addition {
  /** The bytes have been read and attached, or it has failed. Rejects only with CancelledError. */
  readonly sent: Promise<void>;
  /** Never rejects. Ready means a search can find it. */
  readonly outcome: Promise<AdditionOutcome>;
}

/** Thrown for what will fail again unless the bytes change. */
class RejectedFile extends RemoteError {}

export function startAddition(
  scope: AdditionScope,
  file: DocumentFile,
  attributes: () => WireAttributes,
  signal: AbortSignal,
): Addition {
  const sent = Promise.withResolvers<void>();

  async function run(): Promise<AdditionOutcome> {
    let release: (() => void) | undefined;
    try {
      release = await scope.store.connection.additions.take(`put '${file.label.name}'`, signal);
      if (scope.trouble) throw scope.trouble;
      return { status: "ready", ref: await add(scope, file, attributes(), signal, sent.resolve) };
    } catch (error) {
      if (error instanceof CancelledError) sent.reject(error);
      if (error instanceof Refusal && error.concernsAll) scope.trouble = error;
      const permanent = error instanceof RejectedFile;
      return { status: "failed", failure: { itemId: file.itemId, reason: explain(error), permanent } };
    } finally {
      release?.();
      sent.resolve();
    }
  }

  return { sent: sent.promise, outcome: run() };
}

async function add(
  scope: AdditionScope,
  file: DocumentFile,
  attributes: WireAttributes,
  signal: AbortSignal,
  onSent: () => void,
): Promise<IndexedRef> {
  const upload = await sendBytes(scope, file, signal);
  const { fileId } = upload;
  scope.unsettled.add(fileId);
  try {
    if (file.sha256 && upload.sha256 !== file.sha256) {
      throw changedOnDisk(file);
    }
    await embed(scope.store, file, fileId, attributes, signal, onSent);
    const { itemId } = file;
    const embeddedAt = nowUtcMicros();
    return { itemId, fileId, sha256: file.sha256, uploadedAt: upload.uploadedAt || embeddedAt, embeddedAt };
  } catch (error) {
    // When even the clean-up fails, what is left carries our marks and the next draft of the source detaches it.
    if (!(error instanceof CancelledError)) await dropAddition(scope, fileId, signal).catch(() => undefined);
    throw error;
  }
}

async function sendBytes(scope: AdditionScope, file: DocumentFile, signal: AbortSignal) {
  try {
    return await uploadFile(scope.store.connection, file, signal);
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

async function embed(
  store: Store,
  file: DocumentFile,
  fileId: FileId,
  attributes: WireAttributes,
  signal: AbortSignal,
  onSent: () => void,
): Promise<void> {
  let done = await embedOnce();
  if (done.error?.code === "server_error") {
    await detachFile(store, fileId, signal);
    done = await embedOnce();
  }
  if (done.status === "completed") return;
  const reason = `embed '${file.label.name}': ${done.error ? `${done.error.code}: ${done.error.message}` : done.status}`;
  const rejected = done.error?.code === "unsupported_file" || done.error?.code === "invalid_file";
  throw rejected ? new RejectedFile(reason) : new RemoteError(reason);

  async function embedOnce(): Promise<StoreFile> {
    const attached = await attachFile(store, fileId, attributes, signal);
    onSent();
    return waitUntilDone(store, attached, signal);
  }
}

/** Detach first: deleting alone has been seen to leave a row without a file in the store. */
export async function dropAddition(scope: AdditionScope, fileId: FileId, signal?: AbortSignal): Promise<void> {
  await detachFile(scope.store, fileId, signal);
  await deleteUpload(scope.store.connection, fileId, signal);
  scope.unsettled.delete(fileId);
}

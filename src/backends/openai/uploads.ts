import { createHash } from "node:crypto";
import { appendFile, mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { APIError, toStreamingFile } from "openai";
import { CancelledError, explain, RemoteError } from "../../contracts/errors.ts";
import type { FileId, ItemId, VectorStoreId } from "../../contracts/ids.ts";
import type { DocumentFile, FailedRef } from "../../contracts/search-index.ts";
import type { UploadJournal, UploadTry } from "../../contracts/uploads.ts";
import { readFileIfExists, writeFileAtomic } from "../../lib/atomic-file.ts";
import { withFileLock } from "../../lib/file-lease.ts";
import { withFileType } from "../../lib/file-type.ts";
import { hashFile } from "../../lib/hash.ts";
import { nowUtcMicros } from "../../lib/time.ts";
import type { Connection } from "./connection.ts";
import { readPages } from "./read-pages.ts";
import { hasStatus, ServiceError } from "./service-error.ts";
import { detachFile, pollFile, type Store } from "./store-files.ts";
import { readStorePage, readUpload, readUploadPage, type UploadedFile } from "./wire-codec.ts";

/** What the uploads of one draft share. */
export interface UploadScope {
  readonly store: Store;
  readonly journal: UploadJournal;
  /** Uploads that an earlier run sent but did not attach. */
  readonly reusable: ReusableUploads;
  /** Returns false if the file is the document of another item, or not ours. */
  readonly claim: (fileId: FileId, itemId: ItemId) => boolean;
  /** Files in a row that failed after all retries without a usable response. */
  consecutiveFailures: number;
  /** Set by the first error that would hit every other file too: the draft can only be discarded. */
  fatal: ServiceError | undefined;
}

/** One large file may break every connection; this many different files in a row mean that the service is down. */
const MAX_CONSECUTIVE_FAILURES = 5;

export interface ReusableUploads {
  /** Returns an upload of this content, and never returns it again. */
  take(file: DocumentFile): { readonly fileId: FileId; readonly key: number } | undefined;
}

/** Collects uploads of earlier drafts that are in no store: a put of the same content reuses one instead of sending it again. */
export function findReusableUploads(unsettled: readonly UploadTry[]): ReusableUploads {
  // The name is part of the key, because the service goes by its extension.
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

/** A file whose bytes are at the service, but in no store yet. */
export interface UploadedDocument {
  readonly fileId: FileId;
  readonly uploadedAt: string;
  /** Its key in the journal; undefined for a file that others use too, which is never deleted. */
  readonly key: number | undefined;
}

export type DocumentUploadOutcome =
  | { readonly status: "uploaded"; readonly uploaded: UploadedDocument }
  | { readonly status: "failed"; readonly failure: FailedRef };

/** Will fail again unless the bytes change. */
class RejectedFileError extends RemoteError {}

/** Uploads a file, or reuses an upload of the same content. Rejects with CancelledError, and with a ServiceError that would hit other files too. */
export function uploadDocument(
  scope: UploadScope,
  file: DocumentFile,
  signal: AbortSignal,
): Promise<DocumentUploadOutcome> {
  return scope.store.connection.uploads(() => uploadInSlot(scope, file, signal), signal);
}

async function uploadInSlot(
  scope: UploadScope,
  file: DocumentFile,
  signal: AbortSignal,
): Promise<DocumentUploadOutcome> {
  try {
    if (scope.fatal) throw scope.fatal;
    const uploaded = await uploadOrReuse(scope, file, signal);
    scope.consecutiveFailures = 0;
    return { status: "uploaded", uploaded };
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    if (error instanceof ServiceError && isFatalForDraft(scope, error)) {
      scope.fatal ??= error;
      throw scope.fatal;
    }
    const permanent = error instanceof RejectedFileError;
    return { status: "failed", failure: { itemId: file.itemId, reason: explain(error), permanent } };
  }
}

function isFatalForDraft(scope: UploadScope, failure: ServiceError): boolean {
  if (failure.retryable) scope.consecutiveFailures += 1;
  return failure.isFatal || scope.consecutiveFailures >= MAX_CONSECUTIVE_FAILURES;
}

async function uploadOrReuse(scope: UploadScope, file: DocumentFile, signal: AbortSignal): Promise<UploadedDocument> {
  const { connection } = scope.store;
  const mayShare = file.knownFileId && scope.claim(file.knownFileId, file.itemId);
  const known = mayShare ? await findUpload(connection, file.knownFileId, signal) : undefined;
  if (known) return { ...known, key: undefined };
  const reused = scope.reusable.take(file);
  const found = reused && (await findUpload(connection, reused.fileId, signal));
  if (found) return { ...found, key: reused.key };
  if (reused) await scope.journal.settle(reused.key);
  const upload = await sendBytes(scope, file, signal);
  const { fileId, key, uploadedAt } = upload;
  if (file.sha256 && upload.sha256 !== file.sha256) {
    await discardUpload(scope, { fileId, key }, signal);
    throw changedOnDisk(file);
  }
  return { fileId, key, uploadedAt: uploadedAt || nowUtcMicros() };
}

async function sendBytes(scope: UploadScope, file: DocumentFile, signal: AbortSignal): Promise<Upload> {
  try {
    return await uploadFile(scope.store.connection, scope.journal, file, signal);
  } catch (error) {
    if (!(error instanceof ServiceError && error.rejectsFile)) throw error;
    // The file may have been replaced while it was sent; then the rejection says nothing about the new bytes.
    if (file.sha256 && (await hashFile(file.path)) !== file.sha256) throw changedOnDisk(file);
    throw new RejectedFileError(error.message, { cause: error.cause });
  }
}

function changedOnDisk(file: DocumentFile): RemoteError {
  return new RemoteError(`upload '${file.label.name}': the file changed on disk since it was hashed`);
}

/**
 * Detaches and deletes an upload. Detaches first: deleting alone has been seen to leave a row without a file in the store. A
 * failure leaves the journal as it is, and the next draft of the source tries again.
 */
export async function discardUpload(
  { store, journal }: Pick<UploadScope, "store" | "journal">,
  { fileId, key }: Pick<UploadedDocument, "fileId" | "key">,
  signal?: AbortSignal,
): Promise<void> {
  await detachFile(store, fileId, signal);
  if (key === undefined) return;
  await deleteUpload(store.connection, fileId, signal);
  await journal.settle(key);
}

interface Upload {
  readonly fileId: FileId;
  readonly uploadedAt: string;
  /** Hash of the bytes that were sent, which may differ from those the caller hashed. */
  readonly sha256: string;
  /** Its key in the journal. */
  readonly key: number;
}

const LEAST_TIMEOUT_MS = 600_000;
const SLOWEST_BYTES_PER_MS = 50;

/**
 * Streams the file from disk; each try opens it again and is recorded before it is sent. A try without a response may have
 * left an upload with an unknown id: it is in no store, and removeLostUploads looks for it.
 */
function uploadFile(
  connection: Connection,
  journal: UploadJournal,
  file: DocumentFile,
  signal: AbortSignal,
): Promise<Upload> {
  const name = uploadName(file);
  const what = `upload '${name}'`;
  return connection.calls.run(
    what,
    async () => {
      await connection.limits.uploads.acquire(1, what, signal);
      const key = await journal.begin({ itemId: file.itemId, name, bytes: file.bytes });
      try {
        const sent = await send(connection, file, signal);
        await journal.answered(key, sent.fileId, sent.sha256);
        return { ...sent, key };
      } catch (error) {
        await (leftNoUpload(error) ? journal.settle(key) : journal.lost(key));
        throw error instanceof IncompleteUploadError ? error.cause : error;
      }
    },
    signal,
  );
}

/** Returns the name with the extension of its type, which the service goes by: a page named `Home.aspx` is HTML. */
export function uploadName({ label }: Pick<DocumentFile, "label">): string {
  return withFileType(label.name, label.fileType);
}

/** The request was refused, or ended before the whole body was sent. */
function leftNoUpload(error: unknown): boolean {
  return error instanceof IncompleteUploadError || (isAnswer(error) && (error.status ?? 0) < 500);
}

function isAnswer(error: unknown): error is APIError {
  return error instanceof APIError && error.status !== undefined;
}

/** The service cannot have received the whole body. The cause says why. */
class IncompleteUploadError extends Error {}

async function send(connection: Connection, file: DocumentFile, signal: AbortSignal): Promise<Omit<Upload, "key">> {
  const timeout = Math.round(LEAST_TIMEOUT_MS + file.bytes / SLOWEST_BYTES_PER_MS);
  const handle = await open(file.path).catch((error: unknown) => {
    throw new IncompleteUploadError("open", { cause: error });
  });
  const hash = createHash("sha256");
  let unreadable: unknown;
  let isWhole = false;
  async function* bytes(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of handle.createReadStream({ autoClose: false })) {
        hash.update(chunk);
        yield chunk;
      }
      isWhole = true;
    } catch (error) {
      unreadable = error;
      throw error;
    }
  }
  try {
    const body = await connection.client.files.create(
      { file: toStreamingFile(bytes(), uploadName(file)), purpose: "assistants" },
      { signal, timeout },
    );
    return { ...readUpload(body), sha256: hash.digest("hex") };
  } catch (error) {
    // To the client a disk error looks like a connection error, which would be retried.
    const cause = unreadable ?? error;
    throw isWhole || isAnswer(error) ? cause : new IncompleteUploadError("send", { cause });
  } finally {
    await handle.close();
  }
}

/** Succeeds if the upload is already gone. */
export async function deleteUpload(connection: Connection, fileId: FileId, signal?: AbortSignal): Promise<void> {
  try {
    await connection.calls.run(
      `delete upload ${fileId}`,
      () => connection.client.files.delete(fileId, { signal }),
      signal,
    );
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
  }
}

/** Returns undefined if there is no such upload. Looks it up by id: lists have been seen to miss existing files. */
export async function findUpload(
  connection: Connection,
  fileId: FileId,
  signal?: AbortSignal,
): Promise<{ readonly fileId: FileId; readonly uploadedAt: string } | undefined> {
  try {
    const body = await connection.calls.run(
      `look for upload ${fileId}`,
      () => connection.client.files.retrieve(fileId, { signal }),
      signal,
    );
    return readUpload(body);
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}

/** All files of the account that were uploaded to be searched, ten thousand a page. */
export function listUploads({ client, calls }: Connection, signal?: AbortSignal): Promise<UploadedFile[]> {
  const what = "list uploads";
  return readPages({
    what,
    idOf: (file: UploadedFile) => file.fileId,
    read(after) {
      const query = { purpose: "assistants", ...(after ? { after } : {}) };
      return calls.run(
        what,
        async () => readUploadPage(await client.get<unknown>("/files", { query, signal })),
        signal,
      );
    },
  });
}

/** Each store takes one request per file, so more stores than this are not searched. */
const MOST_STORES = 100;

/** Not every vector store of the account can be searched. */
class UnknownStoresError extends RemoteError {}

/** Returns all vector stores of the account. Throws UnknownStoresError if the list may be incomplete: lists have been seen to miss stores. */
export async function listAllStores(
  connection: Connection,
  known: readonly VectorStoreId[],
  signal: AbortSignal,
): Promise<readonly VectorStoreId[]> {
  const listed = await listStoreIds(connection, signal);
  if (listed.length > MOST_STORES) {
    throw new UnknownStoresError(
      `look into all vector stores: there are ${listed.length}, and at most ${MOST_STORES} are looked into`,
    );
  }
  const lacking = known.find((storeId) => !listed.includes(storeId));
  if (lacking) throw new UnknownStoresError(`list vector stores: '${lacking}' is not listed although it exists`);
  return listed;
}

/** Looks the file up by id in each store: lists have been seen to miss files. */
export async function isInUse(
  connection: Connection,
  storeIds: readonly VectorStoreId[],
  fileId: FileId,
  signal: AbortSignal,
): Promise<boolean> {
  for (const storeId of storeIds) {
    const poll = () => pollFile({ storeId, connection }, fileId, signal);
    if ((await connection.calls.run(`look at file ${fileId}`, poll, signal)).file) return true;
  }
  return false;
}

/** Lists the vector stores of the account, as far as the service does. */
function listStoreIds({ client, calls }: Connection, signal?: AbortSignal): Promise<VectorStoreId[]> {
  const what = "list vector stores";
  const headers = { "OpenAI-Beta": "assistants=v2" };
  return readPages({
    what,
    idOf: (id: VectorStoreId) => id,
    read(after) {
      const query = { limit: 100, ...(after ? { after } : {}) };
      return calls.run(
        what,
        async () => readStorePage(await client.get<unknown>("/vector_stores", { query, headers, signal })),
        signal,
      );
    },
  });
}

/**
 * Records our uploads that are taken out of a vector store, one id per line: the service does not say who owns a file that
 * is in no store. Written before the detach, so it may also name a file that a store still holds.
 */
export async function recordDetached(folder: string, fileIds: readonly FileId[]): Promise<void> {
  if (fileIds.length === 0) return;
  const path = pathIn(folder);
  await mkdir(dirname(path), { recursive: true });
  // Starts with a line feed: a crash may have cut off the last line.
  await locked(path, () => appendFile(path, ["", ...fileIds, ""].join("\n")));
}

export async function detachedUploads(folder: string): Promise<ReadonlySet<FileId>> {
  return readIds(pathIn(folder));
}

/** Drops the records of uploads that no longer exist. */
export async function dropDetachedRecords(folder: string, gone: ReadonlySet<FileId>): Promise<void> {
  if (gone.size === 0) return;
  const path = pathIn(folder);
  await locked(path, async () => {
    const left = [...(await readIds(path))].filter((id) => !gone.has(id));
    await writeFileAtomic(path, left.map((id) => `${id}\n`).join(""));
  });
}

function pathIn(folder: string): string {
  return join(folder, "detached-uploads.txt");
}

function locked<T>(path: string, work: () => Promise<T>): Promise<T> {
  return withFileLock(`${path}.lock`, work);
}

/** A line that a crash cut off is the id of no file: a lookup will not find it. */
async function readIds(path: string): Promise<Set<FileId>> {
  const text = (await readFileIfExists(path))?.toString("utf8") ?? "";
  return new Set(text.split("\n").filter((line) => line !== "") as FileId[]);
}

/** The service's clock may differ from ours by this much. Not more: the wider, the sooner a file of others looks like ours. */
const SKEW_MS = 30_000;
/** How long an attempt may have run whose end is not recorded. */
const UNSEEN_MS = 5 * 60_000;
/** Another client that uploads such a file has attached it by then. */
const ATTACHED_WITHIN_MS = 24 * 3600_000;

/**
 * Deletes uploads whose responses were lost, once, a day later. (Their content was sent again, since nothing says which bytes
 * were received.) Other installations upload files of the same names, so a file counts as ours only if it has the name and
 * size that were sent, was created while we sent it, and is in no journal and no vector store of the account, and if there are
 * exactly as many such files as were lost. In doubt none is deleted: a file too many costs space, but a deleted file of
 * another client is a hole in its search.
 */
export async function removeLostUploads(
  store: Store,
  journal: UploadJournal,
  attached: { has(fileId: FileId): boolean },
  { nowMs = Date.now(), signal }: { readonly nowMs?: number; readonly signal: AbortSignal },
): Promise<void> {
  const isDue = ({ fileId, startedAtMs }: UploadTry) => !fileId && nowMs - startedAtMs > ATTACHED_WITHIN_MS;
  const lost = (await journal.unsettled()).filter(isDue);
  if (lost.length === 0) return;
  const uploads = await listUploads(store.connection, signal);
  const known = new Set((await store.connection.records.journals.files()).map(({ fileId }) => fileId));
  const unknown = uploads.filter(({ fileId }) => !known.has(fileId) && !attached.has(fileId));
  for (const alike of Map.groupBy(lost, ({ name, bytes }) => `${bytes} ${name}`).values()) {
    const matching = unknown.filter((upload) => alike.some((one) => isLike(upload, one)));
    const isCertain = matching.length === alike.length && !(await mayBeInUse(store, matching, signal));
    for (const { fileId } of isCertain ? matching : []) await deleteUpload(store.connection, fileId, signal);
    for (const { key } of alike) await journal.settle(key);
  }
}

function isLike(upload: UploadedFile, one: UploadTry): boolean {
  const latestMs = (one.lostAtMs ?? one.startedAtMs + UNSEEN_MS) + SKEW_MS;
  const isThen = upload.createdAtMs >= one.startedAtMs - SKEW_MS && upload.createdAtMs <= latestMs;
  return isThen && upload.name === one.name && upload.bytes === one.bytes;
}

/** Also returns true if not every store can be searched. */
async function mayBeInUse(store: Store, files: readonly UploadedFile[], signal: AbortSignal): Promise<boolean> {
  const { connection, storeId } = store;
  const storeIds = await listAllStores(connection, [storeId], signal).catch((error: unknown) => {
    if (error instanceof UnknownStoresError) return undefined;
    throw error;
  });
  if (!storeIds) return true;
  for (const { fileId } of files) if (await isInUse(connection, storeIds, fileId, signal)) return true;
  return false;
}

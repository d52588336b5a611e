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
import { hashFile } from "../../lib/hash-file.ts";
import { nowUtcMicros } from "../../lib/time.ts";
import type { Connection } from "./connection.ts";
import { readPages } from "./read-pages.ts";
import { hasStatus, Refusal } from "./refusal.ts";
import { detachFile, lookAtFile, type Store } from "./store-files.ts";
import { readStorePage, readUpload, readUploadPage, type UploadedFile } from "./wire-codec.ts";

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

interface Upload {
  readonly fileId: FileId;
  readonly uploadedAt: string;
  /** Of the bytes that were sent, which need not be those the caller hashed. */
  readonly sha256: string;
  /** Under which the journal has it. */
  readonly key: number;
}

const LEAST_TIMEOUT_MS = 600_000;
const SLOWEST_BYTES_PER_MS = 50;

/**
 * Streams the file from disk; each try opens it anew and is written down before it is sent. A try that ends without an
 * answer may have left an upload nobody knows the id of: it is in no store, and remove-lost-uploads.ts looks for it.
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
      await connection.limits.uploads.pass(1, what, signal);
      const key = await journal.begin({ itemId: file.itemId, name, bytes: file.bytes });
      try {
        const sent = await send(connection, file, signal);
        await journal.answered(key, sent.fileId, sent.sha256);
        return { ...sent, key };
      } catch (error) {
        await (hadNoEffect(error) ? journal.settle(key) : journal.lost(key));
        throw error instanceof CutShort ? error.cause : error;
      }
    },
    signal,
  );
}

/** The service goes by the extension: a page that is called `Home.aspx` is HTML all the same. */
export function uploadName({ label }: Pick<DocumentFile, "label">): string {
  return withFileType(label.name, label.fileType);
}

/** Refused, or not sent to its end: the connection broke before, or the file could not be read. */
function hadNoEffect(error: unknown): boolean {
  return error instanceof CutShort || (isAnswer(error) && (error.status ?? 0) < 500);
}

function isAnswer(error: unknown): error is APIError {
  return error instanceof APIError && error.status !== undefined;
}

/** Ends a try whose body the service cannot have seen whole; the cause is what happened. */
class CutShort extends Error {}

async function send(connection: Connection, file: DocumentFile, signal: AbortSignal): Promise<Omit<Upload, "key">> {
  const timeout = Math.round(LEAST_TIMEOUT_MS + file.bytes / SLOWEST_BYTES_PER_MS);
  const handle = await open(file.path).catch((error: unknown) => {
    throw new CutShort("open", { cause: error });
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
    // A broken disk looks like a broken connection to the client, and would be tried again as one.
    const cause = unreadable ?? error;
    throw isWhole || isAnswer(error) ? cause : new CutShort("send", { cause });
  } finally {
    await handle.close();
  }
}

/** Deleting what is already gone is a success. */
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

/** undefined: there is no such upload. Asked for by id: lists have been seen to lack what is there. */
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

/** In more than these nobody looks: it would take a request for each. */
const MOST_STORES = 100;

/** Nobody can look into every vector store of the account. */
export class UncertainStores extends RemoteError {}

/** Every vector store of the account. UncertainStores when that cannot be told: lists have been seen to lack what is there. */
export async function everyStore(
  connection: Connection,
  known: readonly VectorStoreId[],
  signal: AbortSignal,
): Promise<readonly VectorStoreId[]> {
  const listed = await listStoreIds(connection, signal);
  if (listed.length > MOST_STORES) {
    throw new UncertainStores(
      `look into all vector stores: there are ${listed.length}, and at most ${MOST_STORES} are looked into`,
    );
  }
  const lacking = known.find((storeId) => !listed.includes(storeId));
  if (lacking) throw new UncertainStores(`list vector stores: '${lacking}' is not listed although it exists`);
  return listed;
}

/** Asked for by id in each of them, for the same reason. */
export async function isInUse(
  connection: Connection,
  storeIds: readonly VectorStoreId[],
  fileId: FileId,
  signal: AbortSignal,
): Promise<boolean> {
  for (const storeId of storeIds) {
    const look = () => lookAtFile({ storeId, connection }, fileId, signal);
    if ((await connection.calls.run(`look at file ${fileId}`, look, signal)).file) return true;
  }
  return false;
}

/** All vector stores of the account, as far as the service lists them. */
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
 * Uploads of ours that were taken out of a vector store, an id a line: nothing at the service says whose a file is that no
 * store holds. Written down before they are detached, so it may also name one that a store still holds.
 */
export async function noteDetached(folder: string, fileIds: readonly FileId[]): Promise<void> {
  if (fileIds.length === 0) return;
  const path = pathIn(folder);
  await mkdir(dirname(path), { recursive: true });
  // Begins a line of its own: a crash may have cut off the last one.
  await locked(path, () => appendFile(path, ["", ...fileIds, ""].join("\n")));
}

export async function detachedUploads(folder: string): Promise<ReadonlySet<FileId>> {
  return readIds(pathIn(folder));
}

/** They do not exist any more. */
export async function forgetDetached(folder: string, gone: ReadonlySet<FileId>): Promise<void> {
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

/** A line that a crash cut off is no id of anything: whoever asks for it hears that it does not exist. */
async function readIds(path: string): Promise<Set<FileId>> {
  const text = (await readFileIfExists(path))?.toString("utf8") ?? "";
  return new Set(text.split("\n").filter((line) => line !== "") as FileId[]);
}

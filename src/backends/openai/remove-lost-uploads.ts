import type { FileId } from "../../contracts/ids.ts";
import type { UploadJournal, UploadTry } from "../../contracts/uploads.ts";
import { listUploads } from "./list-uploads.ts";
import type { Store } from "./store-files.ts";
import { deleteUpload } from "./upload.ts";
import { everyStore, isInUse, UncertainStores } from "./upload-use.ts";
import type { UploadedFile } from "./wire-codec.ts";

/** The service's clock may differ from ours by this much. Not more: the wider, the sooner a file of others looks like ours. */
const SKEW_MS = 30_000;
/** For how long a try may have gone on that nobody saw the end of. */
const UNSEEN_MS = 5 * 60_000;
/** Whoever else uploaded such a file for a store has attached it by then. */
const ATTACHED_WITHIN_MS = 24 * 3600_000;

/**
 * Looks, once and a day later, for the uploads whose answers were lost, and deletes them; what they were to become was
 * uploaded anew, since nothing tells what bytes arrived. Other installations upload files of the same names, so a file is
 * taken for ours only when it has the name and the size that were sent, came into being while we sent, is in no journal
 * and in no vector store of the account, and when there are exactly as many of them as were lost. Any doubt leaves them all:
 * a file too many costs some room, a file of others that is gone is a hole in their search.
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
  const known = new Set((await store.connection.notes.journals.files()).map(({ fileId }) => fileId));
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

/** true also when not every store can be looked into. */
async function mayBeInUse(store: Store, files: readonly UploadedFile[], signal: AbortSignal): Promise<boolean> {
  const { connection, storeId } = store;
  const storeIds = await everyStore(connection, [storeId], signal).catch((error: unknown) => {
    if (error instanceof UncertainStores) return undefined;
    throw error;
  });
  if (!storeIds) return true;
  for (const { fileId } of files) if (await isInUse(connection, storeIds, fileId, signal)) return true;
  return false;
}

import type { SweptUploads, UploadSweep } from "../../contracts/backend.ts";
import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import type { Connection } from "./connection.ts";
import { detachedUploads, forgetDetached } from "./detached-uploads.ts";
import { listUploads } from "./list-uploads.ts";
import { findStore, listStoreFiles } from "./store-files.ts";
import { deleteUpload, findUpload } from "./upload.ts";
import { everyStore, isInUse } from "./upload-use.ts";
import type { UploadedFile } from "./wire-codec.ts";

const AT_ONCE = 4;
/** Whoever is about to attach an upload, or to take one over, does so before. */
const SETTLED_WITHIN_MS = 24 * 3600_000;

/**
 * Deletes the uploads of ours that no vector store of the account holds. Ours are those whose ids we wrote down: when the
 * service answered an upload, or before we detached a file. The lists only point to them: each is asked for in every store.
 */
export async function sweepUploads(connection: Connection, sweep: UploadSweep): Promise<SweptUploads> {
  const { folder } = connection.notes;
  const { dryRun, signal, report, checkpoint } = sweep;
  const storeIds = await everyStore(connection, await existing(connection, sweep), signal);
  const attached = await attachedFiles(connection, storeIds, signal);
  const loose = (await listUploads(connection, signal)).filter(({ fileId }) => !attached.has(fileId));
  const { ours, underWay } = await knownUploads(connection);
  const removed: UploadedFile[] = [];
  const candidates = loose.filter(({ fileId }) => ours.has(fileId) && !underWay.has(fileId));
  await forEachConcurrent(candidates, AT_ONCE, async (upload) => {
    await checkpoint?.();
    if (await isInUse(connection, storeIds, upload.fileId, signal)) return;
    if (!dryRun) await deleteUpload(connection, upload.fileId, signal);
    removed.push(upload);
    if (removed.length % 100 === 0) report(`[ ${removed.length} / ${candidates.length} ] Uploads that no store holds`);
  });
  if (!dryRun) await forgetDetached(folder, await goneOf(connection, folder, { loose, attached, removed }, signal));
  const unknown = loose.filter(({ fileId }) => !ours.has(fileId) && !underWay.has(fileId)).length;
  return { removed: removed.map(({ fileId, bytes }) => ({ fileId, bytes: Math.max(0, bytes) })), unknown };
}

/** Of the stores that we know of, those that are there: the list must have them. */
async function existing(connection: Connection, { stores, signal }: UploadSweep): Promise<VectorStoreId[]> {
  const found = await Promise.all(stores.map((storeId) => findStore(connection, storeId, signal)));
  return found.flatMap((store) => (store ? [store.storeId] : []));
}

async function attachedFiles(
  connection: Connection,
  storeIds: readonly VectorStoreId[],
  signal: AbortSignal,
): Promise<ReadonlySet<FileId>> {
  const attached = new Set<FileId>();
  for (const storeId of storeIds) {
    for (const { fileId } of await listStoreFiles({ storeId, connection }, undefined, signal)) attached.add(fileId);
  }
  return attached;
}

async function knownUploads({
  notes: { folder, journals },
}: Connection): Promise<{ readonly ours: ReadonlySet<FileId>; readonly underWay: ReadonlySet<FileId> }> {
  const files = await journals.files();
  const young = files.filter(({ startedAtMs }) => Date.now() - startedAtMs < SETTLED_WITHIN_MS);
  const detached = await detachedUploads(folder);
  const ours = new Set([...detached, ...files.map(({ fileId }) => fileId)]);
  // What was detached since is not on its way any more.
  return { ours, underWay: new Set(young.map(({ fileId }) => fileId).filter((id) => !detached.has(id))) };
}

/** Those that were written down and do not exist any more, by whoever's hand. */
async function goneOf(
  connection: Connection,
  folder: string,
  known: {
    readonly loose: readonly UploadedFile[];
    readonly attached: ReadonlySet<FileId>;
    readonly removed: readonly UploadedFile[];
  },
  signal: AbortSignal,
): Promise<ReadonlySet<FileId>> {
  const gone = new Set(known.removed.map(({ fileId }) => fileId));
  const listed = new Set(known.loose.map(({ fileId }) => fileId));
  const unlisted = [...(await detachedUploads(folder))].filter((id) => !listed.has(id) && !known.attached.has(id));
  await forEachConcurrent(unlisted, AT_ONCE, async (fileId) => {
    if (!(await findUpload(connection, fileId, signal))) gone.add(fileId);
  });
  return gone;
}

import type { Backend, OwnerChange, SweptUploads, UploadSweep, Watch } from "../../contracts/backend.ts";
import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { type Connection, connect, type OpenAiOptions, type UploadRecords } from "./connection.ts";
import { hasStatus } from "./service-error.ts";
import { detachFile, findStore, listStoreFiles, type Store, updateAttributes } from "./store-files.ts";
import {
  deleteUpload,
  detachedUploads,
  dropDetachedRecords,
  findUpload,
  isInUse,
  listAllStores,
  listUploads,
  recordDetached,
} from "./uploads.ts";
import { VectorStoreIndex } from "./vector-store-index.ts";
import { hasOwnerAttributes, isOfDomain, readStore, type UploadedFile } from "./wire-codec.ts";

/** What file search takes in: text, code and documents; no tables, no images. */
const ACCEPTED_TYPES: ReadonlySet<string> = new Set(
  "c cpp cs css doc docx go html java js json md pdf php pptx py rb sh tex ts txt".split(" "),
);

/** Vector stores at OpenAI or Azure OpenAI. Makes no request before the first call. */
export function createOpenAiBackend(options: OpenAiOptions, records: UploadRecords): Backend {
  const connection = connect(options, records);
  return {
    acceptedTypes: ACCEPTED_TYPES,
    commits: "gradual",

    /** If a response is lost, the retry may leave an empty store of the same name. Only the id counts. */
    async createVectorStore(name) {
      const body = await connection.calls.run(`create vector store '${name}'`, () =>
        connection.client.vectorStores.create({ name }),
      );
      return readStore(body).id as VectorStoreId;
    },

    async deleteVectorStore(storeId) {
      try {
        await recordOwnFiles({ storeId, connection });
        await connection.calls.run(`delete vector store ${storeId}`, () =>
          connection.client.vectorStores.delete(storeId),
        );
      } catch (error) {
        if (!hasStatus(error, 404)) throw error;
      }
    },

    async openIndex(storeId, domainId, signal) {
      const store = await findStore(connection, storeId, signal);
      return store && new VectorStoreIndex(store, domainId);
    },

    async changeOwner(storeId, change, watch) {
      const store = await findStore(connection, storeId, watch.signal);
      if (store) await changeOwner(store, change, watch);
    },

    async forgetDomain(domainId) {
      const files = await records.journals.files(domainId);
      await recordDetached(
        records.folder,
        files.map(({ fileId }) => fileId),
      );
    },

    async eraseUploads(files, storeIds, signal) {
      for (const fileId of files) {
        for (const storeId of storeIds) await detachFile({ storeId, connection }, fileId, signal);
        await deleteUpload(connection, fileId, signal);
      }
      await dropDetachedRecords(records.folder, new Set(files));
    },

    sweepUploads: (sweep) => sweepUploads(connection, sweep),

    close: () => connection.close(),
  };
}

/** Deleting a store detaches its files without a record of each. */
async function recordOwnFiles(store: Store): Promise<void> {
  const files = (await listStoreFiles(store)).filter(hasOwnerAttributes);
  await recordDetached(
    store.connection.records.folder,
    files.map(({ fileId }) => fileId),
  );
}

const AT_ONCE = 8;
const REPORT_EVERY = 100;

/**
 * Changes the domain id in the attributes of our files, one request each; nothing is uploaded or embedded. Files with the new
 * id are skipped, so it may be interrupted anywhere.
 */
async function changeOwner(store: Store, change: OwnerChange, { signal, report }: Watch): Promise<void> {
  const files = (await listStoreFiles(store, undefined, signal)).filter((file) => isOfDomain(file, change.from));
  let done = 0;
  await forEachConcurrent(files, AT_ONCE, async ({ fileId, attributes }) => {
    try {
      await updateAttributes(store, fileId, { ...attributes, domain_id: change.to }, signal);
    } catch (error) {
      // It was detached meanwhile.
      if (!hasStatus(error, 404)) throw error;
    }
    done += 1;
    if (done % REPORT_EVERY === 0) report(`  ${done} of ${files.length} files in '${store.storeId}' were marked anew.`);
  });
}

const DELETIONS_AT_ONCE = 4;
/** An upload is attached or reused within this time. */
const ATTACHED_WITHIN_MS = 24 * 3600_000;

/**
 * Deletes our uploads that no vector store of the account holds. Ours are those whose ids were recorded: when the service
 * confirmed an upload, or before a file was detached. Lists only give candidates: each is looked up in every store.
 */
async function sweepUploads(connection: Connection, sweep: UploadSweep): Promise<SweptUploads> {
  const { folder } = connection.records;
  const { dryRun, signal, report, checkpoint } = sweep;
  const storeIds = await listAllStores(connection, await existing(connection, sweep), signal);
  const attached = await attachedFiles(connection, storeIds, signal);
  const loose = (await listUploads(connection, signal)).filter(({ fileId }) => !attached.has(fileId));
  const { ours, inProgress } = await knownUploads(connection);
  const removed: UploadedFile[] = [];
  const candidates = loose.filter(({ fileId }) => ours.has(fileId) && !inProgress.has(fileId));
  await forEachConcurrent(candidates, DELETIONS_AT_ONCE, async (upload) => {
    await checkpoint?.();
    if (await isInUse(connection, storeIds, upload.fileId, signal)) return;
    if (!dryRun) await deleteUpload(connection, upload.fileId, signal);
    removed.push(upload);
    if (removed.length % 100 === 0) report(`[ ${removed.length} / ${candidates.length} ] Uploads that no store holds`);
  });
  if (!dryRun)
    await dropDetachedRecords(folder, await goneOf(connection, folder, { loose, attached, removed }, signal));
  const unknown = loose.filter(({ fileId }) => !ours.has(fileId) && !inProgress.has(fileId)).length;
  return { removed: removed.map(({ fileId, bytes }) => ({ fileId, bytes: Math.max(0, bytes) })), unknown };
}

/** Returns the known stores that exist: the list of stores must contain them. */
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
  records: { folder, journals },
}: Connection): Promise<{ readonly ours: ReadonlySet<FileId>; readonly inProgress: ReadonlySet<FileId> }> {
  const files = await journals.files();
  const young = files.filter(({ startedAtMs }) => Date.now() - startedAtMs < ATTACHED_WITHIN_MS);
  const detached = await detachedUploads(folder);
  const ours = new Set([...detached, ...files.map(({ fileId }) => fileId)]);
  // A detached file is not in progress any more.
  return { ours, inProgress: new Set(young.map(({ fileId }) => fileId).filter((id) => !detached.has(id))) };
}

/** Returns recorded uploads that no longer exist. */
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
  await forEachConcurrent(unlisted, DELETIONS_AT_ONCE, async (fileId) => {
    if (!(await findUpload(connection, fileId, signal))) gone.add(fileId);
  });
  return gone;
}

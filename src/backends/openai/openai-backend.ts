import type { Backend, OwnerChange, SweptUploads, UploadSweep, Watch } from "../../contracts/backend.ts";
import type { FileId, VectorStoreId } from "../../contracts/ids.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { type Connection, connect, type OpenAiOptions, type UploadNotes } from "./connection.ts";
import { hasStatus } from "./refusal.ts";
import { findStore, listStoreFiles, type Store, updateAttributes } from "./store-files.ts";
import {
  deleteUpload,
  detachedUploads,
  everyStore,
  findUpload,
  forgetDetached,
  isInUse,
  listUploads,
  noteDetached,
} from "./uploads.ts";
import { VectorStoreIndex } from "./vector-store-index.ts";
import { hasMarks, isOfDomain, readStore, type UploadedFile } from "./wire-codec.ts";

/** What file search takes in: text, code and documents; no tables, no images. */
const ACCEPTED_TYPES: ReadonlySet<string> = new Set(
  "c cpp cs css doc docx go html java js json md pdf php pptx py rb sh tex ts txt".split(" "),
);

/** Vector stores at OpenAI or Azure OpenAI. No request is made before the first verb. */
export function createOpenAiBackend(options: OpenAiOptions, notes: UploadNotes): Backend {
  const connection = connect(options, notes);
  return {
    acceptedTypes: ACCEPTED_TYPES,
    commits: "gradual",

    /** A lost answer is asked for again and may leave an empty store of the same name; only the id counts. */
    async createVectorStore(name) {
      const body = await connection.calls.run(`create vector store '${name}'`, () =>
        connection.client.vectorStores.create({ name }),
      );
      return readStore(body).id as VectorStoreId;
    },

    async deleteVectorStore(storeId) {
      try {
        await noteMarked({ storeId, connection });
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
      const files = await notes.journals.files(domainId);
      await noteDetached(
        notes.folder,
        files.map(({ fileId }) => fileId),
      );
    },

    sweepUploads: (sweep) => sweepUploads(connection, sweep),

    close: () => connection.close(),
  };
}

/** Nobody detaches them one by one when their store goes. */
async function noteMarked(store: Store): Promise<void> {
  const files = (await listStoreFiles(store)).filter(hasMarks);
  await noteDetached(
    store.connection.notes.folder,
    files.map(({ fileId }) => fileId),
  );
}

const AT_ONCE = 8;
const REPORT_EVERY = 100;

/**
 * Our files in the store carry the domain's id, one request each; nothing is uploaded or embedded. What carries the new
 * id already is left alone, so it may be interrupted anywhere.
 */
async function changeOwner(store: Store, change: OwnerChange, { signal, report }: Watch): Promise<void> {
  const files = (await listStoreFiles(store, undefined, signal)).filter((file) => isOfDomain(file, change.from));
  let done = 0;
  await forEachConcurrent(files, AT_ONCE, async ({ fileId, attributes }) => {
    try {
      await updateAttributes(store, fileId, { ...attributes, domain_id: change.to }, signal);
    } catch (error) {
      // Somebody took it out of the store meanwhile.
      if (!hasStatus(error, 404)) throw error;
    }
    done += 1;
    if (done % REPORT_EVERY === 0) report(`  ${done} of ${files.length} files in '${store.storeId}' were marked anew.`);
  });
}

const DELETIONS_AT_ONCE = 4;
/** Whoever is about to attach an upload, or to take one over, does so before. */
const SETTLED_WITHIN_MS = 24 * 3600_000;

/**
 * Deletes the uploads of ours that no vector store of the account holds. Ours are those whose ids we wrote down: when the
 * service answered an upload, or before we detached a file. The lists only point to them: each is asked for in every store.
 */
async function sweepUploads(connection: Connection, sweep: UploadSweep): Promise<SweptUploads> {
  const { folder } = connection.notes;
  const { dryRun, signal, report, checkpoint } = sweep;
  const storeIds = await everyStore(connection, await existing(connection, sweep), signal);
  const attached = await attachedFiles(connection, storeIds, signal);
  const loose = (await listUploads(connection, signal)).filter(({ fileId }) => !attached.has(fileId));
  const { ours, underWay } = await knownUploads(connection);
  const removed: UploadedFile[] = [];
  const candidates = loose.filter(({ fileId }) => ours.has(fileId) && !underWay.has(fileId));
  await forEachConcurrent(candidates, DELETIONS_AT_ONCE, async (upload) => {
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
  await forEachConcurrent(unlisted, DELETIONS_AT_ONCE, async (fileId) => {
    if (!(await findUpload(connection, fileId, signal))) gone.add(fileId);
  });
  return gone;
}

import type { Backend } from "../../contracts/backend.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import { changeOwner } from "./change-owner.ts";
import { connect, type OpenAiOptions, type UploadNotes } from "./connection.ts";
import { noteDetached } from "./detached-uploads.ts";
import { hasStatus } from "./refusal.ts";
import { findStore, listStoreFiles, type Store } from "./store-files.ts";
import { sweepUploads } from "./sweep-uploads.ts";
import { VectorStoreIndex } from "./vector-store-index.ts";
import { hasMarks, readStore } from "./wire-codec.ts";

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

import type { BlobItem } from "@azure/storage-blob";
import type { FileTree } from "../../contracts/file-tree.ts";
import {
  bareEtag,
  createObjectTree,
  type ObjectStore,
  type StoredObject,
  type StoreWords,
} from "../tree/create-object-tree.ts";
import type { BlobSourceConfig } from "./blob-source-codec.ts";
import {
  ARCHIVED,
  explainContainer,
  type OpenContainer,
  openContainer,
  plainAddress,
  type ReadVariable,
} from "./open-container.ts";
import { createIdleTimeout, readBlob } from "./read-blob.ts";

interface BlobTreeOptions {
  /** Returns the value of the variable that `credential` names; undefined if it is not set. */
  readonly credential: ReadVariable;
  /** Without a credential: which of several managed identities is used. */
  readonly identityClientId?: string;
  /** Where content is spooled between hashing and fetching; without one, nothing is written. */
  readonly folder?: string;
}

const WORDS: StoreWords = {
  store: "Container",
  object: "blob",
  setCredential:
    "Ask an administrator of the server to set the variable to a shared access signature that may read and list the container, or to the connection string of its account.",
};

/** Opens a container as a tree of its blobs. */
export function createBlobTree(config: BlobSourceConfig, options: BlobTreeOptions): FileTree {
  const url = plainAddress(new URL(config.containerUrl));
  const open = async (): Promise<ObjectStore> => {
    const container = await openContainer(url, config.credential, options.credential, options.identityClientId);
    return {
      access: container.access,
      hint: container.hint,
      list: (prefix, signal) => listBlobs(container, prefix, signal),
      read: (name, etag, signal) => readBlob(container, name, etag, signal),
    };
  };
  return createObjectTree(config, { location: url.href, open, folder: options.folder, words: WORDS });
}

/** Lists the blobs with this prefix, one page per response. Ends normally only after the last blob. */
async function* listBlobs(
  container: OpenContainer,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredObject[], void> {
  const timeout = createIdleTimeout(signal);
  const options = { includeMetadata: true, abortSignal: timeout.signal, ...(prefix && { prefix }) };
  try {
    for await (const { segment } of timeout.each(container.client.listBlobsFlat(options).byPage())) {
      yield segment.blobItems.filter((blob) => !isFolder(blob)).map(toObject);
    }
  } catch (error) {
    timeout.signal.throwIfAborted();
    throw explainContainer(error, container);
  }
}

/** Accounts with hierarchical namespace list folders as blobs. */
function isFolder({ metadata }: BlobItem): boolean {
  return Object.entries(metadata ?? {}).some(
    ([key, value]) => key.toLowerCase() === "hdi_isfolder" && value === "true",
  );
}

function toObject({ name, properties }: BlobItem): StoredObject {
  return {
    name,
    size: properties.contentLength ?? 0,
    modifiedAtMs: properties.lastModified.getTime(),
    etag: bareEtag(properties.etag),
    unreadable: properties.accessTier === "Archive" ? ARCHIVED : "",
  };
}

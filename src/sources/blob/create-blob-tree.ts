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
  /** What the environment variable holds that `credential` names; undefined when it is not set. */
  readonly credential: ReadVariable;
  /** For containers without one: which of several identities of this machine reads them. */
  readonly identityClientId?: string;
  /** Where bytes wait between being hashed and being fetched; without one, nothing is written down. */
  readonly folder?: string;
}

const WORDS: StoreWords = {
  store: "Container",
  object: "blob",
  setCredential:
    "Whoever runs the server sets the variable to a shared access signature that may read and list the container, or to the connection string of its account.",
};

/** A container as a tree of its blobs. */
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

/** Every blob whose name begins with the prefix, as many at a time as one answer has. Ends normally only when it has them all. */
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

/** Accounts with real folders list them as blobs. */
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

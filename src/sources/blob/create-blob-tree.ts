import type { FileTree } from "../../contracts/file-tree.ts";
import { createObjectTree, type ObjectStore, type StoreWords } from "../tree/create-object-tree.ts";
import { plainAddress } from "./blob-address.ts";
import type { BlobSourceConfig } from "./blob-source-codec.ts";
import { listBlobs } from "./list-blobs.ts";
import { openContainer, type ReadVariable } from "./open-container.ts";
import { readBlob } from "./read-blob.ts";

export interface BlobTreeOptions {
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
  const place = plainAddress(new URL(config.containerUrl));
  const open = async (): Promise<ObjectStore> => {
    const container = await openContainer(place, config.credential, options.credential, options.identityClientId);
    return {
      access: container.access,
      hint: container.hint,
      list: (prefix, signal) => listBlobs(container, prefix, signal),
      read: (name, etag, signal) => readBlob(container, name, etag, signal),
    };
  };
  return createObjectTree(config, { place: place.href, open, folder: options.folder, words: WORDS });
}

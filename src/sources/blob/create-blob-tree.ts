import type { BlobItem } from "@azure/storage-blob";
import type { FileTree, TreeFile, TreePage } from "../../contracts/file-tree.ts";
import type { Unreadable } from "../../contracts/source.ts";
import { createTreeRules } from "../../detect/lineage/tree-rules.ts";
import { limitBytes } from "../../lib/limit-bytes.ts";
import { blobUrl, plainAddress } from "./blob-address.ts";
import type { BlobSourceConfig } from "./blob-source-codec.ts";
import { ARCHIVED } from "./blob-trouble.ts";
import { examineContainer } from "./examine-container.ts";
import { KeptReads } from "./kept-reads.ts";
import { listBlobs } from "./list-blobs.ts";
import { type OpenedContainer, openContainer, type ReadVariable } from "./open-container.ts";
import { bareEtag, readBlob } from "./read-blob.ts";

export interface BlobTreeOptions {
  /** What the environment variable holds that `credential` names; undefined when it is not set. */
  readonly credential: ReadVariable;
  /** For containers without one: which of several identities of this machine reads them. */
  readonly identityClientId?: string;
  /** Where bytes wait between being hashed and being fetched; without one, nothing is written down. */
  readonly folder?: string;
}

/** A container as a tree: its blobs are files, by their names below the last slash of the prefix. */
export function createBlobTree(config: BlobSourceConfig, options: BlobTreeOptions): FileTree {
  const { credential, identityClientId, folder } = options;
  const place = plainAddress(new URL(config.containerUrl));
  const root = config.prefix.slice(0, config.prefix.lastIndexOf("/") + 1);
  let opening: Promise<OpenedContainer> | undefined;
  const open = (): Promise<OpenedContainer> => {
    opening ??= openContainer(place, config.credential, credential, identityClientId);
    return opening;
  };
  const kept = folder === undefined ? undefined : new KeptReads(folder);
  const toPage = createPaging(config, root);
  return {
    place: config.prefix ? `${place.href}/${config.prefix}` : place.href,
    identity: async () => "",
    async *walk(signal) {
      await kept?.begin();
      for await (const blobs of listBlobs(await open(), config.prefix, signal)) yield toPage(blobs);
      return "complete";
    },
    async *read(path, signal, etag = "") {
      const container = await open();
      const read = (): AsyncIterable<Uint8Array> =>
        limitBytes(readBlob(container, root + path, etag, signal), config.maxFileBytes);
      yield* kept ? kept.read(`${etag} ${path}`, read) : read();
    },
    addressOf: (path) => ({ url: blobUrl(place, root + path), rawUrl: `${place.href}/${root}${path}` }),
    close: async () => await kept?.end(),
    examine: (isTaken, signal) => examineContainer(config, open, isTaken, signal),
  };
}

function createPaging(config: BlobSourceConfig, root: string): (blobs: readonly BlobItem[]) => TreePage {
  const isLetIn = createTreeRules(config);
  return (blobs) => {
    const files: TreeFile[] = [];
    const unreadable: Unreadable[] = [];
    const skipped: { path: string; reason: string }[] = [];
    for (const blob of blobs) {
      const file = toFile(blob, root);
      if (!isLetIn(file.path)) continue;
      if (blob.properties.accessTier === "Archive") {
        unreadable.push({ kind: "unreadable", path: file.path, reason: ARCHIVED });
      } else if (file.size > config.maxFileBytes) {
        skipped.push({ path: file.path, reason: `It has ${file.size} bytes; the limit is ${config.maxFileBytes}.` });
      } else files.push(file);
    }
    return { folder: "", files, unreadable, skipped };
  };
}

function toFile({ name, properties }: BlobItem, root: string): TreeFile {
  return {
    path: name.slice(root.length),
    size: properties.contentLength ?? 0,
    modifiedAtMs: properties.lastModified.getTime(),
    stamp: bareEtag(properties.etag),
    node: "",
  };
}

import type { BlobItem } from "@azure/storage-blob";
import { bareEtag, type StoredObject } from "../tree/create-object-tree.ts";
import { ARCHIVED, explainContainer } from "./blob-trouble.ts";
import { createPatience } from "./create-patience.ts";
import type { OpenedContainer } from "./open-container.ts";

/** Every blob whose name begins with the prefix, as many at a time as one answer has. Ends normally only when it has them all. */
export async function* listBlobs(
  container: OpenedContainer,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredObject[], void> {
  const patience = createPatience(signal);
  const options = { includeMetadata: true, abortSignal: patience.signal, ...(prefix && { prefix }) };
  try {
    for await (const { segment } of patience.each(container.client.listBlobsFlat(options).byPage())) {
      yield segment.blobItems.filter((blob) => !isFolder(blob)).map(toObject);
    }
  } catch (error) {
    patience.signal.throwIfAborted();
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

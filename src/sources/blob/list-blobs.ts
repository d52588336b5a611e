import type { BlobItem } from "@azure/storage-blob";
import { explainContainer } from "./blob-trouble.ts";
import { createPatience } from "./create-patience.ts";
import type { OpenedContainer } from "./open-container.ts";

/** Whoever reads an address takes these for the container, or for what it is in, however they are written. */
const NO_ADDRESS = /^\.\.?$/;

/** Every blob whose name begins with the prefix, as many at a time as one answer has. Ends normally only when it has them all. */
export async function* listBlobs(
  container: OpenedContainer,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<readonly BlobItem[], void> {
  const patience = createPatience(signal);
  const options = { includeMetadata: true, abortSignal: patience.signal, ...(prefix && { prefix }) };
  try {
    for await (const { segment } of patience.each(container.client.listBlobsFlat(options).byPage())) {
      yield segment.blobItems.filter((blob) => !isFolderMark(blob) && !NO_ADDRESS.test(blob.name));
    }
  } catch (error) {
    patience.signal.throwIfAborted();
    throw explainContainer(error, container);
  }
}

/** Accounts with real folders list them as blobs; tools that want folders elsewhere put empty blobs there. */
function isFolderMark({ name, metadata, properties }: BlobItem): boolean {
  const marks = Object.entries(metadata ?? {}).some(
    ([key, value]) => key.toLowerCase() === "hdi_isfolder" && value === "true",
  );
  return marks || (name.endsWith("/") && properties.contentLength === 0);
}

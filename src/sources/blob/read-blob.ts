import { bareEtag } from "../tree/create-object-tree.ts";
import { readResuming } from "../tree/read-resuming.ts";
import { explainBlob } from "./blob-trouble.ts";
import { createPatience } from "./create-patience.ts";
import type { OpenedContainer } from "./open-container.ts";

/**
 * The bytes of one blob, of one ETag from the first to the last: with `etag` of that one. Ends normally only when they all
 * came, which the library counts.
 */
export function readBlob(
  container: OpenedContainer,
  name: string,
  etag: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const { signal: abortSignal, during, each } = createPatience(signal);
  const blob = container.blob(name);
  let version = etag;
  const ask = async (from: number): Promise<AsyncIterable<Uint8Array>> => {
    try {
      const conditions = version ? { ifMatch: `"${version}"` } : {};
      // Its own way to resume does nothing when the connection is cut.
      const options = { abortSignal, conditions, maxRetryRequests: 0 };
      const answer = await during(() => blob.download(from, undefined, options));
      version = bareEtag(answer.etag ?? "");
      return each((answer.readableStreamBody ?? []) as AsyncIterable<Buffer>);
    } catch (error) {
      abortSignal.throwIfAborted();
      throw explainBlob(error, name, container);
    }
  };
  return readResuming(name, ask, abortSignal);
}

import { RemoteError } from "../../contracts/errors.ts";
import { azureAnswer } from "../../lib/azure-trouble.ts";
import { explainBlob } from "./blob-trouble.ts";
import { createPatience } from "./create-patience.ts";
import type { OpenedContainer } from "./open-container.ts";

/** Lists have ETags without quotes, headers have them with. */
export function bareEtag(etag: string): string {
  return etag.replace(/^(W\/)?"(.*)"$/, "$2");
}

/** How often a body that was cut is asked for from where it ended. */
const MAX_RESUMES = 3;

/**
 * The bytes of one blob, of one ETag from the first to the last: with `etag` of that one. Ends normally only when they all
 * came, which the library counts.
 */
export async function* readBlob(
  container: OpenedContainer,
  name: string,
  etag: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const { signal: abortSignal, during, each } = createPatience(signal);
  const blob = container.blob(name);
  let version = etag;
  let bytes = 0;
  for (let resumes = 0; ; resumes++) {
    try {
      const conditions = version ? { ifMatch: `"${version}"` } : {};
      // Its own way to resume does nothing when the connection is cut.
      const options = { abortSignal, conditions, maxRetryRequests: 0 };
      const answer = await during(() => blob.download(bytes, undefined, options));
      version = bareEtag(answer.etag ?? "");
      if (!answer.readableStreamBody) return;
      for await (const chunk of each(answer.readableStreamBody)) {
        yield chunk as Buffer;
        bytes += chunk.length;
      }
      return;
    } catch (error) {
      abortSignal.throwIfAborted();
      const wasAnswered = azureAnswer(error).status !== undefined;
      if (wasAnswered || bytes === 0) throw explainBlob(error, name, container);
      if (resumes === MAX_RESUMES) throw new RemoteError(`'${name}' did not arrive whole: the connection was cut.`);
    }
  }
}

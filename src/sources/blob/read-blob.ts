import { RemoteError } from "../../contracts/errors.ts";
import { bareEtag, readResuming } from "../tree/create-object-tree.ts";
import { explainBlob, type OpenedContainer } from "./open-container.ts";

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

const SILENCE_MS = 60_000;

/** Waits for somebody else, but not for ever. */
interface Patience {
  /** Goes along with what is asked. */
  readonly signal: AbortSignal;
  during<T>(answer: () => Promise<T>): Promise<T>;
  /** Each is waited for anew; what is done with it takes as long as it takes. */
  each<T>(answers: AsyncIterable<T>): AsyncGenerator<T, void>;
}

export function createPatience(signal: AbortSignal): Patience {
  const given = new AbortController();
  async function during<T>(answer: () => Promise<T>): Promise<T> {
    const reason = new RemoteError(`Azure Storage did not answer for ${SILENCE_MS / 1000} seconds.`);
    const timer = setTimeout(() => given.abort(reason), SILENCE_MS);
    try {
      return await answer();
    } finally {
      clearTimeout(timer);
    }
  }
  async function* each<T>(answers: AsyncIterable<T>): AsyncGenerator<T, void> {
    const iterator = answers[Symbol.asyncIterator]();
    try {
      for (;;) {
        const { done, value } = await during(() => iterator.next());
        if (done) return;
        yield value;
      }
    } finally {
      await iterator.return?.();
    }
  }
  return { signal: AbortSignal.any([signal, given.signal]), during, each };
}

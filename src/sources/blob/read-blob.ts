import { RemoteError } from "../../contracts/errors.ts";
import { bareEtag, readResuming } from "../tree/create-object-tree.ts";
import { explainBlob, type OpenContainer } from "./open-container.ts";

/**
 * Reads one version of a blob completely: the version `etag`, or the current one for "". Ends normally only after the last
 * byte, which the library checks by the length.
 */
export function readBlob(
  container: OpenContainer,
  name: string,
  etag: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const { signal: abortSignal, during, each } = createIdleTimeout(signal);
  const blob = container.blob(name);
  let version = etag;
  const download = async (from: number): Promise<AsyncIterable<Uint8Array>> => {
    try {
      const conditions = version ? { ifMatch: `"${version}"` } : {};
      // The library's own resume does not work when the connection is cut.
      const options = { abortSignal, conditions, maxRetryRequests: 0 };
      const response = await during(() => blob.download(from, undefined, options));
      version = bareEtag(response.etag ?? "");
      return each((response.readableStreamBody ?? []) as AsyncIterable<Buffer>);
    } catch (error) {
      abortSignal.throwIfAborted();
      throw explainBlob(error, name, container);
    }
  };
  return readResuming(name, download, abortSignal);
}

const IDLE_MS = 60_000;

/** Aborts when the service is silent for too long. */
interface IdleTimeout {
  /** Pass it to requests. */
  readonly signal: AbortSignal;
  during<T>(request: () => Promise<T>): Promise<T>;
  /** The timeout applies to each item anew, not to the time the caller needs for it. */
  each<T>(items: AsyncIterable<T>): AsyncGenerator<T, void>;
}

export function createIdleTimeout(signal: AbortSignal): IdleTimeout {
  const idle = new AbortController();
  async function during<T>(request: () => Promise<T>): Promise<T> {
    const reason = new RemoteError(`Azure Storage did not answer for ${IDLE_MS / 1000} seconds.`);
    const timer = setTimeout(() => idle.abort(reason), IDLE_MS);
    try {
      return await request();
    } finally {
      clearTimeout(timer);
    }
  }
  async function* each<T>(items: AsyncIterable<T>): AsyncGenerator<T, void> {
    const iterator = items[Symbol.asyncIterator]();
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
  return { signal: AbortSignal.any([signal, idle.signal]), during, each };
}

import { RemoteError } from "../../contracts/errors.ts";

const SILENCE_MS = 60_000;

/** Waits for somebody else, but not for ever. */
export interface Patience {
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

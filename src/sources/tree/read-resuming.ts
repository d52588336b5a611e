import { RemoteError } from "../../contracts/errors.ts";

/** How often a body that was cut is asked for from where it ended. */
const MAX_RESUMES = 3;

/** The bytes of one object. `ask` gives the body from a byte on; what it throws is final. */
export async function* readResuming(
  name: string,
  ask: (from: number) => Promise<AsyncIterable<Uint8Array>>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  for (let resumes = 0; ; resumes++) {
    const body = await ask(bytes);
    try {
      for await (const chunk of body) {
        yield chunk;
        bytes += chunk.byteLength;
      }
      return;
    } catch {
      signal.throwIfAborted();
      if (resumes === MAX_RESUMES) throw new RemoteError(`'${name}' did not arrive whole: the connection was cut.`);
    }
  }
}

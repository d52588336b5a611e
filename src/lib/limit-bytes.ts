import { RemoteError } from "../contracts/errors.ts";

/** The same bytes; throws when there are more, whatever was said of them before. */
export async function* limitBytes(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new RemoteError(`it has become larger than the limit of ${maxBytes} bytes`);
    yield chunk;
  }
}

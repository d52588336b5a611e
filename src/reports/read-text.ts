/** Text up to the requested size. */
export interface ReadText {
  readonly text: string;
  /** false: there is more. */
  readonly complete: boolean;
}

/** Returns the beginning of a text, up to about `maxBytes`; undefined if it is no text (UTF-8 without zero bytes). */
export async function readText(content: AsyncIterable<Uint8Array>, maxBytes: number): Promise<ReadText | undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let [text, bytes, complete] = ["", 0, true];
  try {
    for await (const chunk of content) {
      if (bytes >= maxBytes) {
        complete = false;
        break;
      }
      bytes += chunk.length;
      text += decoder.decode(chunk, { stream: true });
    }
    if (complete) text += decoder.decode();
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
  return text.includes("\0") ? undefined : { text, complete };
}

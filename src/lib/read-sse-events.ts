import { parseSseEvents, type SseEvent } from "./sse.ts";

const EVENT_END = /\r\n\r\n|\n\n|\r\r/g;
/** No event of a well-meaning server comes near it. */
const MAX_EVENT_CHARACTERS = 4 * 1024 * 1024;

/** The events of a stream, each as soon as it is complete. Of one that breaks off in the middle nothing is told. */
export async function* readSseEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<SseEvent> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const block of body) {
    text += decoder.decode(block, { stream: true });
    const end = [...text.matchAll(EVENT_END)].at(-1);
    if (end) {
      const complete = end.index + end[0].length;
      yield* parseSseEvents(text.slice(0, complete));
      text = text.slice(complete);
    }
    if (text.length > MAX_EVENT_CHARACTERS) throw new Error("read events: one is too long");
  }
}

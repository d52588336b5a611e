/** One server-sent event. */
export interface SseEvent {
  /** "" if the event has none. */
  readonly id: string;
  readonly event: string;
  readonly data: string;
  /** One line that every client ignores; left out if the event has none. */
  readonly comment?: string;
}

// Everything below a space but tab, LF and CR, and DEL: they say nothing in a log and can rewrite a terminal that shows it.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;
const LINE_END = /\r\n|\r|\n/;

/**
 * Encodes one event. No text can end its event or begin another: each line, whatever its line end, becomes a `data:` line, and control
 * characters become U+FFFD. `event:` always comes first, so a line that begins with it begins an event.
 */
export function encodeSseEvent(event: SseEvent): string {
  const lines = [`event: ${oneLine(event.event)}`];
  if (event.id !== "") lines.push(`id: ${oneLine(event.id)}`);
  if (event.comment !== undefined) lines.push(`: ${oneLine(event.comment)}`);
  for (const line of clean(event.data).split(LINE_END)) lines.push(`data: ${line}`);
  return `${lines.join("\n")}\n\n`;
}

/** Parses the complete events of a part of a stream that begins at an event; leaves out an unfinished last one. */
export function parseSseEvents(text: string): SseEvent[] {
  const events: SseEvent[] = [];
  const lines = text.split(LINE_END);
  // The part after the last line end is not a complete line yet.
  lines.pop();
  let fields: Fields = emptyFields();
  for (const line of lines) {
    if (line === "") {
      const { id, event, data, comment } = fields;
      if (data.length > 0) events.push({ id, event, data: data.join("\n"), ...(comment !== undefined && { comment }) });
      fields = emptyFields();
    } else {
      readField(line, fields);
    }
  }
  return events;
}

interface Fields {
  id: string;
  event: string;
  readonly data: string[];
  comment?: string;
}

function emptyFields(): Fields {
  return { id: "", event: "message", data: [] };
}

function readField(line: string, fields: Fields): void {
  const colon = line.indexOf(":");
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
  if (name === "data") fields.data.push(value);
  else if (name === "event") fields.event = value;
  else if (name === "id") fields.id = value;
  else if (name === "") fields.comment = value;
}

function clean(text: string): string {
  return text.toWellFormed().replaceAll(CONTROLS, "\ufffd");
}

function oneLine(text: string): string {
  return clean(text).replaceAll(/[\r\n]+/g, " ");
}

const EVENT_END = /\r\n\r\n|\n\n|\r\r/g;
/** No event of a well-behaved server is near this size. */
const MAX_EVENT_CHARACTERS = 4 * 1024 * 1024;

/** Yields each event as soon as it is complete. An event that breaks off is not yielded. */
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

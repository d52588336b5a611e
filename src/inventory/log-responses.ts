import { ownerOf } from "../contracts/access.ts";
import type { Wire } from "../contracts/backend.ts";
import { isJsonObject, parseJson } from "../lib/json-object.ts";
import { parseSseEvents } from "../lib/sse.ts";
import type { LoggedResponse, ResponseLog } from "./response-log.ts";

const PATH = /^(?:\/openai)?(?:\/v1)?(?:\/deployments\/[^/]+)?\/(responses|conversations|threads)(?:\/([^/]+))?\/?$/;
/** Objects that are logged as conversations. */
const CONVERSATIONS: ReadonlySet<string> = new Set(["conversation", "thread", "thread.run"]);
/** At most this much of an answer is buffered; all of it passes on. */
const MOST_KEPT = 4 * 1024 * 1024;
/** Longer than any field we read. */
const LONGEST_FIELD = 2048;

/** The same wire; responses and conversations that it creates are logged with their owner. */
export function withResponseLog(wire: Wire, log: ResponseLog): Wire {
  return async (request, call) => logResponses(log, request, await wire(request, call), call?.by && ownerOf(call.by));
}

/**
 * Logs the id of a created response or conversation, so that the inventory can list it and owners find their own. Bytes pass on
 * as they come; only a copy of their beginning is parsed. A failure to log does not fail the answer.
 */
export function logResponses(log: ResponseLog, request: Request, response: Response, owner?: string): Response {
  const path = PATH.exec(new URL(request.url).pathname);
  if (!path || !response.ok) return response;
  const [, , id] = path;
  if (request.method === "DELETE" && id !== undefined) log.remove(decode(id)).catch(() => undefined);
  const makes = id === undefined || (path[1] === "threads" && id === "runs");
  if (request.method !== "POST" || !makes || response.body === null) return response;
  const streamed = (response.headers.get("content-type") ?? "").startsWith("text/event-stream");
  const found = (entry: LoggedResponse): void =>
    void log.add({ ...entry, ...(owner !== undefined && { owner }) }).catch(() => undefined);
  return new Response(response.body.pipeThrough(watch(streamed ? inEvents : inJson(), found)), response);
}

interface Finding {
  /** Returns the part of a piece that is buffered. */
  keep(piece: string): string;
  /** `over`: no more text follows. undefined: not known yet; null: nothing to log. */
  find(text: string, over: boolean): LoggedResponse | null | undefined;
}

function watch(
  { keep, find }: Finding,
  found: (entry: LoggedResponse) => void,
): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  let text = "";
  let searching = true;
  const parseBuffered = (over: boolean): void => {
    const entry = find(text, over);
    if (entry) found(entry);
    if (entry === undefined && !over && text.length <= MOST_KEPT) return;
    searching = false;
    text = "";
  };
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      if (!searching) return;
      text += keep(decoder.decode(chunk, { stream: true }));
      parseBuffered(false);
    },
    flush() {
      if (searching) parseBuffered(true);
    },
  });
}

const inEvents: Finding = { keep: (piece) => piece, find: findInEvents };
const inJson = (): Finding => ({ keep: outermost(), find: findInJson });

/** Keeps only the short fields of the outermost object of a JSON text that comes in pieces. */
function outermost(): (piece: string) => string {
  let depth = 0;
  let stringLength = -1;
  let isEscaped = false;
  let field = "";
  const inString = (sign: string): string => {
    stringLength += 1;
    if (depth === 1 && stringLength <= LONGEST_FIELD) field += sign;
    const ends = sign === '"' && !isEscaped;
    isEscaped = sign === "\\" && !isEscaped;
    if (!ends) return "";
    const whole = stringLength <= LONGEST_FIELD ? `"${field}` : '""';
    stringLength = -1;
    return depth === 1 ? whole : "";
  };
  const outside = (sign: string): string => {
    if (sign === '"') {
      stringLength = 0;
      field = "";
      return "";
    }
    if (sign === "{" || sign === "[") {
      depth += 1;
      return depth === 1 ? sign : depth === 2 ? "null" : "";
    }
    if (sign === "}" || sign === "]") {
      depth -= 1;
      return depth === 0 ? sign : "";
    }
    return depth <= 1 ? sign : "";
  };
  return (piece) => {
    let kept = "";
    for (const sign of piece) kept += stringLength >= 0 ? inString(sign) : outside(sign);
    return kept;
  };
}

/** The first event has the response with all fields we need. */
function findInEvents(text: string): LoggedResponse | null | undefined {
  const [first] = parseSseEvents(text);
  if (!first) return undefined;
  const event = parseJson(first.data);
  return isJsonObject(event) ? toEntry(event["response"] ?? event) : null;
}

function findInJson(text: string, over: boolean): LoggedResponse | null | undefined {
  return over ? toEntry(parseJson(text)) : undefined;
}

/** null if it is no response, or one that the backend does not store. */
function toEntry(value: unknown): LoggedResponse | null {
  if (!isJsonObject(value) || value["store"] === false) return null;
  const { object, created_at, model } = value;
  const id = object === "thread.run" ? value["thread_id"] : value["id"];
  if (typeof id !== "string" || id === "") return null;
  const entry = { id, created_at: Number(created_at ?? 0), model: String(model ?? "") };
  if (typeof object === "string" && CONVERSATIONS.has(object)) return { ...entry, model: "", kind: "conversation" };
  return object === "response" ? entry : null;
}

function decode(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

import { type Asker, askerOf, maySee, mayWrite, NOT_YOURS_TO_ORDER } from "../contracts/access.ts";
import type { Wire } from "../contracts/backend.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../lib/json-object.ts";
import { readUpTo } from "../lib/text.ts";
import type { LoggedResponse, ResponseLog } from "./response-log.ts";

/** Large enough for a question with pictures. */
const MAX_BYTES = 32 * 1024 * 1024;
const NOUNS: Readonly<Record<string, string>> = {
  responses: "Response",
  conversations: "Conversation",
  threads: "Thread",
};
/** Segments that are verbs, not ids. */
const VERBS: ReadonlySet<string> = new Set(["input_tokens", "compact", "runs"]);

class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * A remote service knows only our account and shows it everything. So the log records the owner of a response or conversation, and for
 * anybody but the owner and administrators it does not exist. The request that was checked is the one that is sent.
 */
export function restrictToOwner(wire: Wire, log: ResponseLog): Wire {
  return async (request, call = {}) => {
    if (call.by === undefined) return wire(request, call);
    try {
      return await wire(await checked(request, askerOf(call.by), log), call);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      await request.body?.cancel().catch(() => undefined);
      const { status, message } = error;
      const code = status === 404 ? "not_found" : null;
      return Response.json({ error: { message, type: "invalid_request_error", param: null, code } }, { status });
    }
  };
}

async function checked(request: Request, asker: Asker, log: ResponseLog): Promise<Request> {
  const [collection = "", id, ...below] = segmentsOf(new URL(request.url).pathname);
  const { seesAll } = asker;
  if (collection.toLowerCase() === "chat" && !seesAll && (below.length > 0 || request.method !== "POST")) {
    throw new Refusal(404, "Completions that the service keeps are shown to administrators only.");
  }
  const noun = NOUNS[collection.toLowerCase()];
  if (noun === undefined) return request;
  const find = async (one: string, called: string): Promise<LoggedResponse | undefined> => {
    const found = await log.find(one);
    if (!maySee(asker, found?.owner)) throw new Refusal(404, `${called} with id '${one}' not found.`);
    return found;
  };
  const isId = id !== undefined && !(VERBS.has(id) && below.length === 0);
  const named = isId ? await find(id, noun) : undefined;
  if (request.method !== "POST") {
    if (id === undefined && !seesAll) throw new Refusal(404, "The service has no list of these.");
    return request;
  }
  if (request.body === null) return request;
  const fields = await readFields(request);
  const { previous_response_id: previous, conversation } = fields;
  const previousId = idIn(previous, "previous_response_id");
  if (previousId !== undefined) await find(previousId, "Previous response");
  const conversationId = idIn(isJsonObject(conversation) ? conversation["id"] : conversation, "conversation");
  const loggedConversation = conversationId === undefined ? undefined : await find(conversationId, "Conversation");
  const items = [...itemsIn(fields["input"]), ...itemsIn(fields["items"])];
  for (const item of items) checkItem(item, asker, (loggedConversation ?? named)?.owner);
  if (!seesAll && itemsIn(fields["tools"]).some(namesContainer)) {
    throw new Refusal(
      400,
      "Containers are not named, for they may be others': let the service choose one ('container': {'type': 'auto'}).",
    );
  }
  return withBody(request, fields);
}

function idIn(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw new Refusal(400, `Invalid type for '${name}': an id is a string.`);
  return value;
}

function itemsIn(value: unknown): readonly unknown[] {
  if (value === undefined || value === null || typeof value === "string") return [];
  return Array.isArray(value) ? value : [value];
}

function checkItem(item: unknown, asker: Asker, whose: string | undefined): void {
  if (!asker.seesAll && !isItself(item)) {
    throw new Refusal(
      400,
      "References to earlier items are not passed on, for they may be others': send the item itself, with its type or role and its content (of reasoning, 'encrypted_content'), or 'previous_response_id'.",
    );
  }
  const role = isJsonObject(item) ? item["role"] : "system";
  if (!mayWrite(asker, whose, role)) throw new Refusal(400, NOT_YOURS_TO_ORDER);
}

/** Stored by the service, which finds it by id unless the item has this field. */
const CARRIERS: Readonly<Record<string, string>> = {
  reasoning: "encrypted_content",
  compaction: "encrypted_content",
  image_generation_call: "result",
};
const NAMES = /^(type|status|object|(.*_)?id)$/;

/** A container of the service holds the files of the user it was made for. */
function namesContainer(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { container, container_id: id, environment } = value;
  return typeof container === "string" || (id !== undefined && id !== null) || namesContainer(environment);
}

/** Tells whether it is an item itself: nothing that a service might read as a reference to another item. */
function isItself(item: unknown): boolean {
  if (!isJsonObject(item)) return false;
  const { type, role, content } = item;
  if (type !== undefined && type !== null && type !== "message") {
    if (typeof type !== "string" || type === "" || type === "item_reference" || namesContainer(item)) return false;
    const carrier = CARRIERS[type];
    if (carrier !== undefined) return typeof item[carrier] === "string" && item[carrier] !== "";
    return Object.keys(item).some((key) => !NAMES.test(key));
  }
  return typeof role === "string" && (typeof content === "string" || Array.isArray(content));
}

/** Decodes repeatedly, as a service may; drops the version and the deployment. */
function segmentsOf(path: string): string[] {
  let plain = path;
  for (let last = ""; plain !== last; ) {
    last = plain;
    try {
      plain = decodeURIComponent(plain);
    } catch {
      break;
    }
  }
  const segments = plain.split(/[/\\]/).filter((one) => one !== "");
  while (segments[0] === "v1" || segments[0] === "deployments") segments.splice(0, segments[0] === "v1" ? 1 : 2);
  return segments;
}

async function readFields(request: Request): Promise<JsonObject> {
  const packed = request.headers.get("content-encoding") ?? "identity";
  if (packed.toLowerCase() !== "identity") {
    throw new Refusal(415, `A body with Content-Encoding '${packed}' is not looked into here: send the JSON as it is.`);
  }
  const body = await readUpTo(request.body ?? [], MAX_BYTES);
  if (!body) throw new Refusal(413, `Request body is larger than ${MAX_BYTES} bytes.`);
  const text = body.toString("utf8");
  const value = text.trim() === "" ? {} : parseJsonObject(text);
  if (!value) throw new Refusal(400, "We could not parse the JSON body of your request.");
  return value;
}

function withBody({ url, method, headers, signal }: Request, fields: JsonObject): Request {
  const filtered = new Headers(headers);
  for (const name of ["content-length", "transfer-encoding"]) filtered.delete(name);
  filtered.set("content-type", "application/json");
  return new Request(url, { method, headers: filtered, signal, body: JSON.stringify(fields) });
}

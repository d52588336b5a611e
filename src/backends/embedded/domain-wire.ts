import { Hono } from "hono";
import type { Wire, WireCall } from "../../contracts/backend.ts";
import { domainNameIn, type ShownHit } from "../../contracts/domain-models.ts";
import type { FileId } from "../../contracts/ids.ts";
import type { Attributes } from "../../contracts/search-index.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../lib/json-object.ts";
import type { AnswerContext } from "./answers/answer-context.ts";
import { answerInChat, type DomainAnswers } from "./answers/domain-chat.ts";
import { beginDomainResponse } from "./answers/make-response.ts";
import { readResponseRequest } from "./answers/read-response-request.ts";
import { asString, readFields } from "./wire/read-fields.ts";
import { countTokens, outcomeOf, streamed } from "./wire/response-routes.ts";
import type { WireEnv } from "./wire/wire-context.ts";
import { badRequest, noSuchModel } from "./wire/wire-error.ts";
import { serveRoutes } from "./wire.ts";

export interface DomainWireParts extends DomainAnswers, Pick<AnswerContext, "quota"> {
  /** Where responses are kept; undefined: nowhere, because the backend keeps its own. */
  readonly db: AnswerContext["db"] | undefined;
}

/** Pictures are sent inside the JSON. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

/**
 * Adds the models that search domains to the wire protocol of any backend: requests that name one are answered here, everything else
 * passes on as it came. Results of a vector store's search also say where they open and how fresh they are.
 */
export function withDomainModels(wire: Wire, parts: DomainWireParts): Wire {
  const own = serveRoutes(domainRoutes(parts));
  return async (request, call) => {
    const path = pathOf(request);
    const { method } = request;
    if (path === "/models" && method === "GET") return listModels(await wire(request, call), parts, call);
    if (/^\/models\/lockstep\//i.test(path)) return own(at(request, path), call);
    if (method !== "POST") return wire(request, call);
    const store = /^\/vector_stores\/([^/]+)\/search$/.exec(path)?.[1];
    if (store !== undefined) return describeResults(await wire(request, call), store, parts, call);
    if (!ANSWERS.test(path)) return wire(request, call);
    const { model, again } = await peek(request);
    return domainNameIn(model) === undefined ? wire(again, call) : own(at(again, path), call);
  };
}

const ANSWERS = /^\/(?:chat\/completions|responses|responses\/input_tokens)$/;

/** Without what only some clients write. */
function pathOf({ url }: Request): string {
  const path = new URL(url).pathname.replace(/\/$/, "");
  const plain = path.replace(/^\/v1(?=\/)/, "").replace(/^\/deployments\/[^/]+(?=\/)/, "");
  return plain.replace(/^\/models\/lockstep%2f/i, "/models/lockstep/");
}

function at(request: Request, path: string): Request {
  const { method, headers, signal, body } = request;
  const init = body ? { body, duplex: "half" as const } : {};
  return new Request(new URL(path, request.url), { method, headers, signal, ...init });
}

/**
 * Returns the model that a request names, and the request with the body that was read for it. What is longer than any chat, or
 * packed, passes on unread: its model is the backend's to find.
 */
async function peek(request: Request): Promise<{ readonly model: unknown; readonly again: Request }> {
  const packed = request.headers.get("content-encoding") ?? "identity";
  if (!request.body || packed.toLowerCase() !== "identity") return { model: undefined, again: request };
  const reader = request.body.getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  let isWhole = false;
  while (!isWhole && length <= MAX_BODY_BYTES) {
    const { done, value } = await reader.read();
    isWhole = done;
    if (value) parts.push(value);
    length += value?.byteLength ?? 0;
  }
  const { url, method, headers, signal } = request;
  if (!isWhole) {
    const rest = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const part of parts) controller.enqueue(part);
      },
      async pull(controller) {
        const { done, value } = await reader.read();
        if (value) controller.enqueue(value);
        if (done) controller.close();
      },
      cancel: (reason) => reader.cancel(reason),
    });
    const init = { method, headers, signal, body: rest, duplex: "half" as const };
    return { model: undefined, again: new Request(url, init) };
  }
  const bytes = Buffer.concat(parts);
  return { model: modelIn(bytes.toString("utf8")), again: new Request(url, { method, headers, signal, body: bytes }) };
}

function modelIn(text: string): unknown {
  // Most bodies are long, and most models are not ours.
  if (!/lockstep(?:\/|\\)/i.test(text)) return undefined;
  return parseJsonObject(text)?.["model"];
}

function domainRoutes(parts: DomainWireParts): Hono<WireEnv> {
  const routes = new Hono<WireEnv>();
  const find = async (name: string): Promise<string> =>
    (await parts.models.find(name)) ?? unknownModel(name, await parts.models.list());
  const callOf = ({ by, origin }: WireCall, signal: AbortSignal) => ({ by, origin, signal });
  routes.get("/models/:id{.+}", async ({ req, json }) => json(toModel(await find(req.param("id")))));
  routes.post("/chat/completions", async ({ req, env }) => {
    const fields = await readFields(req.raw, undefined, MAX_BODY_BYTES);
    const model = await find(asString(fields["model"], "model"));
    return await answerInChat(parts, fields, model, callOf(env.call, req.raw.signal));
  });
  const readRequest = async (request: Request): Promise<ReturnType<typeof readResponseRequest>> => {
    const fields = await readFields(request);
    const model = await find(asString(fields["model"], "model"));
    const defaults = { model, temperature: parts.model()?.temperature };
    const asked = readResponseRequest({ ...fields, model }, defaults);
    if (asked.searches.length > 0) {
      throw badRequest(
        `The model '${model}' searches its documents by itself: leave out the tool file_search.`,
        "tools",
      );
    }
    return parts.db ? asked : { ...asked, store: false };
  };
  routes.post("/responses", async ({ req, env, json }) => {
    const asked = await readRequest(req.raw);
    const steps = await beginDomainResponse(parts, asked, callOf(env.call, req.raw.signal));
    return asked.stream ? streamed(steps) : json(await outcomeOf(steps));
  });
  routes.post("/responses/input_tokens", async ({ req, env, json }) =>
    json(await countTokens(parts, await readRequest(req.raw), env.call.by)),
  );
  return routes;
}

function unknownModel(name: string, known: readonly string[]): never {
  throw noSuchModel(name, known);
}

function toModel(id: string): object {
  return { id, object: "model", created: 0, owned_by: "lockstep" };
}

/** Ours first: clients take the first one. Another lockstep server behind us has such models, too, and they are not asked. */
async function listModels(
  response: Response,
  { models }: DomainWireParts,
  call: WireCall | undefined,
): Promise<Response> {
  return rewritten(response, call, async (body) => {
    const theirs = Array.isArray(body["data"]) ? body["data"] : [];
    const others = theirs.filter((one) => !isJsonObject(one) || domainNameIn(one["id"]) === undefined);
    return { ...body, data: [...(await models.list()).map(toModel), ...others] };
  });
}

async function describeResults(
  response: Response,
  storeId: string,
  { models }: DomainWireParts,
  call: WireCall | undefined,
): Promise<Response> {
  const origin = call?.origin;
  // The product itself knows better.
  if (origin === undefined) return response;
  return rewritten(response, call, async (body) => {
    const results = Array.isArray(body["data"]) ? body["data"].filter(isJsonObject) : [];
    const attributes = await models.describe(decodeURIComponent(storeId), results.map(toHit), origin);
    return { ...body, data: results.map((result, place) => ({ ...result, attributes: attributes[place] ?? null })) };
  });
}

function toHit({ file_id, filename, attributes, content }: JsonObject): ShownHit {
  const [first] = Array.isArray(content) ? content.filter(isJsonObject) : [];
  return {
    fileId: String(file_id) as FileId,
    filename: String(filename ?? ""),
    text: typeof first?.["text"] === "string" ? first["text"] : "",
    attributes: isJsonObject(attributes) ? (attributes as Attributes) : {},
  };
}

/** Failures pass on as they are; and what cannot be added is left out: the backend's answer is good without it. */
async function rewritten(
  response: Response,
  call: WireCall | undefined,
  change: (body: JsonObject) => Promise<JsonObject>,
): Promise<Response> {
  if (!response.ok || !response.headers.get("content-type")?.includes("json")) return response;
  const body: unknown = await response.json();
  const headers = new Headers(response.headers);
  headers.delete("content-length");
  const changed = isJsonObject(body)
    ? await change(body).catch((error: unknown) => {
        call?.tell?.(error);
        return body;
      })
    : body;
  return Response.json(changed, { status: response.status, headers });
}

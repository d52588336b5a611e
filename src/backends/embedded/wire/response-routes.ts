import { Hono } from "hono";
import type { JsonObject } from "../../../lib/json-object.ts";
import { encodeSseEvent } from "../../../lib/sse.ts";
import type { AnswerParts } from "../answers/answer-parts.ts";
import { countInput, historyOf, makeResponse } from "../answers/make-response.ts";
import { pageOfItems } from "../answers/page-of-items.ts";
import { readInclude, readResponseRequest } from "../answers/read-response-request.ts";
import { showResponse } from "../answers/response-codec.ts";
import { eventsOf } from "../answers/response-events.ts";
import { deleteResponse, findResponse, type StoredResponse } from "../answers/responses.ts";
import { readFields } from "./read-fields.ts";
import { badRequest, noSuchModel, notFound } from "./wire-error.ts";

type Shown = StoredResponse["response"];

/** Below `/responses`. */
export function responseRoutes(parts: AnswerParts): Hono {
  const { db, answerer } = parts;
  const find = async (id: string): Promise<StoredResponse> => (await findResponse(db, id)) ?? noSuchResponse(id);
  const read = async (request: Request) => {
    const asked = readResponseRequest(await readFields(request), answerer.model);
    if (asked.model !== answerer.model) throw noSuchModel(asked.model, [answerer.model]);
    return asked;
  };
  const routes = new Hono();
  routes.post("/", async ({ req, json }) => {
    const asked = await read(req.raw);
    const response = showResponse(await makeResponse(parts, asked, req.raw.signal), asked.include);
    return asked.stream ? streamed(response) : json(response);
  });
  routes.post("/input_tokens", async ({ req, json }) => {
    const asked = await read(req.raw);
    const context = [...(await historyOf(db, asked)), ...asked.input];
    return json({ object: "response.input_tokens", input_tokens: countInput(context, asked.instructions) });
  });
  routes.post("/compact", () => {
    throw notFound("The embedded backend does not compact responses: there is no model whose window could overflow.");
  });
  routes.get("/:id", async ({ req, json }) => {
    const query = new URL(req.url).searchParams;
    const { response } = await find(req.param("id"));
    const shown = showResponse(response, includeOf(query));
    if (query.get("stream") !== "true") return json(shown);
    return streamed(shown, readStart(query.get("starting_after")));
  });
  routes.delete("/:id", async ({ req, json }) => {
    const id = req.param("id");
    if (!(await deleteResponse(db, id))) noSuchResponse(id);
    return json({ id, object: "response", deleted: true });
  });
  routes.post("/:id/cancel", async ({ req, json }) => {
    const { response } = await find(req.param("id"));
    if (response["background"] !== true) {
      throw badRequest("Only a response that was created with 'background' set to true can be cancelled.");
    }
    // It was finished before its id was known; cancelling a finished one shows it.
    return json(showResponse(response, new Set()));
  });
  routes.get("/:id/input_items", async ({ req, json }) => {
    const query = new URL(req.url).searchParams;
    const { input } = await find(req.param("id"));
    return json(pageOfItems(input, query, includeOf(query)));
  });
  return routes;
}

/** Clients write arrays of a query as `include[]=…` or, some of them, as `include=…`. */
export function includeOf(query: URLSearchParams): ReadonlySet<string> {
  return readInclude([...query.getAll("include[]"), ...query.getAll("include")]);
}

function noSuchResponse(id: string): never {
  throw notFound(`Response with id '${id}' not found.`);
}

function readStart(text: string | null): number {
  if (text === null) return -1;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw badRequest("Invalid value for 'starting_after': expected the sequence number of an event.", "starting_after");
}

/** Only the events after the one numbered `start`. */
function streamed(response: Shown, start = -1): Response {
  const events = eventsOf(response);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = events.next();
      if (next.done) return controller.close();
      const event: JsonObject & { readonly type: string; readonly sequence_number: number } = next.value;
      const text = encodeSseEvent({ id: "", event: event.type, data: JSON.stringify(event) });
      controller.enqueue(encoder.encode(event.sequence_number > start ? text : ""));
    },
  });
  return new Response(body, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" },
  });
}

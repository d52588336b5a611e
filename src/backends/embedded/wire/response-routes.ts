import { Hono } from "hono";
import { isJsonObject } from "../../../lib/json-object.ts";
import { encodeSseEvent } from "../../../lib/sse.ts";
import type { AnswerParts } from "../answers/answer-parts.ts";
import { beginResponse, countInput, historyOf } from "../answers/make-response.ts";
import { pageOfItems } from "../answers/page-of-items.ts";
import { type ResponseRequest, readInclude, readResponseRequest } from "../answers/read-response-request.ts";
import { showResponse } from "../answers/response-codec.ts";
import { eventsOf, type Step } from "../answers/response-events.ts";
import {
  deleteResponse,
  findResponse,
  keyOfResponse,
  listResponses,
  type StoredResponse,
} from "../answers/responses.ts";
import { toList } from "./codec.ts";
import { eventStream } from "./event-stream.ts";
import { readFields } from "./read-fields.ts";
import { readListParams, toPageRequest } from "./read-list-params.ts";
import { badRequest, notFound, WireError } from "./wire-error.ts";

const LIST_LIMITS = { max: 100, usual: 20 };

/** Below `/responses`. */
export function responseRoutes(parts: AnswerParts): Hono {
  const { db, answerers, model } = parts;
  const defaults = { model: answerers.models[0], temperature: model?.temperature };
  const find = async (id: string): Promise<StoredResponse> => (await findResponse(db, id)) ?? noSuchResponse(id);
  const read = async (request: Request): Promise<ResponseRequest> => {
    const asked = readResponseRequest(await readFields(request), defaults);
    answerers.of(asked.model);
    return asked;
  };
  const routes = new Hono();
  routes.post("/", async ({ req, json }) => {
    const asked = await read(req.raw);
    const steps = await beginResponse(parts, asked, req.raw.signal);
    return asked.stream ? streamed(steps) : json(await outcomeOf(steps));
  });
  routes.get("/", async ({ req, json }) => json(await listPage(parts, new URL(req.url).searchParams)));
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
    return streamed(eventsOf(shown), readStart(query.get("starting_after")));
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

/** OpenAI has no such list; who asks for one gets it here. */
async function listPage({ db }: AnswerParts, query: URLSearchParams): Promise<object> {
  const request = await toPageRequest(readListParams(query, LIST_LIMITS), (id) => keyOfResponse(db, id));
  const { rows, hasMore } = await listResponses(db, request);
  const shown = rows.map(({ response }) => showResponse(response, new Set()));
  const ids = rows.map(({ id }) => id);
  return toList(shown, ids, hasMore);
}

/** Of somebody who does not stream. */
async function outcomeOf(steps: AsyncGenerator<Step, StoredResponse["response"]>): Promise<object> {
  let next = await steps.next();
  while (!next.done) next = await steps.next();
  const { error } = next.value;
  if (isJsonObject(error)) throw new WireError(502, String(error["message"]));
  return next.value;
}

/** Only the events after the one numbered `start`. */
function streamed(steps: AsyncGenerator<Step, unknown>, start = -1): Response {
  let sequence = 0;
  const texts = async function* (): AsyncGenerator<string> {
    for await (const step of steps) {
      const event = { ...step, sequence_number: sequence++ };
      if (event.sequence_number <= start) continue;
      yield encodeSseEvent({ id: "", event: step.type, data: JSON.stringify(event) });
    }
  };
  return eventStream(texts());
}

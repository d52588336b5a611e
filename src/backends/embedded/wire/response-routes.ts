import { type Context, Hono } from "hono";
import { type Asker, askerOf, type Principal } from "../../../contracts/access.ts";
import { isJsonObject } from "../../../lib/json-object.ts";
import { encodeSseEvent } from "../../../lib/sse.ts";
import type { AnswerContext } from "../answers/answer-context.ts";
import { pageOfItems } from "../answers/items.ts";
import { beginResponse, countInput, historyOf } from "../answers/make-response.ts";
import { type ResponseRequest, readInclude, readResponseRequest } from "../answers/read-response-request.ts";
import { eventsOf, type ResponseEvent, showResponse } from "../answers/response-codec.ts";
import {
  deleteResponse,
  findResponse,
  keyOfResponse,
  listResponses,
  type StoredResponse,
} from "../answers/responses.ts";
import { toList } from "./codec.ts";
import { eventStream } from "./event-stream.ts";
import { readFields, readListParams, toPageRequest } from "./read-fields.ts";
import type { WireEnv } from "./wire-context.ts";
import { badRequest, notFound, WireError } from "./wire-error.ts";

const LIST_LIMITS = { max: 100, usual: 20 };

/** Below `/responses`. */
export function responseRoutes(parts: AnswerContext): Hono<WireEnv> {
  const { db, answerers, model } = parts;
  const find = async ({ req, env }: Context<WireEnv>): Promise<StoredResponse> => {
    const id = req.param("id") ?? "";
    return (await findResponse(db, id, askerOf(env.call.by))) ?? noSuchResponse(id);
  };
  const read = async (request: Request): Promise<ResponseRequest> => {
    const defaults = { model: answerers.models[0], temperature: model()?.temperature };
    const asked = readResponseRequest(await readFields(request), defaults);
    answerers.of(asked.model);
    return asked;
  };
  const routes = new Hono<WireEnv>();
  routes.post("/", async ({ req, json, env }) => {
    const asked = await read(req.raw);
    const { signal } = req.raw;
    const steps = await beginResponse(parts, asked, { by: env.call.by, signal });
    return asked.stream ? streamed(steps) : json(await outcomeOf(steps));
  });
  routes.get("/", async ({ req, json, env }) =>
    json(await listPage(parts, askerOf(env.call.by), new URL(req.url).searchParams)),
  );
  routes.post("/input_tokens", async ({ req, json, env }) => {
    return json(await countTokens(parts, await read(req.raw), env.call.by));
  });
  routes.post("/compact", () => {
    throw notFound("The embedded backend does not compact responses: there is no model whose window could overflow.");
  });
  routes.get("/:id", async (c) => {
    const { req, json } = c;
    const query = new URL(req.url).searchParams;
    const { response } = await find(c);
    const shown = showResponse(response, includeOf(query));
    if (query.get("stream") !== "true") return json(shown);
    return streamed(eventsOf(shown), readStart(query.get("starting_after")));
  });
  routes.delete("/:id", async (c) => {
    const { id } = await find(c);
    if (!(await deleteResponse(db, id))) noSuchResponse(id);
    return c.json({ id, object: "response", deleted: true });
  });
  routes.post("/:id/cancel", async (c) => {
    const { response } = await find(c);
    if (response["background"] !== true) {
      throw badRequest("Only a response that was created with 'background' set to true can be cancelled.");
    }
    // It was finished before its id was known; cancelling a finished one shows it.
    return c.json(showResponse(response, new Set()));
  });
  routes.get("/:id/input_items", async (c) => {
    const query = new URL(c.req.url).searchParams;
    const { input } = await find(c);
    return c.json(pageOfItems(input, query, includeOf(query)));
  });
  return routes;
}

export async function countTokens(
  parts: Parameters<typeof historyOf>[0],
  asked: ResponseRequest,
  by: Principal | undefined,
): Promise<object> {
  const context = [...(await historyOf(parts, asked, askerOf(by))), ...asked.input];
  return { object: "response.input_tokens", input_tokens: countInput(context, asked.instructions) };
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
async function listPage({ db }: AnswerContext, asker: Asker, query: URLSearchParams): Promise<object> {
  const request = await toPageRequest(readListParams(query, LIST_LIMITS), (id) => keyOfResponse(db, id, asker));
  const { rows, hasMore } = await listResponses(db, asker, request);
  const shown = rows.map(({ response }) => showResponse(response, new Set()));
  const ids = rows.map(({ id }) => id);
  return toList(shown, ids, hasMore);
}

/** Returns the outcome for a client that does not stream. */
export async function outcomeOf(steps: AsyncGenerator<ResponseEvent, StoredResponse["response"]>): Promise<object> {
  let next = await steps.next();
  while (!next.done) next = await steps.next();
  const { error } = next.value;
  if (isJsonObject(error)) throw new WireError(502, String(error["message"]));
  return next.value;
}

/** Only the events after the one numbered `start`. */
export function streamed(steps: AsyncGenerator<ResponseEvent, unknown>, start = -1): Response {
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

import type { Context, Hono } from "hono";
import type { HttpEnv } from "../http-env.ts";
import type { Frame } from "../pages/layout.ts";
import { type Confirmations, createConfirmations } from "../safety/confirmations.ts";
import { takeConfirmation } from "./ask-first.ts";
import { createRecord } from "./audit-request.ts";
import { describeAll, describeEndpoint } from "./describe-endpoint.ts";
import type { Endpoint } from "./endpoint.ts";
import { toFailure } from "./failure.ts";
import { type GrammarParts, handleRequest } from "./handle-request.ts";
import { describeForPrograms } from "./openapi.ts";
import { type Rendered, respondFailure } from "./respond.ts";

/**
 * Gives every endpoint its route, and the list of them all two: as text at `/v2`, for programs at `/openapi.json`. The functions,
 * which answer a bare GET, are told at `/api`.
 */
export function mountEndpoints(http: Hono<HttpEnv>, endpoints: readonly Endpoint[], parts: GrammarParts): void {
  const confirmations = createConfirmations();
  const forPrograms = describeForPrograms(endpoints, parts.product);
  http.get("/v2", (c) => c.text(describeAll(endpoints, new URL(c.req.url).origin)));
  http.get("/api", (c) => c.text(describeFunctions(endpoints, new URL(c.req.url).origin)));
  http.get("/openapi.json", (c) => c.json(forPrograms));
  for (const one of endpoints) {
    const below = endpoints.filter((other) => other.path.startsWith(`${one.path}/`));
    http.all(one.path, (c) => answer(one, below, c, { ...parts, confirmations }));
  }
}

function describeFunctions(endpoints: readonly Endpoint[], origin: string): string {
  const functions = endpoints.filter(({ path }) => path.startsWith("/api/"));
  return functions.map((one) => describeEndpoint(one, [], origin)).join("\n\n");
}

async function answer(
  one: Endpoint,
  below: readonly Endpoint[],
  c: Context<HttpEnv>,
  parts: GrammarParts & { readonly confirmations: Confirmations },
): Promise<Response> {
  const url = new URL(c.req.url);
  const confirmation = one.changes === null ? undefined : takeConfirmation(url);
  const { confirmations } = parts;
  const isBare = (c.req.method === "GET" || c.req.method === "HEAD") && url.search === "";
  if (isBare && one.bareGet !== "answer") return c.text(describeEndpoint(one, below, url.origin));
  const frame: Frame = { product: parts.product, principal: c.get("principal"), url };
  const record = createRecord(one, c, parts);
  try {
    return await handleRequest(one, c, { url, frame, record, confirmation, confirmations }, parts);
  } catch (error) {
    const failure = toFailure(error);
    // A client that left is no failure of ours.
    if (failure.status >= 500 && !c.req.raw.signal.aborted) parts.logError(`${c.req.method} ${url.pathname}`, error);
    await record.write({ ok: false, error: failure.message });
    return respondFailure(c, one, failure, { format: failureFormat(one, c.req.method, url), frame });
  }
}

/** Who comes with a method that is not known here is a program, even where people are shown a page unasked. */
function failureFormat(one: Endpoint, method: string, url: URL): Rendered["format"] {
  const unasked = one.methods.some((known) => known === method) ? one.formats[0] : "json";
  const asked = url.searchParams.get("format") ?? unasked;
  return (asked === "ui" || asked === "html") && one.formats.includes(asked) ? asked : "json";
}

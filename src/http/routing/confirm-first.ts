import { randomBytes } from "node:crypto";
import type { Context } from "hono";
import { html } from "hono/html";
import type { HttpEnv } from "../http-env.ts";
import { provenanceOf, refuseCrossSite } from "../middleware/check-origin.ts";
import { jsonTable } from "../pages/json-table.ts";
import { type Frame, type Html, layout, sectionOf } from "../pages/layout.ts";
import type { Endpoint, EndpointArguments } from "./endpoint.ts";
import type { Parameters } from "./parameters.ts";

/** The parameter that carries the token of a confirmed request. */
const CONFIRMATION = "confirmation";

export interface PendingConfirmation {
  readonly args: EndpointArguments<Parameters, Parameters>;
  readonly frame: Frame;
  /** The token of the request, if it has one. */
  readonly confirmation: string | undefined;
  readonly confirmations: Confirmations;
}

/** Removes the token from the address: the endpoint does not know it, and it must not be logged. */
export function takeConfirmation(url: URL): string | undefined {
  const given = url.searchParams.get(CONFIRMATION) ?? undefined;
  if (given !== undefined) url.searchParams.delete(CONFIRMATION);
  return given;
}

/**
 * Returns a page that asks first if a person navigated to a request that deletes or overwrites; undefined if the request may
 * run. A link in a mail looks like an address somebody typed, so both are asked. The page repeats the request with a token.
 * Programs are never asked.
 */
export async function confirmFirst(
  endpoint: Endpoint,
  c: Context<HttpEnv>,
  { args, frame, confirmation, confirmations }: PendingConfirmation,
): Promise<Response | undefined> {
  const { url, principal } = frame;
  // A form sends every line end as CR LF.
  const query = `${url.searchParams}`.replace(/%0D%0A|%0D/g, "%0A");
  const what = `${principal?.kind}:${principal?.id} ${url.pathname}?${query}`;
  if (confirmation !== undefined && confirmations.redeem(confirmation, what)) return undefined;
  const from = provenanceOf(c.req.raw);
  const isUnsure = from === "typed" || from === "silent" || (from === "own" && confirmation !== undefined);
  if (!isUnsure || !destroys(endpoint, args)) {
    refuseCrossSite(c.req.raw);
    return undefined;
  }
  const fields = [...url.searchParams, [CONFIRMATION, confirmations.issue(what)] as const];
  return c.html(await confirmPage(endpoint, fields, frame));
}

function destroys(endpoint: Endpoint, args: EndpointArguments<Parameters, Parameters>): boolean {
  if (endpoint.changes === null || args["dry_run"] === true) return false;
  return endpoint.methods.includes("DELETE") || (endpoint.destroys?.(args) ?? false);
}

const LIFETIME_MS = 10 * 60 * 1000;
const MOST_OPEN = 1000;

/** Tokens of requests that wait for a confirmation. */
export interface Confirmations {
  /** Returns a token for the request `what`. */
  issue(what: string): string;
  /** Returns true once, within ten minutes, for the same request. */
  redeem(token: string, what: string): boolean;
}

export function createConfirmations(): Confirmations {
  const open = new Map<string, { readonly what: string; readonly endsAtMs: number }>();
  return {
    issue(what) {
      // The oldest comes first in a Map, and all live equally long.
      for (const [token, { endsAtMs }] of open) {
        if (endsAtMs > Date.now() && open.size < MOST_OPEN) break;
        open.delete(token);
      }
      const token = randomBytes(24).toString("base64url");
      open.set(token, { what, endsAtMs: Date.now() + LIFETIME_MS });
      return token;
    },
    redeem(token, what) {
      const request = open.get(token);
      if (request?.what !== what) return false;
      open.delete(token);
      return request.endsAtMs > Date.now();
    },
  };
}

/** The page that asks for a confirmation. The last field is the token. */
export function confirmPage(
  { path, description, changes }: Pick<Endpoint, "path" | "description" | "changes">,
  fields: readonly (readonly [name: string, value: string])[],
  frame: Frame,
): Html {
  const given = fields.slice(0, -1).filter(([name]) => name !== "format");
  const place = sectionOf(frame);
  return layout({
    frame,
    title: "Is this meant? · lockstep",
    body: html`<section class="panel answer stack">
<h1>Is this meant?</h1>
<div class="notice warn"><p>This address deletes or overwrites something, and a link can lead to it without saying so. Nothing has been changed yet.</p></div>
<p>${asProse(description)}</p>
<p><strong>What it changes:</strong> ${asProse(changes ?? "")}</p>
${given.length > 0 ? html`<div class="scroll-x" tabindex="0" role="group" aria-label="The request">${jsonTable(Object.fromEntries(given))}</div>` : ""}
<form class="stack" action="${path}" method="get" data-asks>
${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<div class="form-end"><a class="button" href="${place.address}">No, change nothing</a><button class="danger">Yes, do it</button></div>
</form>
</section>`,
  });
}

/** The documentation of an endpoint for people: what a program would write (`mode=with_files`, `domains/<domain_id>`) is set as such. */
function asProse(text: string): Html {
  const parts = text.split(/([\w/.-]*<\w+>[\w/.<>-]*|\b\w+=[\w-]+|\b[a-z]+(?:_[a-z]+)+\b)/);
  return html`${parts.map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

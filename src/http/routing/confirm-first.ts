import { randomBytes } from "node:crypto";
import type { Context } from "hono";
import { html } from "hono/html";
import type { HttpEnv } from "../http-env.ts";
import { provenanceOf, refuseCrossSite } from "../middleware/check-origin.ts";
import { jsonTable } from "../pages/json-table.ts";
import { type Frame, type Html, layout, sectionOf } from "../pages/layout.ts";
import type { Endpoint, EndpointArguments } from "./endpoint.ts";
import type { Parameters } from "./parameters.ts";

/** What the page that asks sends along with the request it repeats. */
const CONFIRMATION = "confirmation";

export interface PendingConfirmation {
  readonly args: EndpointArguments<Parameters, Parameters>;
  readonly frame: Frame;
  /** Of the request, if it says that somebody was query. */
  readonly confirmation: string | undefined;
  readonly confirmations: Confirmations;
}

/** EndpointArguments out of the address: it is not for the endpoint, and nobody is to write it down. */
export function takeConfirmation(url: URL): string | undefined {
  const given = url.searchParams.get(CONFIRMATION) ?? undefined;
  if (given !== undefined) url.searchParams.delete(CONFIRMATION);
  return given;
}

/**
 * A link in a mail is a navigation like an address that somebody typed. So whoever navigates to what deletes or overwrites is
 * shown a page that asks, and that repeats the request with a token; undefined: it is meant. Programs are not query.
 */
export async function confirmFirst(
  one: Endpoint,
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
  if (!isUnsure || !destroys(one, args)) {
    refuseCrossSite(c.req.raw);
    return undefined;
  }
  const fields = [...url.searchParams, [CONFIRMATION, confirmations.issue(what)] as const];
  return c.html(await confirmPage(one, fields, frame));
}

function destroys(one: Endpoint, args: EndpointArguments<Parameters, Parameters>): boolean {
  if (one.changes === null || args["dry_run"] === true) return false;
  return one.methods.includes("DELETE") || (one.destroys?.(args) ?? false);
}

const LIFETIME_MS = 10 * 60 * 1000;
const MOST_OPEN = 1000;

/** What people were query, and have not answered yet. */
export interface Confirmations {
  /** A token with which `what` is meant. */
  issue(what: string): string;
  /** true once, in the next ten minutes, for the very same thing. */
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
      const query = open.get(token);
      if (query?.what !== what) return false;
      open.delete(token);
      return query.endsAtMs > Date.now();
    },
  };
}

/** Asks whether a request is meant. The last of the fields is for the server alone. */
export function confirmPage(
  { path, description, changes }: Pick<Endpoint, "path" | "description" | "changes">,
  fields: readonly (readonly [name: string, value: string])[],
  frame: Frame,
): Html {
  const shown = Object.fromEntries(fields.slice(0, -1));
  const place = sectionOf(frame.url.pathname);
  return layout({
    frame,
    title: "Is this meant? · lockstep",
    body: html`<section class="panel answer stack">
<h1>Is this meant?</h1>
<div class="notice warn"><p>This address deletes or overwrites something, and a link can lead to it without saying so. Nothing has been changed yet.</p></div>
<p>${description}</p>
<p><strong>What it changes:</strong> ${changes}</p>
<div class="scroll-x" tabindex="0" role="region" aria-label="What was query for">${jsonTable({ address: path, ...shown })}</div>
<form class="stack" action="${path}" method="get" data-asks>
${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<div class="form-end"><a class="button" href="${place.address}">No, change nothing</a><button class="danger">Yes, do it</button></div>
</form>
</section>`,
  });
}

import type { Context } from "hono";
import type { HttpEnv } from "../http-env.ts";
import type { Confirmations } from "../middleware/confirmations.ts";
import { provenanceOf, refuseForeign } from "../middleware/refuse-foreign.ts";
import { askPage } from "../pages/ask-page.ts";
import type { Frame } from "../pages/layout.ts";
import type { Endpoint, Taken } from "./endpoint.ts";
import type { Parameters } from "./parameters.ts";

/** What the page that asks sends along with the request it repeats. */
const CONFIRMATION = "confirmation";

export interface Asking {
  readonly args: Taken<Parameters, Parameters>;
  readonly frame: Frame;
  /** Of the request, if it says that somebody was asked. */
  readonly confirmation: string | undefined;
  readonly confirmations: Confirmations;
}

/** Taken out of the address: it is not for the endpoint, and nobody is to write it down. */
export function takeConfirmation(url: URL): string | undefined {
  const given = url.searchParams.get(CONFIRMATION) ?? undefined;
  if (given !== undefined) url.searchParams.delete(CONFIRMATION);
  return given;
}

/**
 * A link in a mail is a navigation like an address that somebody typed. So whoever navigates to what deletes or overwrites is
 * shown a page that asks, and that repeats the request with a token; undefined: it is meant. Programs are not asked.
 */
export async function askFirst(
  one: Endpoint,
  c: Context<HttpEnv>,
  { args, frame, confirmation, confirmations }: Asking,
): Promise<Response | undefined> {
  const { url, principal } = frame;
  // A form sends every line end as CR LF.
  const asked = `${url.searchParams}`.replace(/%0D%0A|%0D/g, "%0A");
  const what = `${principal?.kind}:${principal?.id} ${url.pathname}?${asked}`;
  if (confirmation !== undefined && confirmations.redeem(confirmation, what)) return undefined;
  const from = provenanceOf(c.req.raw);
  const isUnsure = from === "typed" || from === "silent" || (from === "own" && confirmation !== undefined);
  if (!isUnsure || !destroys(one, args)) {
    refuseForeign(c.req.raw);
    return undefined;
  }
  const fields = [...url.searchParams, [CONFIRMATION, confirmations.issue(what)] as const];
  return c.html(await askPage(one, fields, frame));
}

function destroys(one: Endpoint, args: Taken<Parameters, Parameters>): boolean {
  if (one.changes === null || args["dry_run"] === true) return false;
  return one.methods.includes("DELETE") || (one.destroys?.(args) ?? false);
}

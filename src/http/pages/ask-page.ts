import { html } from "hono/html";
import type { Endpoint } from "../routing/endpoint.ts";
import { jsonTable } from "./json-table.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { placeAround } from "./navigation.ts";

/** Asks whether a request is meant. The last of the fields is for the server alone. */
export function askPage(
  { path, description, changes }: Pick<Endpoint, "path" | "description" | "changes">,
  fields: readonly (readonly [name: string, value: string])[],
  frame: Frame,
): Html {
  const shown = Object.fromEntries(fields.slice(0, -1));
  const place = placeAround(frame.url.pathname);
  return layout({
    frame,
    title: "Is this meant? · lockstep",
    body: html`<section class="panel answer stack">
<h1>Is this meant?</h1>
<div class="notice warn"><p>This address deletes or overwrites something, and a link can lead to it without saying so. Nothing has been changed yet.</p></div>
<p>${description}</p>
<p><strong>What it changes:</strong> ${changes}</p>
<div class="scroll-x" tabindex="0" role="region" aria-label="What was asked for">${jsonTable({ address: path, ...shown })}</div>
<form class="stack" action="${path}" method="get" data-asks>
${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<div class="form-end"><a class="button" href="${place.address}">No, change nothing</a><button class="danger">Yes, do it</button></div>
</form>
</section>`,
  });
}

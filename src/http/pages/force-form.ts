import { html } from "hono/html";
import type { Html } from "./layout.ts";

/** Without its module the form goes to the function of the same name, and shows its answer as it is. */
export function forceForm(id: string, name: string): Html {
  return html`<form action="/api/ReindexItem" method="post" data-force><input type="hidden" name="id" value="${id}"><button class="small" id="force-${id}">Force<span class="visually-hidden"> ${name} to be indexed again</span></button><p class="form-error" role="alert" hidden></p></form>`;
}

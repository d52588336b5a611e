import { html } from "hono/html";
import { isJsonObject } from "../../lib/json-object.ts";
import { jsonTable } from "./json-table.ts";
import { type Frame, type Html, layout, mayChange, sectionOf } from "./layout.ts";

/** Renders the response for `format=html`: the JSON's structure, readable. `hasChanged`: it tells of a change that was made. */
export function answerPage(path: string, content: unknown, frame: Frame, { hasChanged = false } = {}): Html {
  const problem = problemIn(content);
  if (problem !== "") return problemPage(path, problem, content, frame);
  const data = isJsonObject(content) && "data" in content ? content["data"] : content;
  const isDry = isJsonObject(data) && data["dry_run"] === true;
  const title = !hasChanged ? path : isDry ? "This would be done" : "Done";
  return layout({
    frame,
    title: `${title} · lockstep`,
    body: html`<section class="panel answer stack">
<h1>${hasChanged ? title : html`<code>${path}</code>`}</h1>
${hasChanged ? html`<p class="notice ${isDry ? "idle" : "good"}">${isDry ? "This was a dry run: nothing has been changed." : "This is what it was done to."}</p>` : ""}
<div class="scroll-x" tabindex="0" role="group" aria-label="Answer">${jsonTable(data)}</div>
${furtherLinks(path, frame)}
</section>`,
  });
}

/** Shown at an address where nothing is. */
export function nowherePage(path: string, frame: Frame): Html {
  return layout({
    frame,
    title: "There is no such page · lockstep",
    body: html`<section class="panel answer stack"><h1>There is no such page</h1>
<p>Nothing is at <code>${path}</code>. The address may be mistyped, or from another release.</p>
<p class="actions"><a class="button primary" href="/">To the start</a><a class="button" href="/v2/search?format=ui">Search</a><a class="button" href="/v2">All addresses, as text</a></p></section>`,
  });
}

function problemIn(content: unknown): string {
  const error = isJsonObject(content) ? content["error"] : "";
  return typeof error === "string" ? error : "";
}

/** Shows the error once, and below it the data that was returned all the same. */
function problemPage(path: string, problem: string, content: unknown, frame: Frame): Html {
  const data = isJsonObject(content) ? content["data"] : undefined;
  const hasMore = typeof data === "object" && data !== null && Object.keys(data).length > 0;
  return layout({
    frame,
    title: "This did not work · lockstep",
    body: html`<section class="panel answer">
<h1>This did not work</h1>
<p class="notice bad" role="alert"><bdi>${problem}</bdi></p>
${hasMore ? html`<details><summary>What else was returned</summary><div class="scroll-x" tabindex="0" role="group" aria-label="Answer">${jsonTable(data)}</div></details>` : ""}
${furtherLinks(path, frame)}
</section>`,
  });
}

function furtherLinks(path: string, frame: Frame): Html {
  const section = sectionOf(frame);
  const parameters = html` · <a href="${path}">Parameters of this address</a>`;
  return html`<p><a href="${section.address}">Back to ${section.name}</a>${mayChange(frame, "operate") ? parameters : ""}</p>`;
}

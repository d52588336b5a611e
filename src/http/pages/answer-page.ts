import { html } from "hono/html";
import { isJsonObject } from "../../lib/json-object.ts";
import { jsonTable } from "./json-table.ts";
import { type Frame, type Html, layout, sectionOf } from "./layout.ts";

/** Renders the response for `format=html`: the JSON's structure, readable. */
export function answerPage(path: string, content: unknown, frame: Frame): Html {
  const problem = problemIn(content);
  if (problem !== "") return problemPage(path, problem, content, frame);
  return layout({
    frame,
    title: `${path} · lockstep`,
    body: html`<section class="panel answer">
<h1><code>${path}</code></h1>
<div class="scroll-x" tabindex="0" role="group" aria-label="Answer">${jsonTable(content)}</div>
${furtherLinks(path, frame)}
</section>`,
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
  const section = sectionOf(frame.url.pathname);
  return html`<p><a href="${section.address}">Back to ${section.name}</a> · <a href="${path}">Parameters of this address</a></p>`;
}

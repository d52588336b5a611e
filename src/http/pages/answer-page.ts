import { html } from "hono/html";
import { jsonTable } from "./json-table.ts";
import { type Html, layout } from "./layout.ts";

/** What `format=html` answers: the same structure as the JSON, readable. */
export function answerPage(path: string, content: unknown): Html {
  return layout({
    title: `${path} · lockstep`,
    body: html`<section class="panel answer">
<h1><code>${path}</code></h1>
<div class="scroll-x" tabindex="0" role="region" aria-label="Answer">${jsonTable(content)}</div>
<p><a href="/">Back to the overview</a> · <a href="${path}">What this address takes</a></p>
</section>`,
  });
}

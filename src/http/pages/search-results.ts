import { html } from "hono/html";
import type { QueryAnswer, QuerySource } from "../../engine/query.ts";
import { excerptAround, markWords } from "./highlight.ts";
import type { Html } from "./layout.ts";
import { shownTime } from "./shown-time.ts";

export function searchResults(answer: QueryAnswer): Html {
  const count = answer.sources.length;
  if (count === 0) {
    return html`<p class="quiet" role="status">Nothing found for “${answer.query}”. A crawl may not have brought it in yet.</p>`;
  }
  return html`<p class="quiet" role="status">${count === 1 ? "1 passage" : `${count} passages`} for “${answer.query}”</p>
<ol class="results">${answer.sources.map((source) => result(source, answer.query))}</ol>`;
}

function result(source: QuerySource, query: string): Html {
  const passage = withoutMarkup(source.text);
  const { text, cut } = excerptAround(passage, query);
  return html`<li class="result">
<h3><bdi>${sourceLink(source)}</bdi></h3>
${source.sectionPath ? html`<p class="section-path"><bdi>${source.sectionPath.replaceAll(" > ", " › ")}</bdi></p>` : ""}
<p class="passage">${markWords(text, query)}</p>
${cut ? html`<details><summary>Whole passage</summary><p class="passage">${markWords(passage, query)}</p></details>` : ""}
<dl class="facts">
<div><dt>Score</dt><dd>${source.score.toFixed(2)}</dd></div>
${source.details?.page ? html`<div><dt>Page</dt><dd>${source.details.page}</dd></div>` : ""}
${source.modifiedAt ? html`<div><dt>Modified</dt><dd>${shownTime(source.modifiedAt)}</dd></div>` : ""}
</dl>
${alsoIn(source)}
</li>`;
}

/** Other documents with the same passage, which are not results of their own. */
function alsoIn({ details }: QuerySource): Html | "" {
  const names = details?.alsoIn.map(({ name }) => name) ?? [];
  return names.length === 0 ? "" : html`<p class="quiet">Also in <bdi>${names.join(", ")}</bdi></p>`;
}

/** Passages are Markdown; the signs of headings and emphasis only disturb when read as plain text. */
function withoutMarkup(markdown: string): string {
  return markdown
    .replaceAll(/^#{1,6}\s+/gm, "")
    .replaceAll(/\*\*(\S(?:.*?\S)?)\*\*/g, "$1")
    .replaceAll(/\n{3,}/g, "\n\n");
}

function sourceLink(source: QuerySource): Html {
  const name = source.name || source.fileId;
  const href = webAddress(source.url);
  return href === undefined
    ? html`${name}`
    : html`<a href="${href}" target="_blank" rel="noopener noreferrer">${name}</a>`;
}

/** Only what a browser opens as a web page: `javascript:` and its kin stay text. */
export function webAddress(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed?.protocol === "https:" || parsed?.protocol === "http:" ? parsed.href : undefined;
}

import { html } from "hono/html";
import type { QueryAnswer } from "../../engine/query.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { searchResults } from "./search-results.ts";

/** What `/query2` answers to people. */
export function queryPage(answer: QueryAnswer, frame: Frame): Html {
  return layout({
    frame,
    title: `${answer.query || "Search"} · lockstep`,
    body: html`<section class="panel stack">
<h1>Search</h1>
<form class="search" action="/query2" method="get" role="search">
<label class="grow"><span>Search for</span><input type="search" name="query" value="${answer.query}" required></label>
${answer.vectorStoreId ? html`<input type="hidden" name="vsid" value="${answer.vectorStoreId}">` : ""}
<button class="primary">Search</button>
</form>
${answer.query === "" ? "" : searchResults(answer)}
</section>`,
  });
}

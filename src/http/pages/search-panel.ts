import { html } from "hono/html";
import type { HomeModel } from "./home-model.ts";
import type { Html } from "./layout.ts";
import { searchResults } from "./search-results.ts";

export function searchPanel({ search, domains }: HomeModel): Html {
  const chosen = search.domainId || domains[0]?.domain.domainId;
  return html`<section class="panel" id="search" aria-labelledby="search-title">
<h1 id="search-title">Search</h1>
<form class="search" action="/" method="get" role="search">
<label class="grow"><span>Search for</span><input type="search" name="query" value="${search.query}" required maxlength="1000" autocomplete="off"></label>
<label><span>Domain</span><select name="domain_id">${domains.map(
    ({ domain }) =>
      html`<option value="${domain.domainId}" ${domain.domainId === chosen ? "selected" : ""}>${domain.name || domain.domainId}</option>`,
  )}</select></label>
<button class="primary">Search</button>
</form>
${search.error ? html`<p class="notice bad" role="alert">${search.error}</p>` : ""}
${search.answer ? searchResults(search.answer) : ""}
</section>`;
}

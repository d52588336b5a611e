import { html } from "hono/html";
import type { QueryAnswer } from "../../engine/query.ts";
import type { SearchArguments } from "../endpoints/search-endpoints.ts";
import type { FoundPages } from "./found-pages.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { mayChange } from "./may-change.ts";
import { addressWith } from "./paged-table.ts";
import type { SearchChoices } from "./search-choices.ts";
import { searchResults } from "./search-results.ts";

interface SearchModel {
  readonly answer: QueryAnswer;
  readonly error: string;
  readonly args: SearchArguments;
  readonly choices: SearchChoices;
  readonly pages: FoundPages;
}

const MOST_RESULTS = 50;

export function searchPage(model: SearchModel, frame: Frame): Html {
  const { answer, error, args, choices } = model;
  const asked = args.query.trim() !== "";
  return layout({
    frame,
    title: `${answer.query || "Search"} · lockstep`,
    modules: ["search.js"],
    body: html`<header class="page-head"><h1>Search</h1></header>
${choices.domains.length === 0 ? nothingYet(frame) : html`<section class="panel stack" aria-label="Search">${searchForm(args, choices)}</section>`}
${error ? html`<p class="notice bad" role="alert">${error}</p>` : ""}
${asked && !error ? html`<section class="panel stack" aria-label="Results">${searchResults(answer, { domainId: choices.chosen?.domainId, pages: model.pages })}${moreLink(model, frame)}</section>` : ""}
${asked && choices.chosen ? missingForm(args.query, choices.chosen.domainId) : ""}`,
  });
}

function nothingYet(frame: Frame): Html {
  return html`<div class="empty"><strong>There is nothing to search yet.</strong>${
    mayChange(frame, "admin")
      ? html`<p>Create a domain and crawl it; then its documents are found here.</p><a class="button primary" href="/v2/domains?format=ui">Domains</a>`
      : html`<p>Documents are found here once a domain was crawled. Only administrators can create one.</p>`
  }</div>`;
}

/** The index ranks at most so many; who needs more is better off with other words. */
function moreLink({ answer, args }: SearchModel, frame: Frame): Html | "" {
  if (answer.sources.length < args.results || args.results >= MOST_RESULTS) return "";
  const more = Math.min(MOST_RESULTS, args.results < 20 ? 20 : MOST_RESULTS);
  return html`<p><a class="button" href="${addressWith(frame, { results: String(more) })}">Show up to ${more}</a></p>`;
}

/** Its answer is a page of its own; the page's module shows it here instead. */
function missingForm(query: string, domainId: string): Html {
  return html`<section class="panel stack" aria-labelledby="missing-title">
<div><h2 id="missing-title">A document is missing?</h2>
<p class="quiet">Name it, and see where its way from the source into this answer ends, and what to do.</p></div>
<form class="search" action="/v2/search/explain" method="get" data-explain>
<input type="hidden" name="domain_id" value="${domainId}"><input type="hidden" name="query" value="${query}"><input type="hidden" name="format" value="html">
<label class="grow"><span>Name, path or address</span><input type="text" name="document" required maxlength="2000" placeholder="Travel.docx" autocomplete="off" spellcheck="false"></label>
<button>Explain</button>
</form>
<div data-explanation aria-live="polite"></div>
</section>`;
}

const USING = { both: "Words and meaning", text: "Words only", vectors: "Meaning only" } as const;

function searchForm(args: SearchArguments, choices: SearchChoices): Html {
  const { domains, chosen } = choices;
  return html`<form class="search-form" action="/v2/search" method="get" role="search">
<input type="hidden" name="format" value="ui">
<div class="search">
<label class="grow"><span>Search for</span><input type="search" name="query" value="${args.query}" required maxlength="4000" autocomplete="off" ${args.query ? "" : "autofocus"}></label>
<label><span>Domain</span><select name="domain_id">${domains.map(({ domainId, name }) => option(domainId, name, chosen?.domainId))}</select></label>
<button class="primary">Search</button>
</div>
<details ${isNarrowed(args) ? "open" : ""}><summary>Narrow it</summary>${narrowing(args, choices)}</details>
</form>`;
}

function narrowing(args: SearchArguments, { chosen, generations }: SearchChoices): Html {
  return html`<div class="fields">
<label class="field"><span>Source</span><select name="source_id"><option value="">All</option>${(chosen?.sources ?? []).map(({ sourceId }) => option(sourceId, sourceId, args.source_id))}</select></label>
${input("path", "Path begins with", args.path, "Policies/")}
${input("file_type", "File types", args.file_type?.join(", "), "pdf, docx")}
${input("language", "Languages", args.language?.join(", "), "de, en")}
<label class="field"><span>Modified from</span><input type="date" name="modified_from" value="${args.modified_from?.slice(0, 10) ?? ""}"></label>
<label class="field"><span>Modified before</span><input type="date" name="modified_before" value="${args.modified_before?.slice(0, 10) ?? ""}"></label>
<label class="field"><span>Go by</span><select name="using">${Object.entries(USING).map(([value, words]) => option(value, words, args.using))}</select></label>
${
  generations.length === 0
    ? ""
    : html`<label class="field"><span>As of</span><select name="generation"><option value="">Now</option>${generations.map(({ number, committedAt, sourceId, intermediate }) => option(String(number), `Generation ${number} (${committedAt.slice(0, 16).replace("T", " ")} UTC, ${sourceId}${intermediate ? ", between two sources" : ""})`, String(args.generation ?? "")))}</select></label>`
}
</div>`;
}

function input(name: string, label: string, value: string | undefined, placeholder: string): Html {
  return html`<label class="field"><span>${label}</span><input type="text" name="${name}" value="${value ?? ""}" placeholder="${placeholder}" autocomplete="off" spellcheck="false"></label>`;
}

function option(value: string, words: string, chosen: string | undefined): Html {
  return html`<option value="${value}" ${value === chosen ? "selected" : ""}>${words}</option>`;
}

function isNarrowed(args: SearchArguments): boolean {
  const { query: _query, domain_id: _domain, vector_store_id: _store, results: _results, using, ...narrow } = args;
  return using !== "both" || Object.values(narrow).some((value) => value !== undefined && !isEmptyBody(value));
}

/** Requests without a body have an empty one among their arguments. */
function isEmptyBody(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

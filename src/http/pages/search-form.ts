import { html } from "hono/html";
import type { SearchArguments } from "../endpoints/search-endpoints.ts";
import type { Html } from "./layout.ts";
import type { SearchChoices } from "./search-choices.ts";

const USING = { both: "Words and meaning", text: "Words only", vectors: "Meaning only" } as const;

export function searchForm(args: SearchArguments, choices: SearchChoices): Html {
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

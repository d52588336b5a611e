import { html } from "hono/html";
import { SOURCE_TYPES, type SourceConfig, type SourceType } from "../../contracts/domain.ts";
import { DEFAULT_LIMITS, formatSource } from "../../domains/source-codec.ts";
import type { Html } from "./layout.ts";
import { SOURCE_WORDS } from "./source-words.ts";
import { textOf } from "./text-of.ts";

interface SourceField {
  readonly name: string;
  readonly label: string;
  readonly placeholder: string;
  readonly hint?: string;
  readonly type?: "url";
  readonly optional?: true;
}

const SITE: SourceField = {
  name: "site_url",
  label: "Site address",
  placeholder: "https://contoso.sharepoint.com/sites/hr",
  type: "url",
};
const FILTER: SourceField = {
  name: "filter",
  label: "Filter (OData)",
  placeholder: "Status eq 'Active'",
  hint: "Empty takes everything.",
  optional: true,
};
const ID: SourceField = {
  name: "source_id",
  label: "Source id",
  placeholder: "policies",
  hint: "Letters, digits, _ and -; names a folder.",
};

const FIELDS: Readonly<Record<SourceType, readonly SourceField[]>> = {
  file_sources: [
    ID,
    SITE,
    { name: "sharepoint_url_part", label: "Library, or a folder in it", placeholder: "/Shared Documents" },
    FILTER,
  ],
  list_sources: [ID, SITE, { name: "list_name", label: "Title of the list", placeholder: "Contacts" }, FILTER],
  sitepage_sources: [
    ID,
    SITE,
    { name: "sharepoint_url_part", label: "Library of the pages", placeholder: "/SitePages" },
    FILTER,
  ],
};

/** Rows of sources. They carry no field names of a form: the module reads them, and checks them with the tenant while they are typed. */
export function sourceEditor(sources: readonly SourceConfig[]): Html {
  return html`<section class="source-editor stack" data-source-editor data-scripted hidden aria-labelledby="sources-title">
<div class="section-head"><h3 id="sources-title">Sources</h3>
<div class="actions">${SOURCE_TYPES.map((type) => html`<button type="button" class="small" data-add="${type}">Add ${SOURCE_WORDS[type].toLowerCase()}</button>`)}</div></div>
<p class="quiet" data-part="no-sources" ${sources.length > 0 ? "hidden" : ""}>No sources yet: a crawl would find nothing. Add a library, a list, or the pages of a site.</p>
<div class="stack" data-part="rows">${sources.map((source) => sourceRow(source.sourceType, { ...formatSource(source), ...limitsOf(source) }))}</div>
${SOURCE_TYPES.map((type) => html`<template data-kind="${type}">${sourceRow(type, {})}</template>`)}
</section>`;
}

function limitsOf({ limits }: SourceConfig): Record<string, unknown> {
  return {
    max_removals: limits.maxRemovals,
    max_removals_percent: limits.maxRemovalsPercent,
    allow_empty: limits.allowEmpty,
  };
}

function sourceRow(type: SourceType, source: Readonly<Record<string, unknown>>): Html {
  return html`<fieldset class="source-row" data-source-row="${type}">
<legend>${SOURCE_WORDS[type]} <bdi class="quiet" data-part="title">${textOf(source["source_id"])}</bdi></legend>
<div class="fields">${FIELDS[type].map((field) => fieldOf(field, textOf(source[field.name])))}</div>
<div class="source-check" data-part="check" role="status"></div>
<details class="source-limits"><summary>Limits on removals</summary>${limitFields(source)}</details>
<div class="row-actions"><button type="button" class="small" data-duplicate>Duplicate</button><button type="button" class="small danger" data-remove>Remove</button></div>
</fieldset>`;
}

function fieldOf({ name, label, placeholder, hint, type = undefined, optional }: SourceField, value: string): Html {
  return html`<div class="field"><label><span>${label}</span><input type="${type ?? "text"}" data-field="${name}" value="${value}" placeholder="${placeholder}" ${optional ? "" : "required"} ${name === "source_id" ? html`pattern="[A-Za-z0-9_\\-]{1,64}"` : ""} autocomplete="off" spellcheck="false"></label>${hint ? html`<small>${hint}</small>` : ""}</div>`;
}

function limitFields(source: Readonly<Record<string, unknown>>): Html {
  const most = textOf(source["max_removals"]) || DEFAULT_LIMITS.maxRemovals;
  const percent = textOf(source["max_removals_percent"]) || DEFAULT_LIMITS.maxRemovalsPercent;
  return html`<p class="quiet">A crawl that would remove more than both at once holds the removals until somebody confirms them.</p>
<div class="fields">
<label class="field"><span>Items</span><input type="number" min="0" step="1" data-field="max_removals" value="${most}"></label>
<label class="field"><span>Percent of the source</span><input type="number" min="0" max="100" step="any" data-field="max_removals_percent" value="${percent}"></label>
<label class="check"><input type="checkbox" data-field="allow_empty" ${source["allow_empty"] === true ? "checked" : ""}><span>The source may become empty</span></label>
</div>`;
}

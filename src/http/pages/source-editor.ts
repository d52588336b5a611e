import { html } from "hono/html";
import { SOURCE_TYPES, type SourceConfig, type SourceType } from "../../contracts/domain.ts";
import { DEFAULT_LIMITS, formatSource } from "../../domains/source-codec.ts";
import { USUAL_DEPTH, USUAL_PAGES } from "../../domains/web-source-codec.ts";
import type { Html } from "./layout.ts";
import { SOURCE_WORDS } from "./source-words.ts";
import { textOf } from "./text-of.ts";

interface SourceField {
  readonly name: string;
  readonly label: string;
  readonly placeholder: string;
  readonly hint?: string;
  /** lines: several, one below the other. */
  readonly type?: "url" | "lines" | "number" | "flag";
  readonly optional?: true;
  readonly usual?: number;
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
  web_sources: [
    ID,
    {
      name: "start_urls",
      label: "Start addresses",
      placeholder: "https://docs.example.com/",
      hint: "Pages, sitemaps, feeds or llms.txt, one per line. Empty only for the source 'urls': the addresses that are added one by one.",
      type: "lines",
      optional: true,
    },
    {
      name: "include",
      label: "Take only",
      placeholder: "/guide/**",
      hint: "Patterns of addresses or paths, one per line. Empty: everything of the site.",
      type: "lines",
      optional: true,
    },
    {
      name: "exclude",
      label: "Leave out",
      placeholder: "/blog/**",
      hint: "Patterns, one per line.",
      type: "lines",
      optional: true,
    },
    {
      name: "max_depth",
      label: "Depth",
      placeholder: "",
      hint: "Links from a start address; 0 for those alone.",
      type: "number",
      usual: USUAL_DEPTH,
    },
    {
      name: "max_pages",
      label: "Most pages",
      placeholder: "",
      hint: "A crawl that meets more removes nothing.",
      type: "number",
      usual: USUAL_PAGES,
    },
    { name: "images", label: "Keep the pictures of its pages, too", placeholder: "", type: "flag" },
  ],
};

/** Rows of sources. They carry no field names of a form: the module reads them, and checks them with the tenant while they are typed. */
export function sourceEditor(sources: readonly SourceConfig[]): Html {
  return html`<section class="source-editor stack" data-source-editor data-scripted hidden aria-labelledby="sources-title">
<div class="section-head"><h3 id="sources-title">Sources</h3>
<div class="actions">${SOURCE_TYPES.map((type) => html`<button type="button" class="small" data-add="${type}">Add ${SOURCE_WORDS[type].toLowerCase()}</button>`)}</div></div>
<p class="quiet" data-part="no-sources" ${sources.length > 0 ? "hidden" : ""}>No sources yet: a crawl would find nothing. Add a library, a list, the pages of a site, or a web site.</p>
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
<div class="fields">${FIELDS[type].map((field) => fieldOf(field, source[field.name]))}</div>
<div class="source-check" data-part="check" role="status"></div>
<details class="source-limits"><summary>Limits on removals</summary>${limitFields(source)}</details>
<div class="row-actions"><button type="button" class="small" data-duplicate>Duplicate</button><button type="button" class="small danger" data-remove>Remove</button></div>
</fieldset>`;
}

function fieldOf(field: SourceField, value: unknown): Html {
  if (field.type === "lines") return linesField(field, value);
  if (field.type === "number") return numberField(field, value);
  if (field.type === "flag") {
    return html`<label class="check"><input type="checkbox" data-field="${field.name}" ${value === true ? "checked" : ""}><span>${field.label}</span></label>`;
  }
  return textField(field, textOf(value));
}

function linesField({ name, label, placeholder, hint, optional }: SourceField, value: unknown): Html {
  const lines = Array.isArray(value) ? value.map(textOf).join("\n") : textOf(value);
  return html`<div class="field"><label><span>${label}</span><textarea data-field="${name}" rows="2" placeholder="${placeholder}" ${optional ? "" : "required"} autocomplete="off" spellcheck="false">${lines}</textarea></label>${hint ? html`<small>${hint}</small>` : ""}</div>`;
}

function numberField({ name, label, hint, usual }: SourceField, value: unknown): Html {
  return html`<div class="field"><label><span>${label}</span><input type="number" min="0" step="1" data-field="${name}" value="${textOf(value ?? usual)}" required></label>${hint ? html`<small>${hint}</small>` : ""}</div>`;
}

function textField({ name, label, placeholder, hint, type = undefined, optional }: SourceField, value: string): Html {
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

import { html } from "hono/html";
import { DEFAULT_LIMITS, type Domain, type SourceConfig } from "../../contracts/domain.ts";
import type { KindWords, SourceField, SourceKind, SourceKinds } from "../../contracts/source-kind.ts";
import { formatSource } from "../../domains/source-codec.ts";
import { shownTime, textOf } from "./display.ts";
import type { Html } from "./layout.ts";

/** The domain to edit and its next crawl ("" for never); undefined for a new domain. */
interface Edited {
  readonly domain: Domain;
  readonly nextRunAt: string;
}

/**
 * With its script, sources are rows that are checked while the user types; without it, they are the JSON that the endpoint accepts. A new
 * domain needs a kind of source and where it is: the script suggests names and ids from that.
 */
export function domainEditor(kinds: SourceKinds, edited?: Edited): Html {
  const domain = edited?.domain;
  const id = domain?.domainId ?? "";
  const name = field("name", "Name", "What people call it.", {
    value: domain?.name,
    required: true,
    placeholder: "Employee handbook",
  });
  return html`<form class="domain-editor stack" action="/v2/domains/create?format=html" method="post" data-domain-editor="${id}">
${domain ? html`<div class="fields">${name}${identityFields(edited)}</div>${storeFields(domain)}` : ""}
${sourceEditor(domain?.sources ?? [], kinds, { isNew: !domain })}
${
  domain
    ? html`<noscript><p class="notice warn">Changing a domain needs scripts here, or <code>PUT /v2/domains/update</code>.</p></noscript>
<div class="form-end"><button class="primary" data-scripted hidden>Save</button><p class="form-error" role="alert" hidden></p></div>`
    : html`<div class="fields">${name}</div>
${withoutScript()}
<details class="advanced" open data-folds><summary>Advanced</summary><div class="stack"><div class="fields">${identityFields()}</div>${storeFields()}
<p data-scripted hidden><button type="button" class="small" data-create-only>Create without crawling</button></p></div></details>
<div class="form-end"><button class="primary" value="crawl" data-scripted hidden>Create and crawl</button><noscript><button class="primary">Create domain</button></noscript><p class="form-error" role="alert" hidden></p></div>`
}
</form>`;
}

function identityFields(edited?: Edited): Html {
  const domain = edited?.domain;
  return html`${field("domain_id", "Domain id", domain ? RENAME_HINT : "Letters, digits, _ and -; becomes a folder name.", { value: domain?.domainId, required: true, placeholder: "HANDBOOK", pattern: "[A-Za-z0-9_\\-]{1,64}" })}
${field("description", "Description", "What it holds, in a sentence.", { value: domain?.description, placeholder: "Travel, expenses, leave" })}
${scheduleField(edited)}
${field("max_age", "Verified at least every", "Hours or days, 36h or 7d: the domain is late when its last certificate is older; empty: no limit.", { value: domain?.maxAge, placeholder: "7d", pattern: "[1-9]\\d*[hd]" })}`;
}

function storeFields(domain?: Domain): Html {
  return html`<details><summary>Vector store</summary><div class="fields">
${field("vector_store_name", "Name of the vector store", "The next crawl creates it under this name when there is none; empty: the domain id.", { value: domain?.vectorStoreName })}
${field("vector_store_id", "Id of the vector store", "An existing one to fill. Empty: the next crawl creates one and embeds everything again.", { value: domain?.vectorStoreId })}
</div></details>`;
}

const RENAME_HINT =
  "Another id renames the domain: files, maps and metadata move along, nothing is downloaded or embedded again. Older jobs and reports keep the old id.";

interface Input {
  readonly value?: string | undefined;
  readonly placeholder?: string;
  readonly pattern?: string;
  readonly required?: true;
}

function field(name: string, label: string, hint: string, input: Input): Html {
  return html`<div class="field"><label><span>${label}</span><input type="text" name="${name}" value="${input.value ?? ""}" placeholder="${input.placeholder ?? ""}" ${input.required ? "required" : ""} ${input.pattern ? html`pattern="${input.pattern}"` : ""} autocomplete="off" spellcheck="false" aria-describedby="${name}-hint"></label><small id="${name}-hint">${hint}</small></div>`;
}

const SCHEDULES: readonly (readonly [cron: string, words: string])[] = [
  ["0 * * * *", "every hour"],
  ["0 2 * * *", "every night at 2:00"],
  ["0 6 * * 1-5", "on weekdays at 6:00"],
  ["0 3 * * 0", "on Sundays at 3:00"],
];

/** The server computes the preview; the cron expression is not parsed a second time in the browser. */
function scheduleField(edited: Edited | undefined): Html {
  const next = edited?.nextRunAt ?? "";
  return html`<div class="field"><label><span>Crawl by itself</span><input type="text" name="schedule" value="${edited?.domain.schedule ?? ""}" list="schedules" placeholder="0 2 * * *" autocomplete="off" spellcheck="false" aria-describedby="schedule-hint schedule-preview"></label>
<datalist id="schedules">${SCHEDULES.map(([cron, words]) => html`<option value="${cron}">${words}</option>`)}</datalist>
<small id="schedule-hint">Minute, hour, day, month, weekday (cron, UTC); empty: only when somebody starts it.</small>
<small id="schedule-preview" data-part="schedule" role="status">${next ? html`Next: ${shownTime(next)}` : ""}</small></div>`;
}

/** In the form that the endpoint accepts. */
export const EXAMPLE_SOURCES = {
  file_sources: [
    {
      source_id: "documents",
      site_url: "https://example.sharepoint.com/sites/demo",
      sharepoint_url_part: "/Shared Documents",
      filter: "",
    },
  ],
};

function withoutScript(): Html {
  return html`<noscript><label class="field"><span>Sources, as JSON</span><textarea name="sources_json" rows="4" spellcheck="false">${JSON.stringify(EXAMPLE_SOURCES)}</textarea></label></noscript>`;
}

/** Renders rows of sources. Their inputs have no form names: the script reads them, and checks them while the user types. */
function sourceEditor(
  sources: readonly SourceConfig[],
  kinds: SourceKinds,
  { isNew }: { readonly isNew: boolean },
): Html {
  return html`<div class="source-editor stack" role="group" data-source-editor data-scripted hidden aria-labelledby="sources-title">
<div class="section-head"><h2 id="sources-title">${isNew ? "Where is it?" : "Sources"}</h2>
${isNew ? "" : html`<div class="actions">${kinds.all.map(({ type, words }) => html`<button type="button" class="small" data-add="${type}">Add ${inSentence(words)}</button>`)}</div>`}</div>
${isNew ? html`<div class="tiles">${tileOrder(kinds).map(tile)}</div>` : ""}
<p class="quiet" data-part="no-sources" ${sources.length > 0 || isNew ? "hidden" : ""}>No sources yet: a crawl would find nothing. Add the first one.</p>
<div class="stack" data-part="rows">${sources.map((source) => sourceRow(source.kind, { ...formatSource(source), ...limitsOf(source) }, { isNew: false }))}</div>
${kinds.all.map((kind) => html`<template data-kind="${kind.type}">${sourceRow(kind, {}, { isNew: true })}</template>`)}
</div>`;
}

/** What works without a registered app comes first. */
function tileOrder({ all }: SourceKinds): readonly SourceKind[] {
  return all.toSorted((a, b) => Number(a.abilities.needsSignIn) - Number(b.abilities.needsSignIn));
}

function tile({ type, words }: SourceKind): Html {
  return html`<button type="button" class="tile" data-add="${type}"><span class="visually-hidden">Add </span><strong>${words.name}</strong><small>${words.place}</small></button>`;
}

function limitsOf({ limits }: SourceConfig): Record<string, unknown> {
  return {
    max_removals: limits.maxRemovals,
    max_removals_percent: limits.maxRemovalsPercent,
    allow_empty: limits.allowEmpty,
  };
}

function sourceRow(
  { type, words, fields }: SourceKind,
  source: Readonly<Record<string, unknown>>,
  { isNew }: { readonly isNew: boolean },
): Html {
  const [place, ...others] = fields;
  const needed = others.filter(isNeeded);
  const advanced = others.filter((field) => !isNeeded(field));
  const shown = (all: readonly Shown[]): Html[] => all.map((field) => fieldOf(field, source[field.name]));
  return html`<fieldset class="source-row" data-source-row="${type}" data-noun="${inSentence(words)}">
<legend>${words.name} <bdi class="quiet" data-part="title">${textOf(source["source_id"])}</bdi></legend>
<div class="fields" data-part="place">${shown(place ? [place, ...needed] : needed)}</div>
<div class="source-check" data-part="check" role="status"></div>
<details class="source-more" ${isNew ? "" : "open"}><summary>Advanced settings of the source</summary><div class="stack">
<div class="fields">${shown([ID, ...advanced])}</div>
<details class="source-limits"><summary>Limits on removals</summary>${limitFields(source)}</details>
<div class="row-actions"><button type="button" class="small" data-duplicate>Duplicate</button></div></div></details>
<div class="row-actions"><button type="button" class="small danger" data-remove>Remove</button></div>
</fieldset>`;
}

/** Others have a default. */
function isNeeded({ optional, type }: SourceField): boolean {
  return !optional && type !== "number" && type !== "flag";
}

type Shown = Omit<SourceField, "described">;

const ID: Shown = {
  name: "source_id",
  label: "Source id",
  placeholder: "policies",
  hint: "Letters, digits, _ and -; names a folder.",
  pattern: "[A-Za-z0-9_\\-]{1,64}",
};

function fieldOf(field: Shown, value: unknown): Html {
  if (field.type === "lines" || field.type === "words") return linesField(field, value);
  if (field.type === "number") return numberField(field, value);
  if (field.type === "flag") {
    return html`<label class="check"><input type="checkbox" data-field="${field.name}" ${value === true ? "checked" : ""}><span>${field.label}</span></label>`;
  }
  return textField(field, textOf(value));
}

function linesField({ name, label, placeholder, hint, optional, type }: Shown, value: unknown): Html {
  const lines = Array.isArray(value) ? value.map(textOf).join("\n") : textOf(value);
  return html`<div class="field"><label><span>${label}</span><textarea data-field="${name}" ${type === "words" ? "data-words" : ""} rows="2" placeholder="${placeholder}" ${optional ? "" : "required"} autocomplete="off" spellcheck="false">${lines}</textarea></label>${hint ? html`<small>${hint}</small>` : ""}</div>`;
}

function numberField({ name, label, hint, usual }: Shown, value: unknown): Html {
  return html`<div class="field"><label><span>${label}</span><input type="number" min="0" step="1" data-field="${name}" value="${textOf(value ?? usual)}" required></label>${hint ? html`<small>${hint}</small>` : ""}</div>`;
}

function textField({ name, label, placeholder, hint, type, optional, pattern }: Shown, value: string): Html {
  return html`<div class="field"><label><span>${label}</span><input type="${type ?? "text"}" data-field="${name}" value="${value}" placeholder="${placeholder}" ${optional ? "" : "required"} ${pattern ? html`pattern="${pattern}" title="${hint}"` : ""} autocomplete="off" spellcheck="false"></label>${hint ? html`<small>${hint}</small>` : ""}</div>`;
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

/** Returns the name for the middle of a sentence: "document library", but "S3 bucket". */
function inSentence({ name, noun }: KindWords): string {
  return noun.toLowerCase() === name.toLowerCase() ? noun : name.toLowerCase();
}

import { html } from "hono/html";
import { DEFAULT_LIMITS, type SourceConfig } from "../../contracts/domain.ts";
import type { KindWords, SourceField, SourceKind, SourceKinds } from "../../contracts/source-kind.ts";
import { formatSource } from "../../domains/source-codec.ts";
import type { Html } from "./layout.ts";
import { textOf } from "./text-of.ts";

/** Rows of sources. They carry no field names of a form: the module reads them, and checks them where they are while they are typed. */
export function sourceEditor(sources: readonly SourceConfig[], kinds: SourceKinds): Html {
  return html`<section class="source-editor stack" data-source-editor data-scripted hidden aria-labelledby="sources-title">
<div class="section-head"><h3 id="sources-title">Sources</h3>
<div class="actions">${kinds.all.map(({ type, words }) => html`<button type="button" class="small" data-add="${type}">Add ${inSentence(words)}</button>`)}</div></div>
<p class="quiet" data-part="no-sources" ${sources.length > 0 ? "hidden" : ""}>No sources yet: a crawl would find nothing. Add the first one.</p>
<div class="stack" data-part="rows">${sources.map((source) => sourceRow(source.kind, { ...formatSource(source), ...limitsOf(source) }))}</div>
${kinds.all.map((kind) => html`<template data-kind="${kind.type}">${sourceRow(kind, {})}</template>`)}
</section>`;
}

function limitsOf({ limits }: SourceConfig): Record<string, unknown> {
  return {
    max_removals: limits.maxRemovals,
    max_removals_percent: limits.maxRemovalsPercent,
    allow_empty: limits.allowEmpty,
  };
}

function sourceRow({ type, words, fields }: SourceKind, source: Readonly<Record<string, unknown>>): Html {
  return html`<fieldset class="source-row" data-source-row="${type}">
<legend>${words.name} <bdi class="quiet" data-part="title">${textOf(source["source_id"])}</bdi></legend>
<div class="fields">${[ID, ...fields].map((field) => fieldOf(field, source[field.name]))}</div>
<div class="source-check" data-part="check" role="status"></div>
<details class="source-limits"><summary>Limits on removals</summary>${limitFields(source)}</details>
<div class="row-actions"><button type="button" class="small" data-duplicate>Duplicate</button><button type="button" class="small danger" data-remove>Remove</button></div>
</fieldset>`;
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

/** Not at its beginning: "document library", but "S3 bucket". */
function inSentence({ name, noun }: KindWords): string {
  return noun.toLowerCase() === name.toLowerCase() ? noun : name.toLowerCase();
}

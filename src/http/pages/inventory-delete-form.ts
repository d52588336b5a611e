import { html } from "hono/html";
import type { Html } from "./layout.ts";

/** What is to be deleted, in words and ids. */
export interface DeleteTarget {
  readonly name: string;
  /** The parameters that say which. */
  readonly ids: Readonly<Record<string, string>>;
  /** The domain that uses it; "" when none does. */
  readonly usedBy: string;
}

export interface DeleteForm {
  /** `vector store` */
  readonly noun: string;
  /** Instead of "Delete vector store?", "Delete", and "will be deleted …". */
  readonly title?: string;
  readonly button?: string;
  readonly words?: string;
  /** `/v2/inventory/vector_stores/delete` */
  readonly action: string;
  /** The parameters that `ids` of a DeleteTarget has. */
  readonly parameters: readonly string[];
  /** Value and words of each mode, the default first; none: there is no choice. */
  readonly modes?: readonly (readonly [string, string])[];
  /** Said of something that a domain uses. */
  readonly warning?: string;
  /** Where to go afterwards; "" stays on the page. */
  readonly then: string;
}

/** A link for those without scripts, to the page with the form; with them it opens the dialog instead. */
export function deleteLink({ name, ids, usedBy }: DeleteTarget, detail: string, word = "Delete"): Html {
  const values = JSON.stringify({ name, used: usedBy, ...ids });
  return html`<a class="button small danger" href="${detail}#delete" data-opens="delete-dialog" data-values="${values}" aria-haspopup="dialog">${word}<span class="visually-hidden"> ${name || Object.values(ids).join(" ")}</span></a>`;
}

/** One dialog for all rows: the link that opens it says for which. */
export function deleteDialog(form: DeleteForm): Html {
  return html`<dialog id="delete-dialog" aria-labelledby="delete-title">
<h2 id="delete-title">${form.title ?? `Delete ${form.noun}?`}</h2>
<p><strong><bdi data-text="name"></bdi></strong> ${form.words ?? "will be deleted in the backend. This cannot be undone."}</p>
${formOf(form, {
  usedBy: html`<bdi data-text="used"></bdi>`,
  when: html`data-when="used" hidden`,
  value: () => "",
  cancel: html`<button type="button" data-closes>Cancel</button>`,
})}
</dialog>`;
}

/** The same on the page of one object, for those without scripts. */
export function deleteWithoutScripts(form: DeleteForm, { ids, usedBy }: DeleteTarget): Html {
  return html`<noscript><section class="panel stack" id="delete"><h2>${form.title ?? `Delete this ${form.noun}?`}</h2>
${formOf(form, { usedBy, when: usedBy === "" ? html`hidden` : "", value: (name) => ids[name] ?? "", cancel: "", unused: usedBy === "" })}
</section></noscript>`;
}

interface Filling {
  readonly usedBy: Html | string;
  readonly when: Html | "";
  readonly value: (parameter: string) => string;
  readonly cancel: Html | "";
  readonly unused?: boolean;
}

function formOf(form: DeleteForm, { usedBy, when, value, cancel, unused = false }: Filling): Html {
  const { action, parameters, modes = [], warning, then } = form;
  return html`<form class="stack" action="${action}" method="get" data-send="DELETE" data-then="${then}">
<input type="hidden" name="format" value="html">
${parameters.map((name) => html`<input type="hidden" name="${name}" value="${value(name)}" data-value="${name}">`)}
${modes.length === 0 ? "" : html`<fieldset class="stack">${modes.map(([mode, words], at) => html`<label class="check"><input type="radio" name="mode" value="${mode}" ${at === 0 ? "checked" : ""}><span>${words}</span></label>`)}</fieldset>`}
${
  warning === undefined || unused
    ? ""
    : html`<div class="notice warn" ${when}><p>Domain <strong>${usedBy}</strong> uses it. ${warning}</p>
<label class="check"><input type="checkbox" required><span>Delete it although domain ${usedBy} uses it</span></label></div>`
}
<div class="form-end"><p class="form-error" role="alert" hidden></p>${cancel}<button class="danger">${form.button ?? "Delete"}</button></div>
</form>`;
}

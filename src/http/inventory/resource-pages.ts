import { html } from "hono/html";
import { capital, sayBytes } from "../../lib/text.ts";
import { shownId, shownName, shownTime } from "../pages/display.ts";
import { jsonTable } from "../pages/json-table.ts";
import { type Frame, type Html, layout, mayChange } from "../pages/layout.ts";
import { type Column, pagedTable } from "../pages/paged-table.ts";
import type { Answer } from "../routing/endpoint.ts";
import type { Listing } from "../routing/listing.ts";
import {
  actionPath,
  type BackendObject,
  detailAddress,
  type Editor,
  type EditorInput,
  idsOf,
  type ListHeading,
  listAddress,
  type PageResource,
  type ResourceIdentity,
} from "./resource.ts";

/** Scripts in addition to the one of all pages. */
const MODULES = ["inventory.js"];

interface ListPage<Row> {
  readonly answer: Answer<readonly Row[]>;
  readonly listing: Listing;
  readonly frame: Frame;
  readonly heading: ListHeading | undefined;
}

/** Renders the list of a resource. One dialog for all rows asks before a change. */
export function listPage<Row extends BackendObject, One extends Partial<BackendObject>>(
  resource: PageResource<Row, One>,
  { answer: { data, page, ok, error }, listing, frame, heading = headingOf(resource, frame) }: ListPage<Row>,
): Html {
  const { title, page: declared } = resource;
  const { forms, editor, tableId, caption = title, columns, empty } = declared;
  const [edits, deletes] = allowed(resource, frame);
  const actions: Column<Row> = { title: "Actions", cell: (row) => rowActions(resource, row, { edits, deletes }) };
  return layout({
    frame,
    title: `${heading.title} · lockstep`,
    modules: MODULES,
    body: html`${heading.head}
${error === "" ? "" : html`<p class="notice warn" role="status">${error}</p>`}
${forms && mayChange(frame, forms.role) && (ok || data.length > 0) ? forms.html(data) : ""}
${pagedTable({
  id: tableId,
  caption,
  columns: [...columns, actions],
  rows: data,
  listing,
  page,
  empty,
  frame,
})}
${edits && editor ? editDialog(resource, editor) : ""}${deletes ? removeDialog(resource, frame, "") : ""}`,
  });
}

function headingOf(
  { title, page }: { readonly title: string; readonly page: { readonly lede: string } },
  frame: Frame,
): ListHeading {
  const head = html`<header class="page-head">${mayChange(frame, "operate") ? html`<p class="lede"><a href="/v2/inventory?format=ui">Inventory</a></p>` : ""}<h1>${title}</h1>
<p class="lede">${page.lede}</p></header>`;
  return { title, head };
}

/** Tells whether the user may edit and delete objects of the resource. */
function allowed<Row extends BackendObject, One extends Partial<BackendObject>>(
  { page, remove }: PageResource<Row, One>,
  frame: Frame,
): readonly [boolean, boolean] {
  return [page.editor !== undefined && mayChange(frame, "operate"), mayChange(frame, remove.role ?? "operate")];
}

function rowActions<Row extends BackendObject, One extends Partial<BackendObject>>(
  resource: PageResource<Row, One>,
  row: Row,
  { edits, deletes }: { readonly edits: boolean; readonly deletes: boolean },
): Html {
  const address = detailAddress(resource.path, idsOf(resource, row));
  return html`<div class="row-actions"><a class="button small" href="${address}">View<span class="visually-hidden"> ${shownName(resource.page.name(row) || row.id)}</span></a>${edits ? editButton(resource, row) : ""}${deletes ? removeLink(resource, row, address) : ""}</div>`;
}

/** Renders one object: its main facts, its actions, and every field that the backend returned. */
export function detailPage<Row extends BackendObject, One extends Partial<BackendObject>>(
  resource: PageResource<Row, One>,
  object: One,
  frame: Frame,
): Html {
  const { noun, title, path, page } = resource;
  const { id = "" } = object;
  const name = page.detailTitle?.(object) ?? page.name(object);
  const [edits, deletes] = id === "" ? [false, false] : allowed(resource, frame);
  const [backTitle, backAddress] = page.back?.(object) ?? [title, listAddress(path)];
  return layout({
    frame,
    title: `${name || id} · lockstep`,
    modules: MODULES,
    body: html`<header class="page-head"><p class="lede"><a href="${backAddress}">${backTitle}</a></p>
<h1><bdi>${shownName(name || "(no name)")}</bdi></h1><div class="actions">${page.links?.(object) ?? ""}${edits ? editButton(resource, object) : ""}${deletes ? removeLink(resource, object, "") : ""}</div>
<p class="lede">${page.kind ?? capital(noun)} <code class="object-id">${id}</code></p></header>
<dl class="figures panel">${page.facts(object).map(([label, fact]) => html`<div><dt>${label}</dt><dd>${fact}</dd></div>`)}</dl>
${page.content?.(object) ?? ""}${edits && page.editor ? editDialog(resource, page.editor) : ""}${deletes ? html`${removeDialog(resource, frame, backAddress)}${removeWithoutScripts(resource, object, frame, backAddress)}` : ""}
<details class="panel"><summary>All fields</summary><div class="scroll-x" tabindex="0" role="group" aria-label="All fields">${jsonTable(object)}</div></details>`,
  });
}

/** Returns a form that creates an object; `editor` is also that of the page. */
export function createForm({ path, noun }: Pick<ResourceIdentity, "path" | "noun">, editor: Editor<never>): Html {
  return html`<details class="panel inventory-form"><summary>Create ${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}</summary>
<form class="stack" action="${actionPath(path, "create")}?format=html" method="post" data-send="POST">
${editorInputs(editor, "create")}
<div class="form-end"><button class="primary">Create ${noun}</button><p class="form-error" role="alert" hidden></p></div>
</form></details>`;
}

/** An update is a PUT, which forms cannot send: without scripts there is no button. */
function editButton<Row extends BackendObject, One extends Partial<BackendObject>>(
  resource: PageResource<Row, One>,
  object: Row | One,
): Html {
  const { editor, name } = resource.page;
  const values = JSON.stringify({ ...idsOf(resource, object), ...editor?.values(object) });
  return html`<button class="small" type="button" data-scripted hidden data-opens="edit-dialog" data-values="${values}" aria-haspopup="dialog">Edit<span class="visually-hidden"> ${name(object) || object.id}</span></button>`;
}

function editDialog({ path, noun, idParameter }: ResourceIdentity, editor: Editor<never>): Html {
  return html`<dialog id="edit-dialog" aria-labelledby="edit-title"><h2 id="edit-title">Edit ${noun}</h2>
<form class="stack" action="${actionPath(path, "update")}" data-send="PUT">
<input type="hidden" name="${idParameter}" data-value="${idParameter}">
${editorInputs(editor, "edit")}
<div class="form-end"><p class="form-error" role="alert" hidden></p><button type="button" data-closes>Cancel</button><button class="primary">Save</button></div>
</form></dialog>`;
}

function editorInputs({ prefix, inputs, textarea }: Editor<never>, form: "create" | "edit"): Html {
  const idOf = ({ id }: EditorInput): string => `${form}-${prefix}-${id}`;
  const control = (input: EditorInput): Html => {
    const id = idOf(input);
    const { name, attributes, hint } = input;
    const describedBy = hint ? html` aria-describedby="${id}-hint"` : "";
    return html`<input id="${id}" name="${name}" data-value="${name}" ${attributes}${describedBy}>${hint ? html`<small id="${id}-hint">${hint[form]}</small>` : ""}`;
  };
  const label = (input: EditorInput): Html => html`<label for="${idOf(input)}"><span>${input.label}</span></label>`;
  return html`<div class="fields">
${inputs.map((input) => html`<div class="field">${label(input)}${control(input)}</div>\n`)}</div>
<div class="field">${label(textarea)}<textarea id="${idOf(textarea)}" name="${textarea.name}" data-value="${textarea.name}" ${textarea.attributes}></textarea></div>`;
}

/** Without scripts a link to the page with the form; with scripts it opens the dialog. */
function removeLink<Row extends BackendObject, One extends Partial<BackendObject>>(
  resource: PageResource<Row, One>,
  object: Row | One,
  detail: string,
): Html {
  const { name: nameOf, usedBy, confirm } = resource.page;
  const [name, ids] = [nameOf(object), idsOf(resource, object)];
  const values = JSON.stringify({ name, used: usedBy?.(object) ?? "", ...ids });
  return html`<a class="button small danger" href="${detail}#delete" data-opens="delete-dialog" data-values="${values}" aria-haspopup="dialog">${confirm?.button ?? "Delete"}<span class="visually-hidden"> ${name || Object.values(ids).join(" ")}</span></a>`;
}

/** One dialog for all rows: the link that opens it says for which. Then goes to `next`; "" stays on the page. */
function removeDialog<Row extends BackendObject, One extends Partial<BackendObject>>(
  resource: PageResource<Row, One>,
  frame: Frame,
  next: string,
): Html {
  const { noun, page } = resource;
  return html`<dialog id="delete-dialog" aria-labelledby="delete-title">
<h2 id="delete-title">${page.confirm?.title ?? `Delete ${noun}?`}</h2>
<p><strong><bdi data-text="name"></bdi></strong> ${page.confirm?.sentence ?? "will be deleted in the backend. This cannot be undone."}</p>
${removeForm(resource, frame, {
  usedBy: html`<bdi data-text="used"></bdi>`,
  warningAttributes: html`data-when="used" hidden`,
  ids: idsOf(resource, {}),
  cancel: html`<button type="button" data-closes>Cancel</button>`,
  next,
})}
</dialog>`;
}

/** The same on the page of one object, for browsers without scripts. */
function removeWithoutScripts<Row extends BackendObject, One extends Partial<BackendObject>>(
  resource: PageResource<Row, One>,
  object: One,
  frame: Frame,
  next: string,
): Html {
  const { noun, page } = resource;
  const usedBy = page.usedBy?.(object) || undefined;
  return html`<noscript><section class="panel stack" id="delete"><h2>${page.confirm?.title ?? `Delete this ${noun}?`}</h2>
${removeForm(resource, frame, { usedBy, warningAttributes: "", ids: idsOf(resource, object), cancel: "", next })}
</section></noscript>`;
}

interface RemoveForm {
  /** undefined: no warning is shown. */
  readonly usedBy: Html | string | undefined;
  readonly warningAttributes: Html | "";
  readonly ids: Readonly<Record<string, string>>;
  readonly cancel: Html | "";
  readonly next: string;
}

function removeForm<Row extends BackendObject, One extends Partial<BackendObject>>(
  { path, page: { confirm }, remove: { role = "operate", modes } }: PageResource<Row, One>,
  frame: Frame,
  { usedBy, warningAttributes, ids, cancel, next }: RemoveForm,
): Html {
  // Users without the role for the other modes have no choice.
  const choices = modes && mayChange(frame, modes.role ?? role) ? modes.choices : [];
  return html`<form class="stack" action="${actionPath(path, "delete")}" method="get" data-send="DELETE" data-then="${next}">
<input type="hidden" name="format" value="html">
${Object.entries(ids).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" data-value="${name}">`)}
${choices.length === 0 ? "" : html`<fieldset class="stack">${choices.map(([mode, label], at) => html`<label class="check"><input type="radio" name="mode" value="${mode}" ${at === 0 ? "checked" : ""}><span>${label}</span></label>`)}</fieldset>`}
${
  confirm?.warning === undefined || usedBy === undefined
    ? ""
    : html`<div class="notice warn" ${warningAttributes}><p>Domain <strong>${usedBy}</strong> uses it. ${confirm.warning}</p>
<label class="check"><input type="checkbox" required><span>Delete it although domain ${usedBy} uses it</span></label></div>`
}
<div class="form-end"><p class="form-error" role="alert" hidden></p>${cancel}<button class="danger">${confirm?.button ?? "Delete"}</button></div>
</form>`;
}

/** Renders Unix seconds, as in the protocol; null and 0 mean none. */
export function timeOf(seconds: number | null | undefined): Html {
  if (!seconds) return html`<span class="none">–</span>`;
  return html`<span class="unbroken">${shownTime(new Date(seconds * 1000).toISOString())}</span>`;
}

export function sizeOf(bytes: number | null | undefined): Html {
  return html`<span class="unbroken">${sayBytes(bytes ?? 0)}</span>`;
}

/** Renders a name with its id below: names are not unique, and may be missing. */
export function named(name: string | null | undefined, id: string, address: string): Html {
  return html`<a href="${address}">${shownId(shownName(name || "(no name)"))}</a><br><code class="object-id">${id}</code>`;
}

export function statusPill(status: string): Html {
  const tones: Readonly<Record<string, string>> = {
    completed: "good",
    in_progress: "busy",
    failed: "bad",
    expired: "warn",
    cancelled: "warn",
  };
  return html`<span class="pill ${tones[status] ?? ""}">${status.replaceAll("_", " ")}</span>`;
}

export function domainLink(domainId: string): Html {
  if (domainId === "") return html`<span class="none">–</span>`;
  return html`<a href="/v2/domains/get?${new URLSearchParams({ domain_id: domainId, format: "html" })}">${shownId(domainId)}</a>`;
}

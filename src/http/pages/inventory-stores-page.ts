import { html } from "hono/html";
import type { VectorStore } from "../../inventory/inventory.ts";
import type { Answer } from "../routing/endpoint.ts";
import type { Listing } from "../routing/listing.ts";
import {
  type DeleteForm,
  type DeleteTarget,
  deleteDialog,
  deleteLink,
  deleteWithoutScripts,
} from "./inventory-delete-form.ts";
import {
  detailAddress,
  detailPage,
  INVENTORY_MODULES,
  listAddress,
  may,
  named,
  sizeOf,
  timeOf,
  troubleNotice,
} from "./inventory-parts.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { type Column, pagedTable } from "./paged-table.ts";

/** With the domain that uses it, "" when none does. */
export type UsedStore = VectorStore & { readonly used_by_domain: string };

export function storesPage({ data, page, error }: Answer<readonly UsedStore[]>, listing: Listing, frame: Frame): Html {
  const [changes, deletes] = [may(frame, "operate"), may(frame, "admin")];
  return layout({
    frame,
    title: "Vector stores · lockstep",
    modules: INVENTORY_MODULES,
    body: html`<header class="page-head"><p class="lede"><a href="/v2/inventory?format=ui">Inventory</a></p><h1>Vector stores</h1>
<p class="lede">Embedded files, ready to be searched. Each domain fills one of its own; the others are yours.</p></header>
${troubleNotice(error)}
${changes ? html`<div class="stack">${createStoreForm()}${replicateForm()}</div>` : ""}
${pagedTable({
  id: "stores",
  caption: "Vector stores",
  columns: changes ? [...COLUMNS, actions({ deletes })] : COLUMNS,
  rows: data,
  listing,
  page,
  empty: "No vector stores yet: the first crawl of a domain creates one.",
  frame,
})}
${changes ? editStoreDialog() : ""}${deletes ? deleteDialog(deleteForm("")) : ""}`,
  });
}

const address = ({ id }: UsedStore): string => detailAddress("vector_stores", { vector_store_id: id });

const COLUMNS: readonly Column<UsedStore>[] = [
  { sort: "name", title: "Name", cell: (store) => named(store.name, store.id, address(store)) },
  { sort: "used_by_domain", title: "Domain", cell: ({ used_by_domain }) => domainLink(used_by_domain) },
  { title: "Files", align: "end", cell: (store) => html`<a href="${filesAddress(store.id)}">${filesOf(store)}</a>` },
  { sort: "usage_bytes", title: "Size", align: "end", cell: ({ usage_bytes }) => sizeOf(usage_bytes) },
  { sort: "status", title: "Status", cell: ({ status }) => statusPill(status) },
  { sort: "created_at", title: "Created", cell: ({ created_at }) => timeOf(created_at) },
];

function actions({ deletes }: { readonly deletes: boolean }): Column<UsedStore> {
  return {
    title: "Actions",
    cell: (store) =>
      html`<div class="row-actions">${editStoreButton(store)}${deletes ? deleteLink(targetOf(store), address(store)) : ""}</div>`,
  };
}

export function storeDetail(store: UsedStore, frame: Frame): Html {
  const [changes, deletes] = [may(frame, "operate"), may(frame, "admin")];
  const form = deleteForm(listAddress("vector_stores"));
  return detailPage({
    kind: "Vector store",
    name: store.name ?? "",
    id: store.id,
    facts: [
      ["Files", html`<a href="${filesAddress(store.id)}">${filesOf(store)}</a>`],
      ["Size", sizeOf(store.usage_bytes)],
      ["Status", statusPill(store.status)],
      ["Domain", domainLink(store.used_by_domain)],
      ["Created", timeOf(store.created_at)],
      ["Last used", timeOf(store.last_active_at)],
      ...(store.expires_at ? [["Expires", timeOf(store.expires_at)] as const] : []),
    ],
    actions: html`<a class="button small" href="${filesAddress(store.id)}">Files</a>${changes ? editStoreButton(store) : ""}${deletes ? deleteLink(targetOf(store), "") : ""}`,
    content: html`${changes ? editStoreDialog() : ""}${deletes ? html`${deleteDialog(form)}${deleteWithoutScripts(form, targetOf(store))}` : ""}`,
    object: store,
    back: ["Vector stores", listAddress("vector_stores")],
    frame,
  });
}

export function filesAddress(storeId: string): string {
  return `/v2/inventory/vector_stores/files?${new URLSearchParams({ vector_store_id: storeId, format: "html" })}`;
}

function filesOf({ file_counts: { total, failed, in_progress: busy } }: VectorStore): Html {
  return html`${total}${failed > 0 ? html`<br><span class="unbroken error">${failed} failed</span>` : ""}${busy > 0 ? html`<br><span class="unbroken">${busy} in progress</span>` : ""}`;
}

export function domainLink(domainId: string): Html {
  if (domainId === "") return html`<span class="none">–</span>`;
  return html`<a href="/v2/domains/get?${new URLSearchParams({ domain_id: domainId, format: "html" })}"><bdi class="whole-words">${domainId}</bdi></a>`;
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

function targetOf({ id, name, used_by_domain }: UsedStore): DeleteTarget {
  return { name: name ?? "", ids: { vector_store_id: id }, usedBy: used_by_domain };
}

function deleteForm(then: string): DeleteForm {
  return {
    noun: "vector store",
    action: "/v2/inventory/vector_stores/delete",
    parameters: ["vector_store_id"],
    modes: [
      ["default", "Only the vector store; its files stay in the backend"],
      ["with_files", "Its files too, also where other vector stores hold them"],
    ],
    warning: "Its searches find nothing afterwards, and its next crawl stops because the store is gone.",
    then,
  };
}

function createStoreForm(): Html {
  return html`<details class="panel inventory-form"><summary>Create a vector store</summary>
<form class="stack" action="/v2/inventory/vector_stores/create?format=html" method="post" data-send="POST">
${fields("create")}
<div class="form-end"><button class="primary">Create vector store</button><p class="form-error" role="alert" hidden></p></div>
</form></details>`;
}

/** Changing one is a PUT, which forms cannot send: without scripts the button is not there. */
function editStoreButton({ id, name, metadata, expires_after }: VectorStore): Html {
  const values = JSON.stringify({
    vector_store_id: id,
    name: name ?? "",
    metadata: metadata && Object.keys(metadata).length > 0 ? JSON.stringify(metadata) : "",
    expires_after_days: expires_after ? String(expires_after.days) : "",
  });
  return html`<button class="small" type="button" data-scripted hidden data-opens="edit-dialog" data-values="${values}" aria-haspopup="dialog">Edit<span class="visually-hidden"> ${name || id}</span></button>`;
}

function editStoreDialog(): Html {
  return html`<dialog id="edit-dialog" aria-labelledby="edit-title"><h2 id="edit-title">Edit vector store</h2>
<form class="stack" action="/v2/inventory/vector_stores/update" data-send="PUT">
<input type="hidden" name="vector_store_id" data-value="vector_store_id">
${fields("edit")}
<div class="form-end"><p class="form-error" role="alert" hidden></p><button type="button" data-closes>Cancel</button><button class="primary">Save</button></div>
</form></dialog>`;
}

function fields(place: "create" | "edit"): Html {
  const id = (name: string): string => `${place}-store-${name}`;
  return html`<div class="fields">
<div class="field"><label for="${id("name")}"><span>Name</span></label><input id="${id("name")}" name="name" data-value="name" autocomplete="off" required></div>
<div class="field"><label for="${id("days")}"><span>Expires after days without use</span></label><input id="${id("days")}" name="expires_after_days" data-value="expires_after_days" type="number" min="1" max="365" aria-describedby="${id("days")}-hint"><small id="${id("days")}-hint">${place === "edit" ? "Empty: as it is" : "Empty: never"}</small></div>
</div>
<div class="field"><label for="${id("metadata")}"><span>Metadata, as JSON</span></label><textarea id="${id("metadata")}" name="metadata" data-value="metadata" rows="2" spellcheck="false" placeholder='{"team":"HR"}'></textarea></div>`;
}

/** The first button shows the plan, and so does Enter. */
function replicateForm(): Html {
  return html`<details class="panel inventory-form"><summary>Copy files between vector stores</summary>
<form class="stack" action="/v2/inventory/vector_stores/replicate" method="get" data-job>
<p class="quiet">Adds to every target the files of all sources that it lacks, with attributes and chunking. Nothing is uploaded again.</p>
<input type="hidden" name="format" value="html">
<div class="fields">
${ids("source_vector_store_ids", "Sources", "Ids of vector stores, with commas between them")}
${ids("target_vector_store_ids", "Targets", "Ids of vector stores, with commas between them")}
</div>
<label class="check"><input type="checkbox" name="remove_target_files_not_in_sources" value="true" data-asks="replicate-dialog"><span>Then take files out of the targets that no source has</span></label>
<div class="form-end"><button name="dry_run" value="true">Show the plan</button><button class="primary">Copy files</button><p class="form-error" role="alert" hidden></p></div>
</form>
<dialog id="replicate-dialog" aria-labelledby="replicate-title"><h2 id="replicate-title">Take files out of the targets?</h2>
<p>Files of the targets that no source has are taken out of them. They stay in the backend, but searches of the targets no longer find them.</p>
<div class="form-end"><button type="button" data-closes>Cancel</button><button type="button" class="danger" data-confirms>Copy and take out</button></div></dialog>
</details>`;
}

function ids(name: string, title: string, hint: string): Html {
  return html`<div class="field"><label for="${name}"><span>${title}</span></label><input id="${name}" name="${name}" required autocomplete="off" spellcheck="false" placeholder="vs_…, vs_…" aria-describedby="${name}-hint"><small id="${name}-hint">${hint}</small></div>`;
}

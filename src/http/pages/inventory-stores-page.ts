import { html } from "hono/html";
import type { VectorStore } from "../../inventory/inventory.ts";
import type { Answer } from "../grammar/endpoint.ts";
import type { Listing } from "../grammar/listing.ts";
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
import { createStoreForm, editStoreButton, editStoreDialog, replicateForm } from "./inventory-store-forms.ts";
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

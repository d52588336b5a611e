import { html } from "hono/html";
import type { StoreFile } from "../../inventory/inventory.ts";
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
import { domainLink, filesAddress, statusPill, type UsedStore } from "./inventory-stores-page.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { type Column, pagedTable } from "./paged-table.ts";

export function storeFilesPage(
  { data, page, error }: Answer<readonly StoreFile[]>,
  listing: Listing,
  store: UsedStore,
  frame: Frame,
): Html {
  const removes = may(frame, "operate");
  const name = store.name || store.id;
  return layout({
    frame,
    title: `Files of ${name} · lockstep`,
    modules: INVENTORY_MODULES,
    body: html`<header class="page-head"><p class="lede"><a href="${listAddress("vector_stores")}">Vector stores</a></p>
<h1>Files of <bdi>${name}</bdi></h1><div class="actions"><a class="button small" href="${detailAddress("vector_stores", { vector_store_id: store.id })}">Vector store</a></div>
<p class="lede">${store.used_by_domain === "" ? "" : html`Filled by domain ${domainLink(store.used_by_domain)}. `}<code class="object-id">${store.id}</code></p></header>
${troubleNotice(error)}
${pagedTable({
  id: "store-files",
  caption: "Files of the vector store",
  columns: removes ? [...COLUMNS, ACTIONS] : COLUMNS,
  rows: data,
  listing,
  page,
  empty: "This vector store holds no files.",
  frame,
})}
${removes ? deleteDialog(deleteForm("", frame)) : ""}`,
  });
}

function address({ id, vector_store_id }: StoreFile): string {
  return detailAddress("vector_stores/files", { vector_store_id, file_id: id });
}

const COLUMNS: readonly Column<StoreFile>[] = [
  { sort: "filename", title: "Name", cell: (file) => named(file.filename || "(file is gone)", file.id, address(file)) },
  { sort: "status", title: "Status", cell: outcome },
  { sort: "usage_bytes", title: "Size", align: "end", cell: ({ usage_bytes }) => sizeOf(usage_bytes) },
  { sort: "created_at", title: "Added", cell: ({ created_at }) => timeOf(created_at) },
];

const MODES = [
  ["default", "Only from this vector store; the file stays in the backend"],
  ["delete_globally", "From the backend too, and with that from every vector store"],
] as const;

const ACTIONS: Column<StoreFile> = {
  title: "Actions",
  cell: (file) => html`<div class="row-actions">${deleteLink(targetOf(file), address(file), "Remove")}</div>`,
};

function outcome({ status, last_error: error }: StoreFile): Html {
  return html`${statusPill(status)}${error ? html`<br><bdi class="error">${error.message}</bdi>` : ""}`;
}

export function storeFileDetail(file: StoreFile, frame: Frame): Html {
  const removes = may(frame, "operate");
  const form = deleteForm(filesAddress(file.vector_store_id), frame);
  return detailPage({
    kind: "File of a vector store",
    name: file.filename,
    id: file.id,
    facts: [
      ["Status", outcome(file)],
      ["Size", sizeOf(file.usage_bytes)],
      ["Added", timeOf(file.created_at)],
    ],
    actions: removes ? deleteLink(targetOf(file), "", "Remove") : "",
    content: removes ? html`${deleteDialog(form)}${deleteWithoutScripts(form, targetOf(file))}` : "",
    object: file,
    back: ["Files of the vector store", filesAddress(file.vector_store_id)],
    frame,
  });
}

function targetOf({ id, filename, vector_store_id }: StoreFile): DeleteTarget {
  return { name: filename, ids: { vector_store_id, file_id: id }, usedBy: "" };
}

/** Who may not delete the file itself is not asked whether to. */
function deleteForm(then: string, frame: Frame): DeleteForm {
  return {
    noun: "file",
    title: "Remove file?",
    button: "Remove",
    words:
      "is taken out of this vector store. A crawled file of the store's own domain comes back with its next crawl.",
    action: "/v2/inventory/vector_stores/files/delete",
    parameters: ["vector_store_id", "file_id"],
    modes: may(frame, "admin") ? MODES : [],
    then,
  };
}

import { html } from "hono/html";
import type { FileObject } from "../../inventory/inventory.ts";
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

export function filesPage({ data, page, error }: Answer<readonly FileObject[]>, listing: Listing, frame: Frame): Html {
  const deletes = may(frame, "admin");
  return layout({
    frame,
    title: "Files · lockstep",
    modules: INVENTORY_MODULES,
    body: html`<header class="page-head"><p class="lede"><a href="/v2/inventory?format=ui">Inventory</a></p><h1>Files</h1>
<p class="lede">Everything that was uploaded to the backend, and every crawled document.</p></header>
${troubleNotice(error)}
${pagedTable({
  id: "files",
  caption: "Files",
  columns: deletes ? [...COLUMNS, ACTIONS] : COLUMNS,
  rows: data,
  listing,
  page,
  empty: "No files yet: crawl a domain, or upload one over the OpenAI protocol.",
  frame,
})}
${deletes ? deleteDialog(deleteForm("")) : ""}`,
  });
}

const address = ({ id }: FileObject): string => detailAddress("files", { file_id: id });

const COLUMNS: readonly Column<FileObject>[] = [
  { sort: "filename", title: "Name", cell: (file) => named(file.filename, file.id, address(file)) },
  { sort: "purpose", title: "Purpose", cell: ({ purpose }) => purpose },
  { sort: "bytes", title: "Size", align: "end", cell: ({ bytes }) => sizeOf(bytes) },
  { sort: "created_at", title: "Created", cell: ({ created_at }) => timeOf(created_at) },
];

const ACTIONS: Column<FileObject> = {
  title: "Actions",
  cell: (file) => html`<div class="row-actions">${deleteLink(targetOf(file), address(file))}</div>`,
};

export function fileDetail(file: FileObject, frame: Frame): Html {
  const deletes = may(frame, "admin");
  const form = deleteForm(listAddress("files"));
  return detailPage({
    kind: "File",
    name: file.filename,
    id: file.id,
    facts: [
      ["Size", sizeOf(file.bytes)],
      ["Purpose", file.purpose],
      ["Created", timeOf(file.created_at)],
      ...(file.expires_at ? [["Expires", timeOf(file.expires_at)] as const] : []),
    ],
    actions: deletes ? deleteLink(targetOf(file), "") : "",
    content: deletes ? html`${deleteDialog(form)}${deleteWithoutScripts(form, targetOf(file))}` : "",
    object: file,
    back: ["Files", listAddress("files")],
    frame,
  });
}

function targetOf({ id, filename }: FileObject): DeleteTarget {
  return { name: filename, ids: { file_id: id }, usedBy: "" };
}

function deleteForm(then: string): DeleteForm {
  return { noun: "file", action: "/v2/inventory/files/delete", parameters: ["file_id"], then };
}

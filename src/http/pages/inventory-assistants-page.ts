import { html } from "hono/html";
import { storesOf } from "../../inventory/assistants.ts";
import type { Assistant } from "../../inventory/inventory.ts";
import type { Answer } from "../grammar/endpoint.ts";
import type { Listing } from "../grammar/listing.ts";
import { assistantEditor, createAssistantForm, editAssistantButton } from "./inventory-assistant-forms.ts";
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
  timeOf,
  troubleNotice,
} from "./inventory-parts.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { type Column, pagedTable } from "./paged-table.ts";

export function assistantsPage(
  { data, page, ok, error }: Answer<readonly Assistant[]>,
  listing: Listing,
  frame: Frame,
): Html {
  const [changes, deletes] = [may(frame, "operate"), may(frame, "admin")];
  return layout({
    frame,
    title: "Assistants · lockstep",
    modules: INVENTORY_MODULES,
    body: html`<header class="page-head"><p class="lede"><a href="/v2/inventory?format=ui">Inventory</a></p><h1>Assistants</h1>
<p class="lede">Model, instructions and vector store under one name. OpenAI retired them in August 2026; the embedded backend keeps them for older applications.</p></header>
${troubleNotice(error)}
${changes && ok ? createAssistantForm() : ""}
${pagedTable({
  id: "assistants",
  caption: "Assistants",
  columns: changes ? [...COLUMNS, actions({ deletes })] : COLUMNS,
  rows: data,
  listing,
  page,
  empty: "No assistants.",
  frame,
})}
${changes ? assistantEditor() : ""}${deletes ? deleteDialog(deleteForm("")) : ""}`,
  });
}

const address = ({ id }: Assistant): string => detailAddress("assistants", { assistant_id: id });

const COLUMNS: readonly Column<Assistant>[] = [
  { sort: "name", title: "Name", cell: (assistant) => named(assistant.name, assistant.id, address(assistant)) },
  { sort: "model", title: "Model", cell: ({ model }) => html`<bdi>${model}</bdi>` },
  { title: "Vector store", cell: storeLinks },
  { sort: "created_at", title: "Created", cell: ({ created_at }) => timeOf(created_at) },
];

function actions({ deletes }: { readonly deletes: boolean }): Column<Assistant> {
  return {
    title: "Actions",
    cell: (assistant) =>
      html`<div class="row-actions">${editAssistantButton(assistant)}${deletes ? deleteLink(targetOf(assistant), address(assistant)) : ""}</div>`,
  };
}

function storeLinks(assistant: Assistant): Html {
  const ids = storesOf(assistant);
  if (ids.length === 0) return html`<span class="none">–</span>`;
  return html`${ids.map((id) => html`<a class="object-id" href="${detailAddress("vector_stores", { vector_store_id: id })}">${id}</a> `)}`;
}

export function assistantDetail(assistant: Assistant, frame: Frame): Html {
  const [changes, deletes] = [may(frame, "operate"), may(frame, "admin")];
  const form = deleteForm(listAddress("assistants"));
  return detailPage({
    kind: "Assistant",
    name: assistant.name ?? "",
    id: assistant.id,
    facts: [
      ["Model", html`<bdi>${assistant.model}</bdi>`],
      ["Vector store", storeLinks(assistant)],
      ["Created", timeOf(assistant.created_at)],
    ],
    actions: html`${changes ? editAssistantButton(assistant) : ""}${deletes ? deleteLink(targetOf(assistant), "") : ""}`,
    content: html`${changes ? assistantEditor() : ""}${deletes ? html`${deleteDialog(form)}${deleteWithoutScripts(form, targetOf(assistant))}` : ""}`,
    object: assistant,
    back: ["Assistants", listAddress("assistants")],
    frame,
  });
}

function targetOf({ id, name }: Assistant): DeleteTarget {
  return { name: name ?? "", ids: { assistant_id: id }, usedBy: "" };
}

function deleteForm(then: string): DeleteForm {
  return {
    noun: "assistant",
    action: "/v2/inventory/assistants/delete",
    parameters: ["assistant_id"],
    modes: [
      ["default", "Only the assistant"],
      ["with_files", "Its vector store and all files of that store too, also where others use them"],
    ],
    then,
  };
}

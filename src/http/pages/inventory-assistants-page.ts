import { html } from "hono/html";
import { storesOf } from "../../inventory/assistants.ts";
import type { Assistant } from "../../inventory/inventory.ts";
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

function createAssistantForm(): Html {
  return html`<details class="panel inventory-form"><summary>Create an assistant</summary>
<form class="stack" action="/v2/inventory/assistants/create?format=html" method="post" data-send="POST">
${fields("create")}
<div class="form-end"><button class="primary">Create assistant</button><p class="form-error" role="alert" hidden></p></div>
</form></details>`;
}

/** Changing one is a PUT, which forms cannot send: without scripts the button is not there. */
function editAssistantButton(assistant: Assistant): Html {
  const { id, name, model, instructions } = assistant;
  const [store = ""] = storesOf(assistant);
  const values = JSON.stringify({
    assistant_id: id,
    name: name ?? "",
    model,
    instructions: instructions ?? "",
    vector_store_id: store,
  });
  return html`<button class="small" type="button" data-scripted hidden data-opens="edit-dialog" data-values="${values}" aria-haspopup="dialog">Edit<span class="visually-hidden"> ${name || id}</span></button>`;
}

function assistantEditor(): Html {
  return html`<dialog id="edit-dialog" aria-labelledby="edit-title"><h2 id="edit-title">Edit assistant</h2>
<form class="stack" action="/v2/inventory/assistants/update" data-send="PUT">
<input type="hidden" name="assistant_id" data-value="assistant_id">
${fields("edit")}
<div class="form-end"><p class="form-error" role="alert" hidden></p><button type="button" data-closes>Cancel</button><button class="primary">Save</button></div>
</form></dialog>`;
}

function fields(place: "create" | "edit"): Html {
  const id = (name: string): string => `${place}-assistant-${name}`;
  return html`<div class="fields">
<div class="field"><label for="${id("name")}"><span>Name</span></label><input id="${id("name")}" name="name" data-value="name" autocomplete="off"></div>
<div class="field"><label for="${id("model")}"><span>Model</span></label><input id="${id("model")}" name="model" data-value="model" autocomplete="off" required></div>
<div class="field"><label for="${id("store")}"><span>Vector store</span></label><input id="${id("store")}" name="vector_store_id" data-value="vector_store_id" autocomplete="off" spellcheck="false" placeholder="vs_…"></div>
</div>
<div class="field"><label for="${id("instructions")}"><span>Instructions</span></label><textarea id="${id("instructions")}" name="instructions" data-value="instructions" rows="4"></textarea></div>`;
}

import { html } from "hono/html";
import type { ModelResponse } from "../../inventory/inventory.ts";
import type { NotedResponse } from "../../inventory/response-notes.ts";
import type { Answer } from "../routing/endpoint.ts";
import type { Listing } from "../routing/listing.ts";
import {
  type DeleteForm,
  type DeleteTarget,
  deleteDialog,
  deleteLink,
  deleteWithoutScripts,
} from "./inventory-delete-form.ts";
import { detailAddress, detailPage, INVENTORY_MODULES, listAddress, may, timeOf } from "./inventory-parts.ts";
import { statusPill } from "./inventory-stores-page.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { type Column, pagedTable } from "./paged-table.ts";

export function responsesPage({ data, page }: Answer<readonly NotedResponse[]>, listing: Listing, frame: Frame): Html {
  const [asks, deletes] = [may(frame, "read"), may(frame, "admin")];
  return layout({
    frame,
    title: "Responses · lockstep",
    modules: INVENTORY_MODULES,
    body: html`<header class="page-head"><p class="lede"><a href="/v2/inventory?format=ui">Inventory</a></p><h1>Responses</h1>
<p class="lede">Answers of a model that were created through this server. The backend has no list of its own.</p></header>
${asks ? askForm() : ""}
${pagedTable({
  id: "responses",
  caption: "Responses",
  columns: deletes ? [...COLUMNS, ACTIONS] : COLUMNS,
  rows: data,
  listing,
  page,
  empty: "No responses yet.",
  frame,
})}
${deletes ? deleteDialog(deleteForm("")) : ""}`,
  });
}

function askForm(): Html {
  return html`<details class="panel inventory-form"><summary>Ask a question</summary>
<form class="stack" action="/v2/inventory/responses/create?format=html" method="post">
<div class="field"><label for="ask-input"><span>Question</span></label><textarea id="ask-input" name="input" rows="2" required></textarea></div>
<div class="fields">
<div class="field"><label for="ask-stores"><span>Vector stores to search</span></label><input id="ask-stores" name="vector_store_ids" autocomplete="off" spellcheck="false" placeholder="vs_…, vs_…"></div>
<div class="field"><label for="ask-model"><span>Model</span></label><input id="ask-model" name="model" autocomplete="off" aria-describedby="ask-model-hint"><small id="ask-model-hint">Empty: the one of the backend, if it has one</small></div>
</div>
<div class="form-end"><button class="primary">Ask</button></div>
</form></details>`;
}

const address = (id: string): string => detailAddress("responses", { response_id: id });

const COLUMNS: readonly Column<NotedResponse>[] = [
  { sort: "id", title: "Response", cell: ({ id }) => html`<a class="object-id" href="${address(id)}">${id}</a>` },
  { sort: "model", title: "Model", cell: ({ model }) => html`<bdi>${model}</bdi>` },
  { sort: "created_at", title: "Created", cell: ({ created_at }) => timeOf(created_at) },
];

const ACTIONS: Column<NotedResponse> = {
  title: "Actions",
  cell: ({ id }) => html`<div class="row-actions">${deleteLink(targetOf(id), address(id))}</div>`,
};

/** Also of a dry run, which has no id yet. */
export function responseDetail(response: Partial<ModelResponse>, frame: Frame): Html {
  const id = response.id ?? "";
  const deletes = id !== "" && may(frame, "admin");
  const form = deleteForm(listAddress("responses"));
  const text = textOf(response);
  return detailPage({
    kind: "Response",
    name: id === "" ? "Dry run" : "Response",
    id,
    facts: [
      ["Status", statusPill(response.status ?? "not sent")],
      ["Model", html`<bdi>${response.model ?? ""}</bdi>`],
      ["Created", timeOf(response.created_at)],
      ["Conversation", response.conversation?.id ?? "–"],
    ],
    actions: deletes ? deleteLink(targetOf(id), "") : "",
    content: html`${text === "" ? "" : html`<section aria-labelledby="answer"><h2 id="answer">Answer</h2><p class="panel answer-text"><bdi>${text}</bdi></p></section>`}${deletes ? html`${deleteDialog(form)}${deleteWithoutScripts(form, targetOf(id))}` : ""}`,
    object: response,
    back: ["Responses", listAddress("responses")],
    frame,
  });
}

function textOf({ output = [] }: Partial<ModelResponse>): string {
  return output
    .flatMap((item) => (item.type === "message" ? item.content : []))
    .map((part) => (part.type === "output_text" ? part.text : ""))
    .join("\n");
}

function targetOf(id: string): DeleteTarget {
  return { name: id, ids: { response_id: id }, usedBy: "" };
}

function deleteForm(then: string): DeleteForm {
  return {
    noun: "response",
    action: "/v2/inventory/responses/delete",
    parameters: ["response_id"],
    modes: [
      ["default", "Only the response"],
      ["with_conversation", "The stored conversation it belongs to as well"],
    ],
    then,
  };
}

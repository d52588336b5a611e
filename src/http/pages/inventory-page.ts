import { html } from "hono/html";
import { listAddress, type Resource } from "./inventory-parts.ts";
import { type Frame, type Html, layout } from "./layout.ts";

/** How many there are, as far as one look told. */
export interface ResourceCount {
  readonly found: number;
  /** true: at least so many. */
  readonly more: boolean;
  /** Why it is not known; "" when it is. */
  readonly error: string;
}

export interface InventoryCounts {
  readonly files: ResourceCount;
  readonly stores: ResourceCount;
  readonly assistants: ResourceCount;
  readonly responses: ResourceCount;
}

export function inventoryPage({ files, stores, assistants, responses }: InventoryCounts, frame: Frame): Html {
  return layout({
    frame,
    title: "Inventory · lockstep",
    body: html`<header class="page-head"><h1>Inventory</h1>
<p class="lede">What the ${frame.product.backend} backend holds, whoever put it there.</p></header>
<ul class="inventory-cards">
${card("vector_stores", "Vector stores", "Embedded files, ready to be searched. Each domain fills one of its own.", stores)}
${card("files", "Files", "Uploaded files and crawled documents. A file can be in several vector stores.", files)}
${card("assistants", "Assistants", "Model, instructions and vector store under one name. Kept for older applications.", assistants)}
${card("responses", "Responses", "Answers of a model that were created through this server.", responses)}
</ul>`,
  });
}

function card(resource: Resource, title: string, words: string, { found, more, error }: ResourceCount): Html {
  return html`<li class="panel inventory-card">
<h2><a href="${listAddress(resource)}">${title}</a></h2>
${error === "" ? html`<p class="inventory-count">${found}${more ? "+" : ""}</p>` : html`<p class="notice warn">${error}</p>`}
<p class="quiet">${words}</p></li>`;
}

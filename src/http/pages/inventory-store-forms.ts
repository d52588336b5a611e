import { html } from "hono/html";
import type { VectorStore } from "../../inventory/inventory.ts";
import type { Html } from "./layout.ts";

export function createStoreForm(): Html {
  return html`<details class="panel inventory-form"><summary>Create a vector store</summary>
<form class="stack" action="/v2/inventory/vector_stores/create?format=html" method="post" data-send="POST">
${fields("create")}
<div class="form-end"><button class="primary">Create vector store</button><p class="form-error" role="alert" hidden></p></div>
</form></details>`;
}

/** Changing one is a PUT, which forms cannot send: without scripts the button is not there. */
export function editStoreButton({ id, name, metadata, expires_after }: VectorStore): Html {
  const values = JSON.stringify({
    vector_store_id: id,
    name: name ?? "",
    metadata: metadata && Object.keys(metadata).length > 0 ? JSON.stringify(metadata) : "",
    expires_after_days: expires_after ? String(expires_after.days) : "",
  });
  return html`<button class="small" type="button" data-scripted hidden data-opens="edit-dialog" data-values="${values}" aria-haspopup="dialog">Edit<span class="visually-hidden"> ${name || id}</span></button>`;
}

export function editStoreDialog(): Html {
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
export function replicateForm(): Html {
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

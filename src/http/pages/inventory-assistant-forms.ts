import { html } from "hono/html";
import { storesOf } from "../../inventory/assistants.ts";
import type { Assistant } from "../../inventory/inventory.ts";
import type { Html } from "./layout.ts";

export function createAssistantForm(): Html {
  return html`<details class="panel inventory-form"><summary>Create an assistant</summary>
<form class="stack" action="/v2/inventory/assistants/create?format=html" method="post" data-send="POST">
${fields("create")}
<div class="form-end"><button class="primary">Create assistant</button><p class="form-error" role="alert" hidden></p></div>
</form></details>`;
}

/** Changing one is a PUT, which forms cannot send: without scripts the button is not there. */
export function editAssistantButton(assistant: Assistant): Html {
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

export function assistantEditor(): Html {
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

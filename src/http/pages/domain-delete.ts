import { html } from "hono/html";
import type { Domain } from "../../contracts/domain.ts";
import type { Html } from "./layout.ts";

/** Two steps, with and without scripts; the second says what goes and what stays. */
export function domainDelete({ domainId, name, vectorStoreId }: Domain): Html {
  return html`<details class="panel"><summary>Delete this domain</summary>
<form class="stack" id="delete" action="/v2/domains/delete" method="get" data-delete="/v2/domains?format=ui">
<input type="hidden" name="domain_id" value="${domainId}"><input type="hidden" name="format" value="html">
<div class="notice warn"><p>Deletes <strong><bdi>${name}</bdi></strong> (<code>${domainId}</code>) with its mirrored files, map files and metadata. SharePoint, older jobs and reports stay as they are.</p></div>
${
  vectorStoreId
    ? html`<label class="check"><input type="checkbox" name="mode" value="with_vector_store"><span>Delete its vector store <code>${vectorStoreId}</code>, too: nobody can search it any more. Unticked, the store stays: it can still be searched, but nothing keeps it in step with its sources any more</span></label>`
    : ""
}
<div class="form-end"><button class="danger">Delete ${name}</button><p class="form-error" role="alert" hidden></p></div>
</form></details>`;
}

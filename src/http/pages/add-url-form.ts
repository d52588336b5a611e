import { html } from "hono/html";
import type { Domain } from "../../contracts/domain.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { Html } from "./layout.ts";

/** Its module shows, while somebody types, under what the address will be known; nothing is fetched for that. */
export function addUrlForm(
  domains: readonly Domain[],
  defaultDomain: DomainId,
  { open }: { readonly open: boolean },
): Html {
  const others = domains.filter(({ domainId }) => domainId !== defaultDomain);
  return html`<details class="panel" ${open ? "open" : ""}><summary><h2>Add an address</h2></summary>
<form class="stack" action="/v2/ingest/items/create?format=html" method="post" data-add-url>
<div class="field"><label><span>Address</span><input type="url" name="url" required maxlength="2000" placeholder="https://docs.example.com/guide" autocomplete="off" spellcheck="false" aria-describedby="add-preview"></label>
<small id="add-preview" data-part="preview" role="status">A page, a PDF, a Markdown file: whatever an address answers with.</small></div>
<div class="fields">
<div class="field"><label><span>Title</span><input type="text" name="title" maxlength="500" autocomplete="off" aria-describedby="add-title-hint"></label><small id="add-title-hint">Empty: what the page calls itself.</small></div>
<div class="field"><label><span>Domain</span><select name="domain_id" aria-describedby="add-domain-hint"><option value="${defaultDomain}">${nameOf(domains, defaultDomain)}</option>${others.map(({ domainId, name }) => html`<option value="${domainId}">${name || domainId}</option>`)}</select></label><small id="add-domain-hint">Where it is searched.</small></div>
</div>
<div class="checks"><label class="check"><input type="checkbox" name="include_images" value="true"><span>Keep its pictures, too</span></label></div>
<div class="form-end"><button class="primary">Add</button><p class="form-error" role="alert" hidden></p></div>
</form></details>`;
}

function nameOf(domains: readonly Domain[], id: DomainId): string {
  const known = domains.find(({ domainId }) => domainId === id);
  return known ? known.name || id : `${id} (created with the first address)`;
}

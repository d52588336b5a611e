import { html } from "hono/html";
import type { Product } from "./home-page.ts";
import type { Html } from "./layout.ts";

const SOURCES_EXAMPLE = JSON.stringify({
  file_sources: [
    {
      source_id: "documents",
      site_url: "https://example.sharepoint.com/sites/demo",
      sharepoint_url_part: "/Shared Documents",
      filter: "",
    },
  ],
});

/** With the module, the source is two plain fields; without it, the JSON that the endpoint takes. */
export function createForm({ origin }: Product): Html {
  return html`<form class="create-form" action="/v2/domains/create?format=html" method="post" data-create>
<div class="fields">
${field("domain_id", "Domain id", "Letters, digits, _ and -; becomes a folder name", { pattern: "[A-Za-z0-9_\\-]{1,64}", placeholder: "HANDBOOK" })}
${field("name", "Name", "What people call it", { placeholder: "Employee handbook" })}
${field("description", "Description", "What it holds, in a sentence", { placeholder: "Travel, expenses, leave", optional: true })}
</div>
<fieldset class="fields" data-source hidden>
<legend>SharePoint library</legend>
<label class="field"><span>Site address</span><input type="url" data-field="site_url" placeholder="https://example.sharepoint.com/sites/demo"></label>
<label class="field"><span>Library, or a folder in it</span><input type="text" data-field="sharepoint_url_part" placeholder="/Shared Documents"></label>
</fieldset>
<noscript><label class="field"><span>Sources, as JSON</span><textarea name="sources_json" rows="4" spellcheck="false">${SOURCES_EXAMPLE}</textarea></label></noscript>
<div class="form-end"><button class="primary">Create domain</button><p class="form-error" role="alert" hidden></p></div>
</form>
<details class="curl"><summary>The same from a terminal</summary>
<pre tabindex="0"><code>${curl(origin)}</code></pre></details>`;
}

function field(
  name: string,
  label: string,
  hint: string,
  input: { readonly pattern?: string; readonly placeholder: string; readonly optional?: true },
): Html {
  const id = `create-${name}`;
  return html`<div class="field"><label for="${id}"><span>${label}</span></label><input id="${id}" type="text" name="${name}" aria-describedby="${id}-hint" ${input.optional ? "" : "required"} placeholder="${input.placeholder}" ${input.pattern ? html`pattern="${input.pattern}"` : ""} autocomplete="off"><small id="${id}-hint">${hint}</small></div>`;
}

function curl(origin: string): string {
  const body = {
    domain_id: "HANDBOOK",
    name: "Employee handbook",
    description: "Travel, expenses, leave",
    ...(JSON.parse(SOURCES_EXAMPLE) as object),
  };
  return [
    `curl '${origin}/v2/domains/create' -H 'content-type: application/json' -d '${JSON.stringify(body, null, 2)}'`,
    `curl -N '${origin}/v2/crawler/crawl?domain_id=HANDBOOK&mode=incremental&format=stream'`,
  ].join("\n\n");
}

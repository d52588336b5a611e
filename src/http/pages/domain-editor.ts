import { html } from "hono/html";
import type { Domain } from "../../contracts/domain.ts";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import type { Html } from "./layout.ts";
import { shownTime } from "./shown-time.ts";
import { sourceEditor } from "./source-editor.ts";

/** The domain to change and when it is crawled next ("" for never); nothing: a new one. */
export interface Edited {
  readonly domain: Domain;
  readonly nextRunAt: string;
}

/** With its module, sources are rows that are checked while they are typed; without it, the JSON that the endpoint takes. */
export function domainEditor(kinds: SourceKinds, edited?: Edited): Html {
  const domain = edited?.domain;
  const id = domain?.domainId ?? "";
  return html`<form class="domain-editor stack" action="/v2/domains/create?format=html" method="post" data-domain-editor="${id}">
<div class="fields">
${field("name", "Name", "What people call it.", { value: domain?.name, required: true, placeholder: "Employee handbook" })}
${field("domain_id", "Domain id", domain ? RENAME_HINT : "Letters, digits, _ and -; becomes a folder name.", { value: id, required: true, placeholder: "HANDBOOK", pattern: "[A-Za-z0-9_\\-]{1,64}" })}
${field("description", "Description", "What it holds, in a sentence.", { value: domain?.description, placeholder: "Travel, expenses, leave" })}
${scheduleField(edited)}
</div>
<details><summary>Vector store</summary><div class="fields">
${field("vector_store_name", "Name of the vector store", "The next crawl creates it under this name when there is none; empty: the domain id.", { value: domain?.vectorStoreName })}
${field("vector_store_id", "Id of the vector store", "An existing one to fill. Empty: the next crawl creates one and embeds everything again.", { value: domain?.vectorStoreId })}
</div></details>
${sourceEditor(domain?.sources ?? [], kinds)}
${domain ? html`<noscript><p class="notice warn">Changing a domain needs scripts here, or <code>PUT /v2/domains/update</code>.</p></noscript>` : withoutScript()}
<div class="form-end"><button class="primary" ${domain ? html`data-scripted hidden` : ""}>${domain ? "Save" : "Create domain"}</button><p class="form-error" role="alert" hidden></p></div>
</form>`;
}

const RENAME_HINT =
  "Another id renames the domain: files, maps and metadata move along, nothing is downloaded or embedded again. Older jobs and reports keep the old id.";

interface Input {
  readonly value?: string | undefined;
  readonly placeholder?: string;
  readonly pattern?: string;
  readonly required?: true;
}

function field(name: string, label: string, hint: string, input: Input): Html {
  return html`<div class="field"><label><span>${label}</span><input type="text" name="${name}" value="${input.value ?? ""}" placeholder="${input.placeholder ?? ""}" ${input.required ? "required" : ""} ${input.pattern ? html`pattern="${input.pattern}"` : ""} autocomplete="off" spellcheck="false" aria-describedby="${name}-hint"></label><small id="${name}-hint">${hint}</small></div>`;
}

const SCHEDULES: readonly (readonly [cron: string, words: string])[] = [
  ["0 * * * *", "every hour"],
  ["0 2 * * *", "every night at 2:00"],
  ["0 6 * * 1-5", "on weekdays at 6:00"],
  ["0 3 * * 0", "on Sundays at 3:00"],
];

/** The preview is what the server makes of it, not a second reading of the expression here. */
function scheduleField(edited: Edited | undefined): Html {
  const next = edited?.nextRunAt ?? "";
  return html`<div class="field"><label><span>Crawl by itself</span><input type="text" name="schedule" value="${edited?.domain.schedule ?? ""}" list="schedules" placeholder="0 2 * * *" autocomplete="off" spellcheck="false" aria-describedby="schedule-hint schedule-preview"></label>
<datalist id="schedules">${SCHEDULES.map(([cron, words]) => html`<option value="${cron}">${words}</option>`)}</datalist>
<small id="schedule-hint">Minute, hour, day, month, weekday (cron, UTC); empty: only when somebody starts it.</small>
<small id="schedule-preview" data-part="schedule" role="status">${next ? html`Next: ${shownTime(next)}` : ""}</small></div>`;
}

/** As the endpoint takes them. */
export const EXAMPLE_SOURCES = {
  file_sources: [
    {
      source_id: "documents",
      site_url: "https://example.sharepoint.com/sites/demo",
      sharepoint_url_part: "/Shared Documents",
      filter: "",
    },
  ],
};

function withoutScript(): Html {
  return html`<noscript><label class="field"><span>Sources, as JSON</span><textarea name="sources_json" rows="4" spellcheck="false">${JSON.stringify(EXAMPLE_SOURCES)}</textarea></label></noscript>`;
}

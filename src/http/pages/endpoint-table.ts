import { html } from "hono/html";
import { firstSentence } from "../grammar/describe-endpoint.ts";
import type { Endpoint } from "../grammar/endpoint.ts";
import type { Html } from "./layout.ts";

/** All there is to ask for, each path linked to its own documentation. */
export function endpointTable(endpoints: readonly Endpoint[]): Html {
  return html`<div class="scroll-x" tabindex="0" role="region" aria-label="Endpoints"><table class="endpoints">
<caption class="visually-hidden">Endpoints</caption>
<thead><tr><th scope="col">Method</th><th scope="col">Path</th><th scope="col">Formats</th><th scope="col">What it does</th><th scope="col">What it changes</th><th scope="col">Role</th></tr></thead>
<tbody>${endpoints.map(row)}</tbody>
</table></div>`;
}

function row({ methods, path, formats, description, changes, role }: Endpoint): Html {
  return html`<tr>
<td>${methods.join(", ")}</td>
<th scope="row"><a href="${path}"><code>${path}</code></a></th>
<td>${formats.join(", ")}</td>
<td>${firstSentence(description)}</td>
<td>${changes === null ? html`<span class="none">–</span>` : changes}</td>
<td>${role}</td>
</tr>`;
}

import { html } from "hono/html";
import { ROLES } from "../../contracts/access.ts";
import type { ShownKey } from "../endpoints/key-endpoints.ts";
import type { Answer } from "../routing/endpoint.ts";
import type { Listing } from "../routing/listing.ts";
import { shownTime } from "./display.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { pagedTable } from "./paged-table.ts";

const MEANINGS: Readonly<Record<(typeof ROLES)[number], string>> = {
  read: "search and look at everything",
  operate: "also crawl, control jobs and upload",
  admin: "also change and delete domains, manage keys, read the audit log",
};

export function keysPage({ data, page }: Answer<readonly ShownKey[]>, listing: Listing, frame: Frame): Html {
  return layout({
    frame,
    title: "Keys · lockstep",
    modules: ["keys.js"],
    body: html`<header class="page-head"><h1>API keys</h1>
<p class="lede">Programs send a key as <code>Authorization: Bearer …</code>; people sign in with it. Everyone who may query sees everything that was crawled.</p></header>
${pagedTable<ShownKey>({
  id: "keys",
  caption: "API keys",
  columns: [
    { title: "Name", sort: "name", cell: ({ name }) => html`<bdi>${name}</bdi>` },
    { title: "Role", sort: "role", cell: ({ role }) => role },
    { title: "Made", sort: "created_utc", cell: ({ created_utc }) => shownTime(created_utc) },
    { title: "Expires", sort: "expires_utc", cell: ({ expires_utc }) => expiry(expires_utc) },
    { title: "Actions", cell: removeButton },
  ],
  rows: data,
  listing,
  page,
  empty:
    listing.filter === ""
      ? "There is no key yet. From the first one on, everybody has to bring one."
      : "Nothing matches the filter.",
  frame,
})}
${createKeyForm()}`,
  });
}

function expiry(instant: string): Html {
  if (instant === "") return html`never`;
  return Date.parse(instant) <= Date.now() ? html`<strong>expired</strong> ${shownTime(instant)}` : shownTime(instant);
}

function removeButton({ key_id, name }: ShownKey): Html {
  return html`<form class="inline" data-remove-key="${name}" action="/v2/keys/delete" method="get"><input type="hidden" name="key_id" value="${key_id}"><input type="hidden" name="format" value="json"><button class="small">Remove<span class="visually-hidden"> ${name}</span></button></form>`;
}

function createKeyForm(): Html {
  return html`<section class="panel stack">
<h2>New key</h2>
<form class="stack" data-create-key action="/v2/keys/create" method="post">
<div class="fields">
<div class="field"><label for="key-name"><span>Name</span></label><input id="key-name" name="name" required maxlength="64" autocomplete="off" aria-describedby="key-name-hint"><small id="key-name-hint">Who or what it is for</small></div>
<div class="field"><label for="key-role"><span>Role</span></label><select id="key-role" name="role">${ROLES.map((role) => html`<option value="${role}">${role}: ${MEANINGS[role]}</option>`)}</select></div>
<div class="field"><label for="key-expires"><span>Expires</span></label><input id="key-expires" type="date" name="expires" aria-describedby="key-expires-hint"><small id="key-expires-hint">Empty: never</small></div>
</div>
<div class="form-end"><button class="primary">Make key</button><p class="form-error" role="alert" hidden></p></div>
</form>
<div class="stack" role="status" data-new-key hidden><p><strong>Copy the key now.</strong> It cannot be shown again.</p><pre tabindex="0"><code></code></pre><p><a href="/v2/keys?format=ui">Done</a></p></div>
</section>`;
}

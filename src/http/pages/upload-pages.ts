import { html } from "hono/html";
import { readingAddress } from "../../app/openable-url.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import { sayBytes } from "../../lib/text.ts";
import { shownName, shownTime } from "./display.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";

const PATH = "/v2/domains/uploads";

/** As the endpoints answer. */
export interface UploadsShown {
  readonly domain_id: string;
  readonly max_bytes: number;
  readonly types: readonly string[];
  readonly summary: string;
  readonly files: readonly {
    readonly path: string;
    readonly bytes: number;
    readonly uploaded_utc: string;
    readonly state: "searchable" | "waiting" | "failed";
    readonly reason: string;
    readonly source_id: string;
    /** "" as long as readers find nothing of it. */
    readonly item_id: string;
  }[];
  /** What this request stored. */
  readonly stored?: readonly { readonly path: string; readonly is_new: boolean; readonly bytes: number }[];
}

export function uploadsAddress(domainId: string): string {
  return `${PATH}?domain_id=${domainId}&format=html`;
}

const TONES = { searchable: "good", waiting: "busy", failed: "bad" } as const;

/** Renders the uploaded files of a domain, and where to drop more. Without scripts, a form takes files of one folder. */
export function uploadsPage(data: UploadsShown, error: string, domainId: string, frame: Frame): Html {
  const mayUpload = mayChange(frame, "operate");
  return layout({
    frame,
    title: `Uploaded to ${domainId} · lockstep`,
    modules: mayUpload ? ["upload.js"] : [],
    body: html`<header class="page-head"><h1>Uploaded files</h1><p class="quiet">in <a href="/v2/domains/get?domain_id=${domainId}&amp;format=html"><code>${domainId}</code></a></p>
<p class="lede">Files that are uploaded here are kept by lockstep itself, and are searchable in seconds. One of the same name is a new version of it.</p></header>
${error ? html`<p class="notice bad" role="alert"><bdi>${shownName(error)}</bdi></p>` : ""}
${data.stored?.some(({ bytes }) => bytes > 0) ? html`<p class="notice good" role="status">${data.stored.filter(({ bytes }) => bytes > 0).length} uploaded.</p>` : ""}
${mayUpload ? dropZone(data, domainId) : ""}
<section id="uploaded" data-refresh aria-labelledby="uploaded-title"><h2 id="uploaded-title">${data.summary}</h2>${data.files.length === 0 ? html`<p class="empty">Nothing was uploaded yet.</p>` : fileTable(data, domainId, mayUpload)}</section>`,
  });
}

function dropZone({ max_bytes, types }: UploadsShown, domainId: string): Html {
  return html`<form class="panel stack" action="${PATH}/put?domain_id=${domainId}&amp;format=html" method="post" enctype="multipart/form-data" data-upload="${PATH}/put?domain_id=${domainId}" data-bring-in="/v2/crawler/crawl?domain_id=${domainId}&amp;mode=incremental&amp;scope=folders&amp;source_id=uploads&amp;format=json" data-max="${max_bytes}" data-types="${types.join(" ")}" aria-labelledby="drop-title">
<h2 id="drop-title">Upload</h2>
<div class="drop" data-part="drop"><label class="field"><span>Files</span><input type="file" name="file" multiple required></label>
<label class="field" data-scripted hidden><span>or a whole folder</span><input type="file" data-part="folder" webkitdirectory></label>
<p class="quiet" data-scripted hidden>or drop files and folders here</p></div>
<details class="quiet"><summary>Up to ${sayBytes(max_bytes)} each, of these types</summary>${types.join(", ")}</details>
<div class="form-end"><button class="primary">Upload</button><p class="form-error" role="alert" hidden></p></div>
<ul class="uploading" data-part="list" aria-live="polite" hidden></ul>
</form>`;
}

function fileTable({ files }: UploadsShown, domainId: string, mayRemove: boolean): Html {
  return html`<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="Uploaded files"><table class="rows">
<thead><tr><th scope="col">File</th><th scope="col">State</th><th scope="col" class="end">Size</th><th scope="col">Uploaded</th><th scope="col">Actions</th></tr></thead>
<tbody>${files.map(
    ({ path, bytes, uploaded_utc, state, reason, source_id, item_id }) =>
      html`<tr><th scope="row"><bdi>${shownName(path)}</bdi></th><td data-label="State"><div><span class="pill ${TONES[state]}">${state}</span>${reason ? html`<p class="outcome"><bdi>${shownName(reason)}</bdi></p>` : ""}</div></td><td class="end" data-label="Size"><div>${sayBytes(bytes)}</div></td><td data-label="Uploaded"><div>${shownTime(uploaded_utc)}</div></td>
<td data-label="Actions"><div class="row-actions">${item_id ? html`<a class="button small" href="${readingAddress({ domainId: domainId as DomainId, sourceId: source_id, itemId: item_id as ItemId })}">View<span class="visually-hidden"> ${shownName(path)}</span></a>` : ""}${mayRemove ? html`<details class="inline"><summary class="button small">Remove<span class="visually-hidden"> ${shownName(path)}</span></summary><form class="notice warn" action="${PATH}/remove?${new URLSearchParams({ domain_id: domainId, path, format: "html" })}" method="post"><p>It leaves search, and lockstep has it no longer.</p><div><button class="danger small">Remove</button></div></form></details>` : ""}</div></td></tr>`,
  )}</tbody></table></div>`;
}

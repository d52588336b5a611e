import { html } from "hono/html";
import { plural } from "../../lib/plural.ts";
import { sayBytes } from "../../lib/say-bytes.ts";
import type { DocumentViewJson } from "../endpoints/document-codec.ts";
import {
  documentAddress,
  documentsAddress,
  FILE_WORDS,
  fileNameOf,
  lineageTone,
  sayLineage,
} from "./document-words.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { shownName } from "./shown-name.ts";
import { shownTime } from "./shown-time.ts";

/** One file of a folder or the like: how it stands, what it said before, and where it came from. */
export function documentPage(document: DocumentViewJson, domainId: string, frame: Frame): Html {
  const { tone, word, meaning } = FILE_WORDS[document.status];
  return layout({
    frame,
    title: `${fileNameOf(document.path)} · lockstep`,
    body: html`<header class="page-head"><h1><bdi>${fileNameOf(document.path)}</bdi></h1>
<div class="actions">${document.current_version ? html`<a class="button small" href="${documentAddress("version", document, domainId)}">Read its text</a>` : ""}</div>
<p class="quiet"><bdi>${shownName(document.path)}</bdi> in <code>${document.source_id}</code> of <a href="${documentsAddress(domainId)}">${domainId}</a> · <code>${document.doc_id}</code></p></header>
<section class="panel stack" aria-label="How it stands">
<p><span class="pill ${tone}">${word}</span> ${meaning}</p>
${document.error ? html`<p class="notice bad"><bdi>${shownName(document.error)}</bdi></p>` : ""}
${document.text_error ? html`<p class="notice warn">Its content cannot be read as a document: <bdi>${shownName(document.text_error)}</bdi></p>` : ""}
<dl class="figures">${figures(document)}</dl></section>
<section class="stack" aria-labelledby="versions-title"><h2 id="versions-title">Versions</h2>${versionTable(document, domainId)}</section>
<section class="panel stack" aria-labelledby="history-title"><h2 id="history-title">History</h2>${timeline(document)}</section>
<p><a href="${documentsAddress(domainId)}">All documents</a></p>`,
  });
}

function figures(document: DocumentViewJson): Html[] {
  const { title, language, word_count, size, modified_time, last_seen, missing_since, missing_runs, deleted_at } =
    document;
  const shown: readonly (readonly [string, Html | ""])[] = [
    ["Title", title && html`<bdi>${shownName(title)}</bdi>`],
    ["Last seen", last_seen && shownTime(last_seen)],
    ["Missing", missing_since && html`since ${shownTime(missing_since)}, in ${plural(missing_runs, "complete look")}`],
    ["Deleted", deleted_at && shownTime(deleted_at)],
    ["Changed at the source", modified_time && shownTime(modified_time)],
    ["Size", html`${sayBytes(size)}`],
    ["Words", word_count > 0 ? html`${word_count.toLocaleString("en")}` : ""],
    ["Language", language && html`<code>${language}</code>`],
  ];
  return shown.flatMap(([name, value]) => (value === "" ? [] : [html`<div><dt>${name}</dt><dd>${value}</dd></div>`]));
}

/** Newest first. One whose content could not be read has no text to open. */
function versionTable(document: DocumentViewJson, domainId: string): Html {
  const { versions, text_error } = document;
  if (versions.length === 0) return html`<p class="quiet">No text is kept of it.</p>`;
  const rows = versions.map(({ version_id, date, hash }, at) => {
    const isCurrent = at === versions.length - 1;
    const before = versions[at - 1];
    const isRead = !(isCurrent && text_error);
    return html`<tr><th scope="row"><code>${version_id}</code>${isCurrent ? html` <span class="pill ${isRead ? "good" : "warn"}">current</span>` : ""}</th><td data-label="Kept"><div>${shownTime(date)}</div></td><td data-label="Content"><div><code title="${hash}">${hash.slice(0, 12)}</code></div></td>
<td data-label="Actions"><div class="row-actions">${
      isRead
        ? html`<a class="button small" href="${documentAddress("version", document, domainId, { version_id })}">Read<span class="visually-hidden"> version ${version_id}</span></a>${before ? html`<a class="button small" href="${documentAddress("difference", document, domainId, { from: before.version_id, to: version_id })}">What changed<span class="visually-hidden"> in version ${version_id}</span></a>` : ""}`
        : html`<span class="none">no text</span>`
    }</div></td></tr>`;
  });
  return html`<div class="panel flush scroll-x as-cards" tabindex="0" role="region" aria-label="Versions"><table class="rows">
<thead><tr><th scope="col">Version</th><th scope="col">Kept</th><th scope="col">Content</th><th scope="col">Actions</th></tr></thead>
<tbody>${rows.reverse()}</tbody></table></div>`;
}

/** Newest first. */
function timeline({ lineage }: DocumentViewJson): Html {
  if (lineage.length === 0) return html`<p class="quiet">Nothing has happened to it yet.</p>`;
  return html`<ol class="timeline">${lineage
    .toReversed()
    .map(
      (event) =>
        html`<li class="${lineageTone(event)}"><p><strong>${sayLineage(event)}</strong> <span class="quiet">${shownTime(event.date)}</span></p></li>`,
    )}</ol>`;
}

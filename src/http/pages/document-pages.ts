import { html } from "hono/html";
import type { Domain } from "../../contracts/domain.ts";
import { FILE_STATUSES, type FileStatus } from "../../contracts/manifest.ts";
import { MOST_SORTED } from "../../engine/documents.ts";
import { plural, sayBytes } from "../../lib/text.ts";
import type {
  DifferenceJson,
  DocumentJson,
  DocumentViewJson,
  SectionJson,
  VersionJson,
} from "../endpoints/document-codec.ts";
import type { DocumentsQuery, SectionsQuery } from "../endpoints/document-endpoints.ts";
import type { Answer } from "../routing/endpoint.ts";
import { shownName, shownTime } from "./display.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";
import { addressWith, type Column, pagedTable, pager } from "./paged-table.ts";

/** Renders `/v2/documents?format=html`: the files of a domain's folders and containers, and their states. */
export function documentsPage(
  { data, page }: Answer<readonly DocumentJson[]>,
  args: DocumentsQuery,
  domain: Domain,
  frame: Frame,
): Html {
  const { domainId } = domain;
  const sources = domain.sources.filter(({ kind }) => !kind.abilities.hasIds);
  return layout({
    frame,
    title: `Documents of ${domainId} · lockstep`,
    body: html`<header class="page-head"><h1>Documents</h1><p class="quiet">of ${mayChange(frame, "operate") ? html`<a href="/v2/domains/get?domain_id=${domainId}&amp;format=html"><code>${domainId}</code></a>` : html`<code>${domainId}</code>`}</p>
<p class="lede">The files of its folders and the like. Each has an identity that follows it when it is renamed, moved or edited, and keeps its earlier versions. ${sayOrder(sources.length)}</p></header>
${
  sources.length === 0
    ? html`<div class="empty"><strong>This domain has no folder or container.</strong><p>Only files of folders and the like are followed here: items of other sources have ids of their own.</p></div>`
    : pagedTable({
        id: "documents",
        caption: "Documents",
        columns: columnsFor(domainId, sources.length > 1),
        rows: data,
        listing: { ...args, sort: undefined },
        page,
        empty: args.status ? "Nothing of that kind." : "Nothing is known yet: crawl it first.",
        frame,
        filters: html`${statusChoice(args)}${sources.length > 1 ? sourceChoice(sources, args) : ""}`,
        filterParameters: ["status", "source_id"],
      })
}`,
  });
}

function sayOrder(sourceCount: number): string {
  const each = sourceCount > 1 ? "Source by source, sorted" : "Sorted";
  return `${each} by path, up to ${MOST_SORTED.toLocaleString("en")} files; beyond that in no particular order.`;
}

function columnsFor(domainId: string, showSource: boolean): readonly Column<DocumentJson>[] {
  return [
    {
      title: "Document",
      cell: (document) =>
        html`<a href="${documentAddress("get", document, domainId)}"><bdi>${shownName(document.path)}</bdi></a>`,
    },
    ...(showSource
      ? [{ title: "Source", cell: ({ source_id }: DocumentJson) => html`<code>${source_id}</code>` }]
      : []),
    { title: "State", cell: stateCell },
    { title: "Last seen", cell: ({ last_seen }) => timeOrNever(last_seen) },
    { title: "Versions", cell: ({ versions }) => versions.length, align: "end" },
    { title: "What happened last", cell: lastEvent },
  ];
}

function stateCell({ status, error, missing_since }: DocumentJson): Html {
  const { tone, word, meaning } = FILE_WORDS[status];
  const since =
    missing_since && status === "missing" ? html`<div class="outcome">since ${shownTime(missing_since)}</div>` : "";
  return html`<span class="pill ${tone}" title="${meaning}">${word}</span>${since}${error ? html`<div class="outcome error"><bdi>${shownName(error)}</bdi></div>` : ""}`;
}

function lastEvent({ lineage }: DocumentJson): Html {
  const last = lineage.at(-1);
  return last
    ? html`${sayLineage(last)}<br><span class="quiet">${shownTime(last.date)}</span>`
    : html`<span class="none">–</span>`;
}

function timeOrNever(instant: string): Html {
  return instant === "" ? html`<span class="none">never</span>` : shownTime(instant);
}

function statusChoice({ status }: DocumentsQuery): Html {
  return html`<label><span class="visually-hidden">State</span><select id="documents-status" name="status"><option value="">All states</option>${FILE_STATUSES.map((value) => html`<option value="${value}" ${value === status ? "selected" : ""}>${FILE_WORDS[value].word}</option>`)}</select></label>`;
}

function sourceChoice(sources: Domain["sources"], { source_id }: DocumentsQuery): Html {
  return html`<label><span class="visually-hidden">Source</span><select id="documents-source" name="source_id"><option value="">All sources</option>${sources.map(({ sourceId }) => html`<option value="${sourceId}" ${sourceId === source_id ? "selected" : ""}>${sourceId}</option>`)}</select></label>`;
}

/** Renders one file of a folder or container: its state, versions and history. */
export function documentPage(document: DocumentViewJson, domainId: string, frame: Frame): Html {
  const { tone, word, meaning } = FILE_WORDS[document.status];
  return layout({
    frame,
    title: `${fileNameOf(document.path)} · lockstep`,
    body: html`<header class="page-head"><h1><bdi>${fileNameOf(document.path)}</bdi></h1>
<div class="actions">${document.current_version ? html`<a class="button small" href="${documentAddress("version", document, domainId)}">Read its text</a><a class="button small" href="${documentAddress("sections", document, domainId)}">Its sections</a>` : ""}</div>
<p class="quiet"><bdi>${shownName(document.path)}</bdi> in <code>${document.source_id}</code> of <a href="${documentsAddress(domainId)}">${domainId}</a> · <code>${document.doc_id}</code></p></header>
<section class="panel stack" aria-label="How it stands">
<p><span class="pill ${tone}">${word}</span> ${meaning}</p>
${document.error ? html`<p class="notice bad"><bdi>${shownName(document.error)}</bdi></p>` : ""}
${document.text_error ? html`<p class="notice warn">Its content cannot be read as a document: <bdi>${shownName(document.text_error)}</bdi></p>` : ""}
<dl class="figures">${figures(document)}</dl></section>
<section class="stack" aria-labelledby="versions-title"><h2 id="versions-title">Versions</h2>${versionTable(document, domainId)}</section>
<section class="panel stack" aria-labelledby="history-title"><h2 id="history-title">History</h2>${timeline(document)}</section>
${mayChange(frame, "admin") ? forGood(document, domainId) : ""}
<p><a href="${documentsAddress(domainId)}">All documents</a></p>`,
  });
}

/** Holding it, and erasing it: the latter in two steps, the first of which only tells what it would do. */
function forGood({ doc_id, source_id }: DocumentViewJson, domainId: string): Html {
  const which = `domain_id=${domainId}&item_id=${doc_id}&source_id=${source_id}`;
  return html`<section class="panel stack" aria-labelledby="erase-title"><h2 id="erase-title">Erase or hold</h2>
<p class="quiet">Erasing removes it from everything lockstep keeps, also from earlier versions and generations, and blocks it from being crawled again. Nothing changes at its source. A hold refuses that, and purging. <a href="/v2/documents/erased?domain_id=${domainId}&amp;format=html">What was erased and what is held</a></p>
<div class="actions"><form action="/v2/documents/erase?${which}&amp;dry_run=true&amp;format=html" method="post"><button class="small">What would be erased</button></form>
<details class="inline"><summary class="button small">Hold it</summary><form class="notice" action="/v2/documents/hold?${which}&amp;format=html" method="post"><p>It can be neither erased nor purged until the hold is lifted.</p><div><button class="small">Hold this document</button></div></form></details>
<details class="inline"><summary class="button small danger">Erase it</summary><form class="notice warn" action="/v2/documents/erase?${which}&amp;format=html" method="post"><p>There is no way back. Copies with the same content are named in the answer; they stay.</p><div><button class="danger small">Erase this document for good</button></div></form></details></div></section>`;
}

function figures(document: DocumentViewJson): Html[] {
  const { title, language, word_count, size, modified_time, last_seen, missing_since, missing_runs, deleted_at } =
    document;
  const shown: readonly (readonly [string, Html | ""])[] = [
    ["Title", title && html`<bdi>${shownName(title)}</bdi>`],
    ["Last seen", last_seen && shownTime(last_seen)],
    ["Missing", missing_since && html`since ${shownTime(missing_since)}, in ${plural(missing_runs, "complete scan")}`],
    ["Deleted", deleted_at && shownTime(deleted_at)],
    ["Changed at the source", modified_time && shownTime(modified_time)],
    ["Size", html`${sayBytes(size)}`],
    ["Words", word_count > 0 ? html`${word_count.toLocaleString("en")}` : ""],
    ["Language", language && html`<code>${language}</code>`],
  ];
  return shown.flatMap(([name, value]) => (value === "" ? [] : [html`<div><dt>${name}</dt><dd>${value}</dd></div>`]));
}

/** Newest first. A version whose content could not be read has no text to open. */
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
  return html`<div class="panel flush scroll-x as-cards" tabindex="0" role="group" aria-label="Versions"><table class="rows">
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

/** Renders a version's text, escaped: nothing in it is markup. */
export function documentVersionPage(version: VersionJson, domainId: string, frame: Frame): Html {
  const { version_id, path, title, date, text, complete } = version;
  const raw = documentAddress("version", version, domainId, { version_id }).replace("format=html", "format=raw");
  return layout({
    frame,
    title: `${fileNameOf(path)}, ${version_id} · lockstep`,
    body: html`<header class="page-head"><h1><bdi>${shownName(title) || fileNameOf(path)}</bdi></h1>
<div class="actions"><a class="button small" href="${documentAddress("get", version, domainId)}">All versions</a><a class="button small" href="${raw}">Download the text</a></div>
<p class="quiet">Version <code>${version_id}</code> of <bdi>${shownName(path)}</bdi>, kept ${shownTime(date)}</p></header>
${complete ? "" : html`<p class="notice warn">Only the beginning is shown; the download has all of it.</p>`}
<div class="panel scroll-x" tabindex="0" role="group" aria-label="Text"><pre>${shownName(text)}</pre></div>`,
  });
}

/** Renders the difference between two versions of a document. */
export function documentDifferencePage(difference: DifferenceJson, domainId: string, frame: Frame): Html {
  const { path, from, to, hunks, complete } = difference;
  return layout({
    frame,
    title: `${fileNameOf(path)}, ${from} to ${to} · lockstep`,
    body: html`<header class="page-head"><h1><bdi>${fileNameOf(path)}</bdi></h1>
<div class="actions"><a class="button small" href="${documentAddress("get", difference, domainId)}">All versions</a></div>
<p class="quiet">From version <code>${from}</code> to <code>${to}</code></p></header>
${hunks.length === 0 && complete ? html`<p class="notice">The texts are the same.</p>` : ""}
${complete ? "" : html`<p class="notice warn">Only the beginning is shown. The texts of both versions can be read whole.</p>`}
${hunks.map(hunkPanel)}`,
  });
}

type ShownHunk = DifferenceJson["hunks"][number];

function hunkPanel({ from_line, lines }: ShownHunk): Html {
  return html`<div class="panel scroll-x" tabindex="0" role="group" aria-label="From line ${from_line}"><p class="quiet">From line ${from_line}</p><pre class="difference">${lines.map(
    ({ kind, text }) =>
      kind === "same"
        ? html`<span>  ${shownName(text)}</span>\n`
        : kind === "added"
          ? html`<ins>+ ${shownName(text)}</ins>\n`
          : html`<del>- ${shownName(text)}</del>\n`,
  )}</pre></div>`;
}

/** Enough to recognise a section; the address with `format=json` has all of it. */
const SECTION_CHARACTERS = 600;

/** Renders the sections of a document as an outline. */
export function documentSectionsPage(
  { data, page }: Answer<readonly SectionJson[]>,
  { domain_id, document, generation }: SectionsQuery,
  frame: Frame,
): Html {
  const asJson = addressWith(frame, { format: "json" });
  return layout({
    frame,
    title: `Sections of ${fileNameOf(document)} · lockstep`,
    body: html`<header class="page-head"><h1>Sections</h1>
<div class="actions"><a class="button small" href="${asJson}">As JSON</a></div>
<p class="quiet">of <bdi>${shownName(document)}</bdi> in <code>${domain_id}</code>${generation === undefined ? "" : html`, as of generation ${generation}`}, as the index has them</p></header>
${data.length === 0 ? html`<p class="empty">There is no text here.</p>` : html`<ol class="sections">${data.map(sectionItem)}</ol>`}
${pager({ id: "sections", page, rows: data, frame, caption: "Sections" })}`,
  });
}

function sectionItem({ id, heading, level, position, content }: SectionJson): Html {
  const text = content.length > SECTION_CHARACTERS ? `${content.slice(0, SECTION_CHARACTERS)} …` : content;
  return html`<li class="panel" id="section-${position}"><p><strong>${shownName(heading) || (level === 0 ? "Beginning" : "Without a heading")}</strong> <span class="quiet">${level === 0 ? "" : html`level ${level} · `}<code>${id}</code></span></p>
${text === "" ? "" : html`<pre>${shownName(text)}</pre>`}</li>`;
}

/** How pages show each status, and what it means. */
const FILE_WORDS: Readonly<
  Record<FileStatus, { readonly tone: string; readonly word: string; readonly meaning: string }>
> = {
  active: { tone: "good", word: "Active", meaning: "It was found by the last scan." },
  missing: {
    tone: "warn",
    word: "Missing",
    meaning: "It was not found by the last scan: hidden from search, and kept in case it comes back.",
  },
  error: {
    tone: "bad",
    word: "Error",
    meaning: "It could not be read; what is known of it stays, and it is tried again.",
  },
  deleted: {
    tone: "idle",
    word: "Deleted",
    meaning: "It was missing for too long. Its versions stay until maintenance drops it; its file may still return.",
  },
};

type Event = DocumentJson["lineage"][number];

const EVENT_TONES: Readonly<Record<Event["event"], string>> = {
  found: "good",
  copied: "good",
  edited: "idle",
  moved: "idle",
  "moved-and-edited": "idle",
  restored: "good",
  missing: "warn",
  deleted: "warn",
};

function lineageTone({ event }: Event): string {
  return EVENT_TONES[event] ?? "idle";
}

/** Returns "moved and edited, from a/b.md; 83 % sure". */
function sayLineage({ event, from, certainty }: Event): Html {
  const words = event.replaceAll("-", " ");
  const origin = from ? html` from <bdi>${shownName(from)}</bdi>` : "";
  return html`${words}${origin}${certainty < 1 ? html` <span class="quiet">(texts ${Math.floor(certainty * 100)} % alike)</span>` : ""}`;
}

/** Returns the address of a page about one document. */
function documentAddress(
  about: "get" | "version" | "difference" | "sections",
  { doc_id, source_id }: { readonly doc_id: string; readonly source_id: string },
  domainId: string,
  more: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams({ domain_id: domainId, source_id, document: doc_id, ...more, format: "html" });
  return `/v2/documents/${about}?${query}`;
}

function documentsAddress(domainId: string): string {
  return `/v2/documents?${new URLSearchParams({ domain_id: domainId, format: "html" })}`;
}

function fileNameOf(path: string): string {
  return shownName(path.split("/").at(-1) || path);
}

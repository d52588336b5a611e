import { html } from "hono/html";
import type { Domain } from "../../contracts/domain.ts";
import { FILE_STATUSES } from "../../contracts/manifest.ts";
import { MOST_SORTED } from "../../engine/documents.ts";
import type { DocumentJson } from "../endpoints/document-codec.ts";
import type { DocumentWishes } from "../endpoints/document-endpoints.ts";
import type { Answer } from "../routing/endpoint.ts";
import { documentAddress, FILE_WORDS, sayLineage } from "./document-words.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { type Column, pagedTable } from "./paged-table.ts";
import { shownName } from "./shown-name.ts";
import { shownTime } from "./shown-time.ts";

/** `/v2/documents?format=html`: the files of a domain's folders and the like, and how each stands. */
export function documentsPage(
  { data, page }: Answer<readonly DocumentJson[]>,
  args: DocumentWishes,
  domain: Domain,
  frame: Frame,
): Html {
  const { domainId } = domain;
  const sources = domain.sources.filter(({ kind }) => !kind.abilities.hasIds);
  return layout({
    frame,
    title: `Documents of ${domainId} · lockstep`,
    body: html`<header class="page-head"><h1>Documents</h1><p class="quiet">of <a href="/v2/domains/get?domain_id=${domainId}&amp;format=html"><code>${domainId}</code></a></p>
<p class="lede">The files of its folders and the like. Each has an identity that follows it when it is renamed, moved or edited, and keeps its earlier versions. ${sayOrder(sources.length)}</p></header>
${
  sources.length === 0
    ? html`<div class="empty"><strong>This domain has no place full of files.</strong><p>Only files of folders and the like are followed here: items of other sources have ids of their own.</p></div>`
    : pagedTable({
        id: "documents",
        caption: "Documents",
        columns: columnsFor(domainId, sources.length > 1),
        rows: data,
        listing: { ...args, sort: undefined },
        page,
        empty: args.status ? "Nothing of that kind." : "Nothing is known yet: crawl it first.",
        frame,
        wishes: html`${statusChoice(args)}${sources.length > 1 ? sourceChoice(sources, args) : ""}`,
        wished: ["status", "source_id"],
      })
}`,
  });
}

function sayOrder(sourceCount: number): string {
  const each = sourceCount > 1 ? "Source by source, sorted" : "Sorted";
  return `${each} by path, up to ${MOST_SORTED.toLocaleString("en")} files; beyond that in no particular order.`;
}

function columnsFor(domainId: string, tellSource: boolean): readonly Column<DocumentJson>[] {
  return [
    {
      title: "Document",
      cell: (document) =>
        html`<a href="${documentAddress("get", document, domainId)}"><bdi>${shownName(document.path)}</bdi></a>`,
    },
    ...(tellSource
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

function statusChoice({ status }: DocumentWishes): Html {
  return html`<label><span class="visually-hidden">State</span><select id="documents-status" name="status"><option value="">All states</option>${FILE_STATUSES.map((one) => html`<option value="${one}" ${one === status ? "selected" : ""}>${FILE_WORDS[one].word}</option>`)}</select></label>`;
}

function sourceChoice(sources: Domain["sources"], { source_id }: DocumentWishes): Html {
  return html`<label><span class="visually-hidden">Source</span><select id="documents-source" name="source_id"><option value="">All sources</option>${sources.map(({ sourceId }) => html`<option value="${sourceId}" ${sourceId === source_id ? "selected" : ""}>${sourceId}</option>`)}</select></label>`;
}

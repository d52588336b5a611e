import { html } from "hono/html";
import type { QueryAnswer, QuerySource } from "../../engine/query.ts";
import { plural } from "../../lib/plural.ts";
import { fileAddress } from "./file-address.ts";
import type { FoundPage, FoundPages } from "./found-pages.ts";
import { excerptOf, type Marked, showMarked, spansOfWords, withoutMarkup } from "./highlight.ts";
import { imageGallery } from "./image-gallery.ts";
import type { Html } from "./layout.ts";
import { scoreReason } from "./search-reason.ts";
import { shownName } from "./shown-name.ts";
import { shownTime } from "./shown-time.ts";
import { webAddress } from "./web-address.ts";

export interface ResultExtras {
  /** With it, every result leads to the whole way of its document. */
  readonly domainId?: string | undefined;
  readonly pages?: FoundPages;
}

export function searchResults(answer: QueryAnswer, { domainId, pages }: ResultExtras = {}): Html {
  const count = answer.sources.length;
  const notes = (answer.notes ?? []).map((note) => html`<p class="notice warn" role="note">${note}</p>`);
  if (count === 0) {
    return html`${notes}<p class="quiet" role="status">Nothing found for “${answer.query}”. A crawl may not have brought it in yet.</p>`;
  }
  return html`${notes}<p class="quiet" role="status">${plural(count, "passage")} for “${answer.query}”</p>
<ol class="results">${answer.sources.map((source, at) => {
    const page = pages?.get(source.fileId);
    // Several passages of one page come with its pictures once.
    const isFirst = answer.sources.findIndex(({ fileId }) => fileId === source.fileId) === at;
    return result(source, {
      query: answer.query,
      domainId,
      page: page && { ...page, ...(!isFirst && { pictures: [] }) },
    });
  })}</ol>`;
}

interface Shown {
  readonly query: string;
  readonly domainId: string | undefined;
  readonly page: FoundPage | undefined;
}

function result(source: QuerySource, { query, domainId, page }: Shown): Html {
  const passage = passageOf(source, query);
  const excerpt = excerptOf(passage);
  return html`<li class="result">
<h3><bdi>${sourceLink(source, page?.title)}</bdi></h3>
${whereItStands(source, page)}
<p class="passage">${showMarked(excerpt)}</p>
${page && page.pictures.length > 0 ? imageGallery(page.pictures) : ""}
${excerpt.cut ? html`<details><summary>Whole passage</summary><p class="passage">${showMarked(passage)}</p></details>` : ""}
<dl class="facts">
<div><dt>Score</dt><dd>${source.score.toFixed(2)}</dd></div>
${source.details?.page ? html`<div><dt>Page</dt><dd>${source.details.page}</dd></div>` : ""}
${source.modifiedAt ? html`<div><dt>Modified</dt><dd>${shownTime(source.modifiedAt)}</dd></div>` : ""}
</dl>
${alsoIn(source)}
${scoreReason(source, domainId && explainAddress(source, query, domainId))}
</li>`;
}

function explainAddress({ fileId }: QuerySource, query: string, domainId: string): string {
  return `/v2/search/explain?${new URLSearchParams({ domain_id: domainId, query, document: fileId, format: "html" })}`;
}

function passageOf({ text, details }: QuerySource, query: string): Marked {
  const trimmed = text.trimStart();
  const cut = text.length - trimmed.length;
  const marks = details
    ? details.highlights.map(({ start, end }) => ({ start: start - cut, end: end - cut }))
    : spansOfWords(trimmed, query);
  return withoutMarkup({ text: trimmed.trimEnd(), marks });
}

/** The path of the file, or the address of the page, and that of the section in it. */
function whereItStands({ sectionPath, details, name }: QuerySource, page: FoundPage | undefined): Html | "" {
  const folder = details?.path.endsWith(`/${name}`) ? details.path.slice(0, -name.length - 1) : "";
  const parts = [page?.address ?? folder.replaceAll("/", " / "), sectionPath.replaceAll(" > ", " › ")]
    .filter(Boolean)
    .map(shownName);
  return parts.length === 0
    ? ""
    : html`<p class="section-path">${parts.map((part, at) => html`${at > 0 ? " · " : ""}<bdi>${part}</bdi>`)}</p>`;
}

/** Other documents with the same passage, which are not results of their own. */
function alsoIn({ details }: QuerySource): Html | "" {
  const names = details?.alsoIn.map(({ name, path }) => shownName(path.endsWith(`/${name}`) ? path : name)) ?? [];
  if (names.length === 0) return "";
  return html`<p class="quiet">Also in ${names.map((name, at) => html`${at > 0 ? ", " : ""}<bdi>${name}</bdi>`)}</p>`;
}

function sourceLink(source: QuerySource, title: string | undefined): Html {
  const name = shownName(title || source.name || source.fileId);
  const [domainId, sourceId, itemId] = ["domain_id", "source_id", "item_id"].map((name) =>
    String(source.attributes[name] ?? ""),
  );
  // A browser opens neither a file of ours nor, mostly, a blob: that needs a signature.
  const kept = fileAddress("version", { domainId, sourceId, itemId });
  if (kept !== undefined) return html`<a href="${kept}">${name}</a>`;
  const href = webAddress(source.url);
  return href === undefined
    ? html`${name}`
    : html`<a href="${href}" target="_blank" rel="noopener noreferrer">${name}</a>`;
}

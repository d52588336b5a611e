import { html } from "hono/html";
import { fileAddress } from "../../app/openable-url.ts";
import { sayFreshness } from "../../lib/freshness.ts";
import { capital, sayBytes } from "../../lib/text.ts";
import type { ReadJson } from "../endpoints/document-codec.ts";
import { placeBeside, shownName, shownTime, webAddress } from "./display.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { addressWith } from "./paged-table.ts";
import { renderDocument, type ShownHeading } from "./rendered-markdown.ts";

/** Texts of these were made Markdown of; others are shown line by line, as the text of a program. */
const FORMATTED = new Set(
  "md markdown mdx html htm xhtml aspx pdf docx docm pptx pptm xlsx xlsm csv tsv rtf eml msg odt ods odp".split(" "),
);
const MAILS = new Set(["eml", "msg"]);
const KINDS: Readonly<Record<string, string>> = {
  pdf: "PDF",
  docx: "Word document",
  pptx: "Presentation",
  xlsx: "Workbook",
  csv: "Table",
  md: "Markdown",
  html: "Web page",
  htm: "Web page",
  aspx: "Site page",
  eml: "Mail",
  msg: "Mail",
  txt: "Text",
};

/** What people call a type of file; "" for none. */
export function kindOfFile(fileType: string): string {
  return KINDS[fileType] ?? fileType.toUpperCase();
}

/** Renders a document for reading: its text as it was indexed, at the passage, and a PDF as it is. */
export function readingPage(read: ReadJson, frame: Frame): Html {
  const { title, path, name, file_type: fileType, domain_id: domainId, modified_utc, passage, original } = read;
  const isPlain = fileType !== "" && !FORMATTED.has(fileType);
  const { body, headings, isMarked } = renderDocument(read.text, {
    title,
    passage: passage?.text,
    isPart: read.offset > 0,
    isPlain,
    keepsLines: MAILS.has(fileType),
    pageWord: fileType.startsWith("ppt") ? "Slide" : "Page",
  });
  const raw = addressWith(frame, { format: "raw" });
  const history = fileAddress("get", { domainId, sourceId: read.source_id, itemId: read.item_id });
  const href = webAddress(read.url);
  const isPdf = fileType === "pdf" && original !== undefined;
  const parts = partLinks(read, frame);
  const text = html`${parts.above}<article class="reading" lang="${read.language || "und"}" dir="auto">${body}</article>${parts.below}`;
  const facts = [
    [kindOfFile(fileType), original ? sayBytes(original.bytes) : ""].filter(Boolean).join(", "),
    placeBeside(path || name, title) && html`<bdi>${shownName(placeBeside(path || name, title))}</bdi>`,
    modified_utc && html`modified ${shownTime(modified_utc)}`,
    read.is_behind ? "" : sayFreshness({ checkedAt: read.checked_utc, isBehind: false, changedAt: "" }),
  ].filter(Boolean);
  return layout({
    frame,
    title: `${title} · lockstep`,
    modules: isPdf ? ["reading.js"] : [],
    body: html`<header class="page-head"><h1><bdi>${shownName(title)}</bdi></h1>
<div class="actions">${href ? html`<a class="button" href="${href}" target="_blank" rel="noopener noreferrer">Open at the source</a>` : ""}${original ? html`<a class="button" href="${raw}" download>Download<span class="visually-hidden"> the original</span></a>` : ""}${history ? html`<a class="button" href="${history}">Versions</a>` : ""}<a class="button" href="/v2/search?format=ui&amp;domain_id=${domainId}">Search</a></div>
<p class="quiet">${facts.map((fact, at) => html`${at > 0 ? " · " : ""}${fact}`)}</p></header>
${read.is_behind ? html`<p class="notice warn">${sayBehind(read)}</p>` : ""}
${passage && !isMarked ? html`<p class="notice">The passage is not in the text as it is now; the document may have changed since.</p>` : ""}
<div class="reader">${contents(headings, isPdf)}<div class="reader-text">
${
  isPdf
    ? html`<section class="pdf" aria-label="The pages" data-pdf="${raw}" data-page="${passage?.page || 1}" hidden><p class="quiet" data-part="said" role="status">Opening the document …</p></section>
<details class="as-text" open><summary>Its text</summary>${text}</details>`
    : text
}
</div></div>`,
  });
}

function sayBehind({ checked_utc: checkedAt }: ReadJson): string {
  return `${capital(sayFreshness({ checkedAt, isBehind: true, changedAt: "" }))}.`;
}

/** Fewer need no list. */
const FEWEST_HEADINGS = 3;
const MOST_HEADINGS = 200;

/** In a PDF they lead to its pages, where those are shown. */
function contents(headings: readonly ShownHeading[], isPdf: boolean): Html | "" {
  if (headings.length < FEWEST_HEADINGS) return "";
  const top = Math.min(...headings.map(({ level }) => level));
  const links = headings
    .slice(0, MOST_HEADINGS)
    .map(
      ({ id, level, text, page }) =>
        html`<li class="level-${Math.min(level - top, 3)}"><a href="#${id}"${isPdf ? html` data-page="${page}"` : ""}><bdi>${shownName(text)}</bdi></a></li>`,
    );
  return html`<nav class="contents" aria-label="Contents"><details open><summary>Contents</summary><ol>${links}</ol></details></nav>`;
}

/** Renders which part of the text is shown, and links to the others: above the text only to the earlier part. */
function partLinks(
  { offset, total, text }: ReadJson,
  frame: Frame,
): { readonly above: Html | ""; readonly below: Html | "" } {
  const length = [...text].length;
  const end = offset + length;
  if (offset === 0 && end >= total) return { above: "", below: "" };
  const link = (words: string, at: number): Html =>
    html`<a class="button" href="${addressWith(frame, { offset: String(at), passage: "" })}">${words}</a>`;
  const earlier = offset > 0 ? link("Earlier part", Math.max(0, offset - length)) : "";
  const share = (at: number): number => Math.round((100 * at) / total);
  const said = html`<span class="quiet">From ${share(offset)} % to ${share(end)} % of the text</span>`;
  return {
    above: html`<p class="actions">${earlier}${said}</p>`,
    below: html`<nav class="actions" aria-label="Parts of the text">${earlier}${end < total ? link("Next part", end) : ""}${said}</nav>`,
  };
}

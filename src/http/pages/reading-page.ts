import { html } from "hono/html";
import { fileAddress } from "../../app/openable-url.ts";
import { sayFreshness } from "../../lib/freshness.ts";
import { capital, sayBytes } from "../../lib/text.ts";
import type { ReadJson } from "../endpoints/document-codec.ts";
import { shownName, shownTime, webAddress } from "./display.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { addressWith } from "./paged-table.ts";
import { renderDocument, type ShownHeading } from "./rendered-markdown.ts";

/** Texts of these were made Markdown of; others are shown line by line, as the text of a program. */
const FORMATTED = new Set(
  "md markdown mdx html htm xhtml aspx pdf docx docm pptx pptm xlsx xlsm csv tsv rtf eml msg odt ods odp".split(" "),
);
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
  const { body, headings, isMarked } = renderDocument(read.text, { passage: passage?.text, isPlain });
  const raw = addressWith(frame, { format: "raw" });
  const history = fileAddress("get", { domainId, sourceId: read.source_id, itemId: read.item_id });
  const href = webAddress(read.url);
  const isPdf = fileType === "pdf" && original !== undefined;
  const text = html`<article class="reading" lang="${read.language || "und"}">${body}</article>${partLinks(read, frame)}`;
  return layout({
    frame,
    title: `${title} · lockstep`,
    modules: isPdf ? ["reading.js"] : [],
    body: html`<header class="page-head"><h1><bdi>${shownName(title)}</bdi></h1>
<div class="actions">${href ? html`<a class="button" href="${href}" target="_blank" rel="noopener noreferrer">Open at the source</a>` : ""}${original ? html`<a class="button" href="${raw}" download>Download<span class="visually-hidden"> the original</span></a>` : ""}${history ? html`<a class="button" href="${history}">Versions</a>` : ""}<a class="button" href="/v2/search?format=ui&amp;domain_id=${domainId}">Search</a></div>
<p class="quiet">${[kindOfFile(fileType), original ? sayBytes(original.bytes) : ""].filter(Boolean).join(", ")}${fileType ? " · " : ""}<bdi>${shownName((path || name).replaceAll("/", " / "))}</bdi>${modified_utc ? html` · modified ${shownTime(modified_utc)}` : ""}</p></header>
${freshnessNotice(read)}
${passage && !isMarked ? html`<p class="notice">The passage is not in the text as it is now; the document may have changed since.</p>` : ""}
<div class="reader">${contents(headings)}<div class="reader-text">
${
  isPdf
    ? html`<section class="pdf" aria-label="The pages" data-pdf="${raw}" data-page="${passage?.page || 1}" hidden><p class="quiet" data-part="said" role="status">Opening the document …</p></section>
<details class="as-text" open><summary>Its text</summary>${text}</details>`
    : text
}
</div></div>`,
  });
}

function freshnessNotice({ checked_utc: checkedAt, is_behind: isBehind }: ReadJson): Html | "" {
  const said = sayFreshness({ checkedAt, isBehind, changedAt: "" });
  return said && html`<p class="${isBehind ? "notice warn" : "quiet"}">${capital(said)}.</p>`;
}

/** Fewer need no list. */
const FEWEST_HEADINGS = 3;
const MOST_HEADINGS = 200;

function contents(headings: readonly ShownHeading[]): Html | "" {
  if (headings.length < FEWEST_HEADINGS) return "";
  const top = Math.min(...headings.map(({ level }) => level));
  const links = headings
    .slice(0, MOST_HEADINGS)
    .map(
      ({ id, level, text }) =>
        html`<li class="level-${Math.min(level - top, 3)}"><a href="#${id}"><bdi>${shownName(text)}</bdi></a></li>`,
    );
  return html`<nav class="contents" aria-label="Contents"><details open><summary>Contents</summary><ol>${links}</ol></details></nav>`;
}

function partLinks({ offset, total, text }: ReadJson, frame: Frame): Html | "" {
  const length = [...text].length;
  const end = offset + length;
  if (offset === 0 && end >= total) return "";
  const to = (at: number): string => addressWith(frame, { offset: String(at), passage: "" });
  return html`<nav class="actions" aria-label="Parts of the text">${offset > 0 ? html`<a class="button" href="${to(Math.max(0, offset - length))}">Earlier part</a>` : ""}${end < total ? html`<a class="button" href="${to(end)}">Next part</a>` : ""}<span class="quiet">characters ${offset + 1} to ${end} of ${total}</span></nav>`;
}

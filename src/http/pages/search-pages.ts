import { html } from "hono/html";
import type { AnsweredQuery } from "../../app/answers.ts";
import type { App } from "../../app/app.ts";
import { keyOfHit, readingAddress } from "../../app/openable-url.ts";
import type { Domain } from "../../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { Generation } from "../../contracts/search-index.ts";
import type { QueryAnswer, QuerySource } from "../../engine/query.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { sayFreshness, sayWhen } from "../../lib/freshness.ts";
import { plural } from "../../lib/text.ts";
import { imageAddress } from "../endpoints/item-codec.ts";
import { registryView } from "../endpoints/registry-view.ts";
import type { SearchArguments } from "../endpoints/search-endpoints.ts";
import { answerBlock } from "./answer-block.ts";
import { placeBeside, shownName, webAddress } from "./display.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";
import { addressWith } from "./paged-table.ts";
import { type Marked, type Span, withoutMarkup } from "./plain-passage.ts";
import { kindOfFile } from "./reading-page.ts";

interface SearchModel {
  readonly answer: QueryAnswer & Partial<Pick<AnsweredQuery, "considered" | "sentences">>;
  /** The language model that would write the answer; "" for none. */
  readonly writer: string;
  readonly error: string;
  readonly args: SearchArguments;
  readonly choices: SearchChoices;
  readonly pages: FoundPages;
}

const MOST_RESULTS = 50;

export function searchPage(model: SearchModel, frame: Frame): Html {
  const { answer, error, args, choices } = model;
  const hasQuery = args.query.trim() !== "";
  return layout({
    frame,
    title: `${answer.query || "Search"} · lockstep`,
    modules: ["search.js", "answer.js"],
    body: html`<header class="page-head"><h1>Search</h1></header>
${choices.domains.length === 0 ? nothingYet(frame) : html`<section class="panel stack" aria-label="Search">${searchForm(args, choices)}</section>`}
${error ? html`<p class="notice bad" role="alert">${error}</p>` : ""}
${hasQuery && !error ? answerAbove(model, frame) : ""}
${hasQuery && !error ? html`<section class="panel stack" aria-label="Results">${searchResults(answer, { explained: true, pages: model.pages, heading: isUnanswered(answer) ? html`<h2>Closest passages</h2>` : HEADING, domains: choices.chosen ? [] : choices.domains })}${moreLink(model, frame)}</section>` : ""}
${hasQuery && choices.chosen ? missingForm(args.query, choices.chosen.domainId) : ""}`,
  });
}

/** One word names something, and asks nothing. */
function isUnanswered({ sentences = [], query }: SearchModel["answer"]): boolean {
  return sentences.length === 0 && /\S\s+\S/.test(query.trim());
}

function answerAbove({ answer, writer }: SearchModel, frame: Frame): Html | "" {
  const { sentences = [], considered = [], query } = answer;
  if (sentences.length === 0 && !isUnanswered(answer)) return "";
  const parameters = new URLSearchParams(frame.url.searchParams);
  for (const name of ["format", "results", "certificate"]) parameters.delete(name);
  const address = `/v2/search/answer?${parameters}`;
  return answerBlock({ found: { query, sentences, considered }, writer, isWritten: false, address });
}

function nothingYet(frame: Frame): Html {
  return html`<div class="empty"><strong>There is nothing to search yet.</strong>${
    mayChange(frame, "admin")
      ? html`<p>Create a domain and crawl it; then its documents are found here.</p><a class="button primary" href="/v2/domains?format=ui">Domains</a>`
      : html`<p>Documents are found here once a domain was crawled. Only administrators can create one.</p>`
  }</div>`;
}

/** The index ranks at most 50; users who need more should change the query. */
function moreLink({ answer, args }: SearchModel, frame: Frame): Html | "" {
  if (answer.sources.length < args.results || args.results >= MOST_RESULTS) return "";
  const more = Math.min(MOST_RESULTS, args.results < 20 ? 20 : MOST_RESULTS);
  return html`<p><a class="button" href="${addressWith(frame, { results: String(more) })}">Show up to ${more}</a></p>`;
}

/** Without scripts the result is a page of its own; the page's script shows it here instead. */
function missingForm(query: string, domainId: string): Html {
  return html`<section class="panel stack" aria-labelledby="missing-title">
<div><h2 id="missing-title">A document is missing?</h2>
<p class="quiet">Name it, and see where its way from the source into this answer ends, and what to do.</p></div>
<form class="search" action="/v2/search/explain" method="get" data-explain>
<input type="hidden" name="domain_id" value="${domainId}"><input type="hidden" name="query" value="${query}"><input type="hidden" name="format" value="html">
<label class="grow"><span>Name, path or address</span><input type="text" name="document" required maxlength="2000" placeholder="Travel.docx" autocomplete="off" spellcheck="false"></label>
<button>Explain</button>
</form>
<div data-explanation aria-live="polite"></div>
</section>`;
}

const USING = { both: "Words and meaning", text: "Words only", vectors: "Meaning only" } as const;

function searchForm(args: SearchArguments, choices: SearchChoices): Html {
  const { domains, chosen } = choices;
  return html`<form class="search-form" action="/v2/search" method="get" role="search">
<input type="hidden" name="format" value="ui">
<div class="search">
<label class="grow"><span>Search for</span><input type="search" name="query" value="${args.query}" required maxlength="4000" autocomplete="off" ${args.query ? "" : "autofocus"}></label>
<label><span>Domain</span><select name="domain_id">${domains.length > 1 ? option("", "All domains", chosen?.domainId ?? "") : ""}${domains.map(({ domainId, name }) => option(domainId, name, chosen?.domainId))}</select></label>
<button class="primary">Search</button>
</div>
<details ${isNarrowed(args) ? "open" : ""}><summary>Narrow it</summary>${narrowing(args, choices)}</details>
</form>`;
}

function narrowing(args: SearchArguments, { chosen, generations }: SearchChoices): Html {
  return html`<div class="fields">
<label class="field"><span>Source</span><select name="source_id"><option value="">All</option>${(chosen?.sources ?? []).map(({ sourceId }) => option(sourceId, sourceId, args.source_id))}</select></label>
${input("path", "Path begins with", args.path, "Policies/")}
${input("file_type", "File types", args.file_type?.join(", "), "pdf, docx")}
${input("language", "Languages", args.language?.join(", "), "de, en")}
<label class="field"><span>Modified from</span><input type="date" name="modified_from" value="${args.modified_from?.slice(0, 10) ?? ""}"></label>
<label class="field"><span>Modified before</span><input type="date" name="modified_before" value="${args.modified_before?.slice(0, 10) ?? ""}"></label>
<label class="field"><span>Go by</span><select name="using">${Object.entries(USING).map(([value, words]) => option(value, words, args.using))}</select></label>
${
  generations.length === 0
    ? ""
    : html`<label class="field"><span>As of</span><select name="generation"><option value="">Now</option>${generations.map(({ number, committedAt, sourceId, intermediate }) => option(String(number), `Generation ${number} (${committedAt.slice(0, 16).replace("T", " ")} UTC, ${sourceId || "several sources"}${intermediate ? ", between two sources" : ""})`, String(args.generation ?? "")))}</select></label>`
}
</div>`;
}

function input(name: string, label: string, value: string | undefined, placeholder: string): Html {
  return html`<label class="field"><span>${label}</span><input type="text" name="${name}" value="${value ?? ""}" placeholder="${placeholder}" autocomplete="off" spellcheck="false"></label>`;
}

function option(value: string, words: string, chosen: string | undefined): Html {
  return html`<option value="${value}" ${value === chosen ? "selected" : ""}>${words}</option>`;
}

function isNarrowed(args: SearchArguments): boolean {
  const { query: _query, domain_id: _domain, vector_store_id: _store, results: _results, using, ...narrow } = args;
  return (
    using !== "both" ||
    Object.values(narrow).some((value) => value !== undefined && value !== false && !isEmptyBody(value))
  );
}

/** Requests without a body have an empty one among their arguments. */
function isEmptyBody(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
}

/** Renders the results of `/query2`. */
export function queryPage(answer: QueryAnswer, frame: Frame): Html {
  return layout({
    frame,
    title: `${answer.query || "Search"} · lockstep`,
    body: html`<section class="panel stack">
<h1>Search</h1>
<form class="search" action="/query2" method="get" role="search">
<label class="grow"><span>Search for</span><input type="search" name="query" value="${answer.query}" required></label>
${answer.vectorStoreId ? html`<input type="hidden" name="vsid" value="${answer.vectorStoreId}">` : ""}
<button class="primary">Search</button>
</form>
${answer.query === "" ? "" : searchResults(answer)}
</section>`,
  });
}

const HEADING = html`<h2 class="visually-hidden">Results</h2>`;

interface ResultExtras {
  /** Results link to the explanation of their document. */
  readonly explained?: boolean;
  readonly heading?: Html;
  /** Results say which of these they are from. */
  readonly domains?: readonly Domain[];
  readonly pages?: FoundPages;
}

export function searchResults(
  answer: QueryAnswer,
  { explained = false, heading = HEADING, domains = [], pages }: ResultExtras = {},
): Html {
  const count = answer.sources.length;
  const notes = (answer.notes ?? []).map((note) => html`<p class="notice warn" role="note">${note}</p>`);
  if (count === 0) {
    return html`${notes}<p class="quiet" role="status">Nothing found for “${answer.query}”. A crawl may not have brought it in yet.</p>`;
  }
  const cards = [...Map.groupBy(answer.sources, ({ fileId }) => fileId).values()];
  const said = `${plural(count, "passage")} in ${plural(cards.length, "document")}`;
  const nameOf = (id: string): string => domains.find(({ domainId }) => domainId === id)?.name ?? "";
  return html`${heading}${notes}<p class="quiet" role="status">${said} for “${answer.query}”</p>
<ol class="results">${cards.map(([first, ...others]) => first && card(first, others, { query: answer.query, explained, domain: nameOf(first.domainId), page: pages?.get(first.fileId) }))}</ol>`;
}

interface Shown {
  readonly query: string;
  readonly explained: boolean;
  /** Its name; "" if all results are from one. */
  readonly domain: string;
  readonly page: FoundPage | undefined;
}

/** One document: its best passage, and the others that were found folded below. */
function card(source: QuerySource, others: readonly QuerySource[], shown: Shown): Html {
  const { page, domain } = shown;
  const title = page?.title || source.title;
  const about = [
    page ? kindOfFile("html") : kindOfFile(source.details ? typeOf(source) : ""),
    page?.address ?? placeBeside(source.details?.path || source.name, title),
    domain,
  ].filter(Boolean);
  const checked = source.isBehind ? "" : sayFreshness({ ...source, changedAt: "" });
  return html`<li class="result">
<h3><bdi>${sourceLink(source, title)}</bdi></h3>
<p class="section-path">${about.map((part, at) => html`${at > 0 ? " · " : ""}<bdi>${shownName(part)}</bdi>`)}${source.modifiedAt ? html` · <span title="${source.modifiedAt}">${sayWhen(source.modifiedAt)}</span>` : ""}${checked && html` · ${checked}`}</p>
${source.isBehind ? html`<p class="notice warn">Its last update failed or is held.</p>` : ""}
${passageItem(source, shown)}
${page && page.pictures.length > 0 ? imageGallery(page.pictures) : ""}
${others.length > 0 ? html`<details class="others"><summary>${plural(others.length, "further passage")}</summary><ol>${others.map((other) => html`<li>${passageItem(other, shown)}</li>`)}</ol></details>` : ""}
${alsoIn(source)}
</li>`;
}

function typeOf({ attributes, name }: QuerySource): string {
  return String(attributes["file_type"] ?? "") || fileTypeOf(name);
}

/** An excerpt with the place in the document, which leads to it, and why it was found. */
function passageItem(source: QuerySource, { query, explained }: Shown): Html {
  const passage = passageOf(source, query);
  const excerpt = excerptOf(passage);
  const place = [source.details?.page ? `page ${source.details.page}` : "", source.sectionPath.replaceAll(" > ", " › ")]
    .filter(Boolean)
    .map(shownName);
  const href = source.domainId ? readingAddress(keyOfHit(source.domainId, source)) : undefined;
  const said = place.length > 0 ? place.join(" · ") : "In the document";
  return html`<p class="passage">${showMarked(excerpt)}</p>
<div class="about-passage"><p class="section-path">${href ? html`<a href="${href}"><bdi>${said}</bdi></a>` : html`<bdi>${said}</bdi>`}</p>
${excerpt.cut ? html`<details><summary>Whole passage</summary><p class="passage">${showMarked(passage)}</p></details>` : ""}
${scoreReason(source, explained && source.domainId ? explainAddress(source, query) : undefined)}</div>`;
}

function explainAddress({ fileId, domainId }: QuerySource, query: string): string {
  return `/v2/search/explain?${new URLSearchParams({ domain_id: domainId, query, document: fileId, format: "html" })}`;
}

function passageOf({ text, details, name }: QuerySource, query: string): Marked {
  const trimmed = text.trimStart();
  const cut = text.length - trimmed.length;
  const marks = details
    ? details.highlights.map(({ start, end }) => ({ start: start - cut, end: end - cut }))
    : spansOfWords(trimmed, query);
  const passage = { text: trimmed.trimEnd(), marks };
  return PLAIN.has(fileTypeOf(name)) ? passage : withoutMarkup(passage);
}

/** Types whose signs are text, not markup. */
const PLAIN: ReadonlySet<string> = new Set(["txt", "log", "csv", "tsv"]);

/** Other documents with the same passage, which are not results of their own. */
function alsoIn({ details }: QuerySource): Html | "" {
  const names = details?.alsoIn.map(({ name, path }) => shownName(path.endsWith(`/${name}`) ? path : name)) ?? [];
  if (names.length === 0) return "";
  return html`<p class="quiet">Also in ${names.map((name, at) => html`${at > 0 ? ", " : ""}<bdi>${name}</bdi>`)}</p>`;
}

function sourceLink(source: QuerySource, title: string): Html {
  const name = shownName(title);
  // An address of ours: see openableUrl.
  if (/^\/(?!\/)/.test(source.url)) return html`<a href="${source.url}">${name}</a>`;
  const href = webAddress(source.url);
  return href === undefined
    ? html`${name}`
    : html`<a href="${href}" target="_blank" rel="noopener noreferrer">${name}</a>`;
}

/** Explains the parts of a passage's score. Only the embedded index returns them. */
function scoreReason({ details, text, score }: QuerySource, explainLink: string | undefined): Html | "" {
  if (!details) return "";
  const { parts } = details;
  const found = [...new Set(details.highlights.map(({ start, end }) => text.slice(start, end).toLowerCase()))];
  const words = found.length > 0 ? html`: <bdi>${found.slice(0, 8).join(", ")}</bdi>` : "";
  return html`<details class="reason"><summary>Why?</summary>
<dl>
${part("Words", parts.text, html`${strength(parts.text, "the words of the question are in it", "none of its words is in this passage")}${words}`)}
${part("Meaning", parts.vector, strength(parts.vector, "it is about the same", "its meaning did not count"))}
${part("Name and path", parts.label, strength(parts.label, "they say what was asked for", "they say nothing of it"))}
</dl>
<p>Together and weighed: ${score.toFixed(2)}. Seen in generation ${details.generation}${details.language ? html`, language <code>${details.language}</code>` : ""}.${explainLink ? html` <a href="${explainLink}">Its whole way, from the source on</a>` : ""}</p>
</details>`;
}

function part(name: string, value: number, words: Html | string): Html {
  const shown = Math.min(1, Math.max(0, value));
  return html`<div><dt>${name}</dt><dd><meter min="0" max="1" value="${shown.toFixed(2)}" aria-label="${name}"></meter> ${shown.toFixed(2)} <span>${words}</span></dd></div>`;
}

function strength(value: number, yes: string, no: string): string {
  if (value <= 0.005) return no;
  const level = value >= 0.66 ? "strongly" : value >= 0.33 ? "fairly" : "a little";
  return `${level}: ${yes}`;
}

const EXCERPT_CHARS = 420;
const LEAD_CHARS = 90;
const WITHOUT_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** Returns the part of a passage where its marks begin, cut at spaces. */
export function excerptOf(passage: Marked): Marked & { readonly cut: boolean } {
  const { text, marks } = passage;
  if (text.length <= EXCERPT_CHARS) return { ...passage, cut: false };
  const first = marks[0]?.start ?? 0;
  const from = startOfWord(text, Math.min(Math.max(0, first - LEAD_CHARS), text.length - EXCERPT_CHARS));
  const piece = text.slice(from, from + EXCERPT_CHARS).replace(/\s+\S*$/, "");
  const to = from + piece.length;
  const lead = from > 0 ? "… " : "";
  const shift = lead.length - from;
  return {
    text: `${lead}${piece}${to < text.length ? " …" : ""}`,
    marks: marks
      .filter(({ start, end }) => start >= from && end <= to)
      .map(({ start, end }) => ({ start: start + shift, end: end + shift })),
    cut: true,
  };
}

/** Text and marks may be hostile: everything goes through the escaping template. */
export function showMarked({ text, marks }: Marked): Html {
  const pieces: Html[] = [];
  let at = 0;
  for (const { start, end } of marks) {
    pieces.push(html`${text.slice(at, start)}<mark>${text.slice(start, end)}</mark>`);
    at = end;
  }
  return html`${pieces}${text.slice(at)}`;
}

/** Returns where the words of a query are, for backends that do not say. */
export function spansOfWords(text: string, query: string): Span[] {
  const pattern = wordPattern(query);
  if (!pattern) return [];
  return [...text.matchAll(pattern)].map(({ index, 0: found }) => ({ start: index, end: index + found.length }));
}

function wordPattern(query: string): RegExp | undefined {
  const words = [...new Set(query.match(/[\p{L}\p{N}]+/gu) ?? [])].slice(0, 32);
  const significant = words.filter(isSignificant);
  const parts = (significant.length > 0 ? significant : words).map((word) =>
    WITHOUT_SPACES.test(word) ? word : `(?<![\\p{L}\\p{N}])${stem(word.toLowerCase())}[\\p{L}\\p{N}]*`,
  );
  return parts.length > 0 ? new RegExp(parts.join("|"), "giu") : undefined;
}

/** Short words are mostly grammar in any language, unless they are an abbreviation or contain a digit. */
function isSignificant(word: string): boolean {
  return (
    word.length > 3 || WITHOUT_SPACES.test(word) || /\d/.test(word) || (word.length > 1 && word === word.toUpperCase())
  );
}

/** Deliberately simple: it decides what is highlighted, not what is found. */
function stem(word: string): string {
  const short = word.replace(/(?:ings?|ies|es|ed|en|s)$/, "");
  return short.length >= 4 ? short : word;
}

function startOfWord(text: string, at: number): number {
  if (at <= 0) return 0;
  const space = text.slice(at, at + LEAD_CHARS).search(/\s/);
  return space < 0 ? at : at + space + 1;
}

/** The options of the search form. */
export interface SearchChoices {
  readonly domains: readonly Domain[];
  /** The domain that is searched; undefined: all of them. */
  readonly chosen: Domain | undefined;
  readonly generations: readonly Generation[];
}

export async function gatherChoices(app: App, wanted: DomainId | undefined): Promise<SearchChoices> {
  const { domains } = await app.domains.list();
  const chosen = domains.find(({ domainId }) => domainId === wanted) ?? (domains.length === 1 ? domains[0] : undefined);
  return { domains, chosen, generations: chosen?.vectorStoreId ? await generationsOf(app, chosen.domainId) : [] };
}

/** Returns none for other backends, and for a store that does not exist any more. */
async function generationsOf(app: App, domainId: DomainId): Promise<readonly Generation[]> {
  try {
    return (await app.generations(domainId)).kept;
  } catch (error) {
    if (error instanceof BadInputError || error instanceof NotFoundError) return [];
    throw error;
  }
}

/** Maximum per page in a list of results. */
const MOST_PICTURES = 4;

/** The registry's data of a web page that was found. */
export interface FoundPage {
  /** The title that was registered, or the page's own. */
  readonly title: string;
  readonly address: string;
  readonly pictures: readonly ShownImage[];
}

/** Keyed by file id. */
export type FoundPages = ReadonlyMap<string, FoundPage>;

export async function gatherPages(app: App, { sources }: QueryAnswer): Promise<FoundPages> {
  const documents = new Map(sources.map((source) => [source.fileId, source]));
  const pages = await Promise.all(
    [...documents].map(async ([fileId, source]): Promise<[string, FoundPage][]> => {
      const view = await registryView(app, source);
      if (!view) return [];
      const { displaySource: address, title, content } = view.item;
      const pictures = view.images.slice(0, MOST_PICTURES);
      return [[fileId, { title: title || content.foundTitle, address, pictures }]];
    }),
  );
  return new Map(pages.flat());
}

export interface ShownImage {
  readonly id: string;
  readonly alt: string;
  readonly caption: string;
  readonly parentPageId: string;
}

/** Shows thumbnails of a page's pictures; each links to the stored picture. */
export function imageGallery(images: readonly ShownImage[]): Html {
  return html`<ul class="gallery">${images.map(({ id, alt, caption, parentPageId }) => {
    const words = shownName(alt || caption);
    return html`<li><figure><a href="${imageAddress(parentPageId, id, "full")}"><img src="${imageAddress(parentPageId, id, "thumbnail")}" alt="${words || "Picture without a description"}" loading="lazy" width="160" height="120"></a>${caption ? html`<figcaption><bdi>${shownName(caption)}</bdi></figcaption>` : ""}</figure></li>`;
  })}</ul>`;
}

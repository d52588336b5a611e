import { html } from "hono/html";
import type { App } from "../../app/app.ts";
import { readingAddress } from "../../app/openable-url.ts";
import type { Domain } from "../../contracts/domain.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { SearchableDocument } from "../../engine/searchable-documents.ts";
import { sayWhen } from "../../lib/freshness.ts";
import { placeBeside, shownName, webAddress } from "./display.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { kindOfFile } from "./reading-page.ts";

export interface StartModel {
  readonly domains: readonly Domain[];
  readonly examples: readonly { readonly domainId: DomainId; readonly question: string }[];
  readonly recent: readonly SearchableDocument[];
}

const EXAMPLES = 5;
const LONGEST_EXAMPLE = 120;
const RECENT = 8;

/** Loads the start page of users with the role `read`. */
export async function gatherStart(app: App): Promise<StartModel> {
  const { domains } = await app.domains.list();
  const recent = await app.searchableDocuments.recent(RECENT);
  const asked = await Promise.all(
    domains.map(async ({ domainId }) => {
      const { questions } = await app.questions.view(domainId).catch(() => ({ questions: [] }));
      return questions.map(({ question }) => ({ domainId, question }));
    }),
  );
  const told = recent
    .filter(({ title, name }) => title !== name)
    .map(({ domainId, title }) => ({ domainId, question: `What does “${title}” say?` }));
  const written = asked.flat().filter(({ question }) => isAsked(question));
  const examples = written.length > 0 ? written : told.filter(({ question }) => isAsked(question));
  return { domains, recent, examples: examples.slice(0, EXAMPLES) };
}

/** Questions that were made from documents are sentences or code of these: nobody asks so. */
function isAsked(question: string): boolean {
  return /\p{L}.*[?？؟]$/u.test(question) && question.length <= LONGEST_EXAMPLE;
}

/** Renders `/` for users with the role `read`: a large search box, example questions, and the latest changes. */
export function startPage({ domains, examples, recent }: StartModel, frame: Frame): Html {
  return layout({
    title: "Search · lockstep",
    frame,
    body: html`<section class="start" aria-labelledby="start-title"><h1 id="start-title">What are you looking for?</h1>
${domains.length === 0 ? html`<p class="empty"><strong>There is nothing to search yet.</strong>Documents are found here once a domain was crawled.</p>` : searchBox(domains)}
${examples.length > 0 ? html`<ul class="examples" aria-label="Examples">${examples.map(({ domainId, question }) => html`<li><a href="/v2/search?${new URLSearchParams({ format: "ui", domain_id: domainId, query: question })}"><bdi>${shownName(question)}</bdi></a></li>`)}</ul>` : ""}</section>
${recent.length > 0 ? html`<section class="stack" aria-labelledby="recent-title"><h2 id="recent-title">Changed lately</h2><ol class="recent panel">${recent.map((document) => recentItem(document, domains))}</ol></section>` : ""}
<footer class="foot"><p>Everyone who may search sees everything that was crawled. Permissions of the sources are not carried along.</p></footer>`,
  });
}

function searchBox(domains: readonly Domain[]): Html {
  return html`<form class="search" action="/v2/search" method="get" role="search"><input type="hidden" name="format" value="ui">
<label class="grow"><span>Search for</span><input type="search" name="query" required maxlength="4000" autocomplete="off" autofocus></label>
${domains.length > 1 ? html`<label><span>Domain</span><select name="domain_id"><option value="">All domains</option>${domains.map(({ domainId, name }) => html`<option value="${domainId}">${name || domainId}</option>`)}</select></label>` : html`<input type="hidden" name="domain_id" value="${domains[0]?.domainId ?? ""}">`}
<button class="primary">Search</button></form>`;
}

function recentItem(document: SearchableDocument, domains: readonly Domain[]): Html {
  const { title, fileType, path, name, modifiedAt, domainId, webUrl } = document;
  const source = webAddress(webUrl);
  const link = source
    ? html`<a href="${source}" target="_blank" rel="noopener noreferrer">${shownName(title)}</a>`
    : html`<a href="${readingAddress(document)}">${shownName(title)}</a>`;
  const domain = domains.length > 1 ? domains.find((one) => one.domainId === domainId)?.name : "";
  const about = [kindOfFile(fileType), placeBeside(path || name, title), domain ?? ""].filter(Boolean);
  return html`<li><bdi>${link}</bdi> <span class="quiet" title="${modifiedAt}">${sayWhen(modifiedAt)}</span><p class="quiet">${about.map((part, at) => html`${at > 0 ? " · " : ""}<bdi>${shownName(part)}</bdi>`)}</p></li>`;
}

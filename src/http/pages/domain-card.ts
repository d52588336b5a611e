import { html } from "hono/html";
import type { Domain } from "../../contracts/domain.ts";
import type { JobRecord } from "../../contracts/job.ts";
import type { SourceKinds } from "../../contracts/source-kind.ts";
import type { DomainStatus } from "../../engine/domain-status.ts";
import type { CertificateStatus } from "../../engine/verify/stored-certificates.ts";
import { verifiedFigures } from "./certificate-pages.ts";
import { crawlChart } from "./crawl-chart.ts";
import { sayCounts, summarizeCrawl } from "./crawl-summary.ts";
import { shownTime } from "./display.ts";
import { crawlerAddress, type Health, healthOf, sayNoCrawl } from "./domain-health.ts";
import { domainAddress } from "./domain-pages.ts";
import { jobAddress } from "./job-fragments.ts";
import type { Frame, Html } from "./layout.ts";
import { mayChange } from "./layout.ts";

/** A domain on the dashboard. */
export interface DomainView {
  readonly kinds: SourceKinds;
  readonly domain: Domain;
  readonly active: JobRecord | undefined;
  /** Ended crawls without dry runs, newest first. */
  readonly crawls: readonly JobRecord[];
  /** undefined: it could not be determined. */
  readonly standing: DomainStatus | undefined;
  /** "" without a schedule. */
  readonly nextRunAt: string;
  /** undefined: they could not be read. */
  readonly certificates: CertificateStatus | undefined;
}

export function healthOfView(view: DomainView): Health {
  const { domainId, maxAge } = view.domain;
  return healthOf({ ...view, domainId, maxAge, last: view.crawls[0] });
}

export function domainCard(view: DomainView, frame: Frame): Html {
  const { domain } = view;
  const name = domain.name || domain.domainId;
  return html`<article class="panel card" aria-label="${name}">
${cardStatus(view, name)}
<div class="card-actions">
${mayChange(frame, "operate") ? crawlForm(name, domain.domainId) : ""}
<a class="button small" href="${crawlerAddress(domain.domainId)}" aria-label="Options for a crawl of ${name}">Options</a>
<a class="button small" href="/v2/search?format=ui&domain_id=${domain.domainId}" aria-label="Search ${name}">Search</a>
${checkForm(name, domain.domainId)}
</div>
</article>`;
}

/** The part that changes when a job ends; the page's script replaces it without touching the forms below. */
function cardStatus(view: DomainView, name: string): Html {
  const { domain, crawls, standing, nextRunAt } = view;
  const last = crawls[0];
  const { tone, word, reason, wayOut } = healthOfView(view);
  return html`<div class="card-status" id="status-${domain.domainId}" data-refresh>
<div class="card-head"><h3><a href="${domainAddress(domain.domainId)}"><bdi>${name}</bdi></a></h3><span class="pill ${tone}">${word}</span></div>
<p class="quiet"><code class="id" title="${domain.domainId}">${domain.domainId}</code>${domain.description ? html` · <bdi>${domain.description}</bdi>` : ""}</p>
${reason ? html`<div class="notice ${tone}"><p>${reason}</p>${wayOut ? html`<p><a href="${wayOut.href}">${wayOut.words}</a></p>` : ""}</div>` : ""}
${domain.sources.length === 0 ? html`<p class="notice warn">No sources yet: a crawl would find nothing.</p>` : ""}
<dl class="figures">
<div><dt>Documents</dt><dd>${standing?.documents ?? "unknown"}</dd></div>
<div><dt>Sources</dt><dd>${domain.sources.length}</dd></div>
<div><dt>Last crawl</dt><dd>${last ? shownTime(last.endedAt || last.lastModifiedAt) : sayNoCrawl(standing?.documents)}</dd></div>
${nextRunAt ? html`<div><dt>Next crawl</dt><dd>${shownTime(nextRunAt)}</dd></div>` : ""}
${verifiedFigures(domain.domainId, view.certificates)}
</dl>
${last ? html`<p class="outcome">${outcome(last, view.kinds)}</p>` : ""}
${crawlChart(name, crawls, view.kinds)}
</div>`;
}

function outcome(last: JobRecord, kinds: SourceKinds): Html {
  const summary = summarizeCrawl(last, kinds);
  return html`${summary ? sayCounts(summary) : last.state} · <a href="${jobAddress(last.jobId)}">${last.jobId}</a>`;
}

/** Defaults to incremental: a user who clicks wants the changes, not everything again. */
function crawlForm(name: string, domainId: string): Html {
  return html`<form action="/v2/crawler/crawl" method="get" data-crawl>
<input type="hidden" name="domain_id" value="${domainId}"><input type="hidden" name="mode" value="incremental"><input type="hidden" name="format" value="html">
<button class="primary small" aria-label="Crawl ${name}">Crawl</button>
<p class="form-error" role="alert" hidden></p>
</form>`;
}

/** Without scripts the result is a page of its own; the page's script shows the findings below the buttons instead. */
function checkForm(name: string, domainId: string): Html {
  return html`<form class="check-connection" action="/v2/domains/check" method="get" data-check>
<input type="hidden" name="domain_id" value="${domainId}"><input type="hidden" name="format" value="html">
<button class="small" aria-label="Test connection of ${name}">Test connection</button>
<p class="form-error" role="alert" hidden></p>
<div data-part="findings" aria-live="polite"></div>
</form>`;
}

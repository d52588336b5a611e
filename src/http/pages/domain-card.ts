import { html } from "hono/html";
import type { SourceConfig } from "../../contracts/domain.ts";
import { CRAWL_SCOPES, type CrawlScope } from "../../engine/crawl-request.ts";
import { sayCounts, summarizeCrawl } from "./crawl-summary.ts";
import type { DomainStanding } from "./home-model.ts";
import type { Html } from "./layout.ts";
import { webAddress } from "./search-results.ts";
import { shownTime } from "./shown-time.ts";

const SCOPE_NAMES: Record<CrawlScope, string> = {
  all: "Everything",
  files: "Files",
  lists: "Lists",
  sitepages: "Site pages",
};

export function domainCard(standing: DomainStanding): Html {
  const { domain } = standing;
  const name = domain.name || domain.domainId;
  return html`<article class="panel card" aria-label="${name}">
${cardStatus(standing)}
${sourceList(domain.sources)}
${crawlForm(standing)}
${checkForm(name, domain.domainId)}
</article>`;
}

/** The part that changes when a job ends; the page's module fetches it anew without touching the form below. */
function cardStatus({ domain, active, last }: DomainStanding): Html {
  const summary = last ? summarizeCrawl(last) : undefined;
  const [tone, word] = verdict({ active, last });
  return html`<div id="status-${domain.domainId}" data-refresh>
<div class="card-head"><h3><bdi>${domain.name || domain.domainId}</bdi></h3><span class="pill ${tone}">${word}</span></div>
<p class="quiet"><code>${domain.domainId}</code>${domain.description ? html` · <bdi>${domain.description}</bdi>` : ""}</p>
<dl class="figures">
<div><dt>Documents</dt><dd>${summary ? summary.documents : "–"}</dd></div>
<div><dt>Sources</dt><dd>${domain.sources.length}</dd></div>
<div class="wide"><dt>Last crawl</dt><dd>${last ? html`${shownTime(last.endedAt || last.lastModifiedAt)}` : "never"}</dd></div>
</dl>
${last ? html`<p class="outcome">${summary ? sayCounts(summary) : last.state}</p>` : ""}
${last?.result && !last.result.ok && last.state !== "cancelled" ? html`<p class="notice ${summary?.held ? "warn" : "bad"}">${last.result.error}</p>` : ""}
</div>`;
}

function verdict({ active, last }: Pick<DomainStanding, "active" | "last">): [tone: string, word: string] {
  if (active?.stalled) return ["warn", "stalled"];
  if (active) return ["busy", active.state === "paused" ? "paused" : "crawling"];
  if (!last) return ["idle", "not crawled yet"];
  if (last.state === "cancelled") return ["warn", "cancelled"];
  return last.result?.ok ? ["good", "in step"] : ["bad", "needs attention"];
}

function sourceList(sources: readonly SourceConfig[]): Html {
  if (sources.length === 0) return html`<p class="notice warn">No sources yet: a crawl would find nothing.</p>`;
  return html`<details class="sources"><summary>${sources.length === 1 ? "1 source" : `${sources.length} sources`}</summary>
<ul>${sources.map((source) => {
    const href = webAddress(source.siteUrl);
    const site = source.siteUrl.replace(/^https?:\/\//, "");
    return html`<li><code>${source.sourceId}</code> <bdi>${href ? html`<a href="${href}" target="_blank" rel="noopener noreferrer">${site}</a>` : site}${source.sourceType === "list_sources" ? ` list '${source.listName}'` : source.urlPart}</bdi></li>`;
  })}</ul></details>`;
}

/** Pages default to incremental: a person who clicks wants the changes, not everything again. */
function crawlForm({ domain, last }: DomainStanding): Html {
  const held = last ? (summarizeCrawl(last)?.held ?? 0) : 0;
  return html`<form class="crawl" action="/v2/crawler/crawl" method="get" data-crawl>
<input type="hidden" name="domain_id" value="${domain.domainId}">
<input type="hidden" name="format" value="html">
<label><span>Mode</span><select name="mode"><option value="incremental" selected>Incremental</option><option value="full">Full</option></select></label>
<label><span>Scope</span><select name="scope">${CRAWL_SCOPES.map(
    (scope) => html`<option value="${scope}">${SCOPE_NAMES[scope]}</option>`,
  )}</select></label>
<label class="check"><input type="checkbox" name="dry_run" value="true"> <span>Dry run</span></label>
${held > 0 ? html`<label class="check"><input type="checkbox" name="confirm_deletes" value="true"> <span>Confirm ${held} held removals</span></label>` : ""}
<button class="primary" aria-label="Crawl ${domain.name || domain.domainId}">Crawl</button>
<p class="form-error" role="alert" hidden></p>
</form>`;
}

/** Its answer is a page of its own; the page's module puts the findings of it below the button instead. */
function checkForm(name: string, domainId: string): Html {
  return html`<form class="check-connection" action="/v2/domains/check" method="get" data-check>
<input type="hidden" name="domain_id" value="${domainId}">
<input type="hidden" name="format" value="html">
<button aria-label="Test connection of ${name}">Test connection</button>
<p class="form-error" role="alert" hidden></p>
<div data-part="findings" aria-live="polite"></div>
</form>`;
}

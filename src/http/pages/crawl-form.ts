import { html } from "hono/html";
import type { Domain } from "../../contracts/domain.ts";
import { CRAWL_MODES, type CrawlMode } from "../../engine/crawl-request.ts";
import type { Frame, Html } from "./layout.ts";

/** What a page can start, by the last part of its address. */
export const CRAWL_ACTIONS = ["crawl", "download_data", "process_data", "embed_data"] as const;
export type CrawlAction = (typeof CRAWL_ACTIONS)[number];

/** What the form begins with: the address of the page may say it. */
export interface CrawlWishes {
  readonly domainId: string;
  readonly action: CrawlAction;
  readonly mode: CrawlMode;
  readonly scope: string;
  readonly sourceId: string;
  readonly dryRun: boolean;
  readonly confirmDeletes: boolean;
  readonly retryFailed: boolean;
  readonly checksum: boolean;
}

const ACTION_NAMES: Record<CrawlAction, string> = {
  crawl: "Crawl: all three steps",
  download_data: "Download only",
  process_data: "Process only",
  embed_data: "Embed only",
};
const MODE_NAMES: Record<CrawlMode, string> = {
  incremental: "Incremental: what changed",
  full: "Full: everything again",
};
/**
 * Starts a crawl or one of its steps. The module crawler.js lets people choose the step, keeps the sources to those of
 * the domain and shows the address as it comes about; without it the steps are buttons of their own.
 */
export function crawlForm(domains: readonly Domain[], wishes: CrawlWishes, frame: Frame): Html {
  return html`<form class="panel crawl-form stack" action="${addressOf(wishes.action)}" method="get" data-crawl data-crawler>
<input type="hidden" name="format" value="html">
<div class="fields">
<label class="field"><span>Domain</span><select name="domain_id" required>${domains.map((domain) => option(domain.domainId, domain.name || domain.domainId, wishes.domainId))}</select></label>
<label class="field" data-scripted hidden><span>What to do</span><select data-part="step">${CRAWL_ACTIONS.map((action) => option(addressOf(action), ACTION_NAMES[action], addressOf(wishes.action)))}</select></label>
<label class="field"><span>Mode</span><select name="mode">${[...CRAWL_MODES].reverse().map((mode) => option(mode, MODE_NAMES[mode], wishes.mode))}</select></label>
<label class="field"><span>Scope</span><select name="scope">${option("all", "Everything", wishes.scope)}${frame.product.kinds.all.map(({ scope, words }) => option(scope, words.scope, wishes.scope))}</select></label>
<label class="field"><span>Source</span><select name="source_id" data-part="source"><option value="">All sources</option>${sourceChoices(domains, wishes)}</select></label>
</div>
<div class="checks">
${check("dry_run", "Dry run: only show the plan", wishes.dryRun)}
${check("retry_failed", "Try failed files again", wishes.retryFailed)}
${check("confirm_deletes", "Confirm removals that are held", wishes.confirmDeletes)}
${check("checksum", "Read every file, changed or not", wishes.checksum)}
</div>
<div class="form-end"><button class="primary" data-part="go">${wishes.dryRun ? "Show the plan" : "Start"}</button>
<noscript>${CRAWL_ACTIONS.slice(1).map((action) => html`<button formaction="${addressOf(action)}">${ACTION_NAMES[action]}</button> `)}</noscript>
<p class="form-error" role="alert" hidden></p></div>
${preview(wishes, frame)}
</form>`;
}

function sourceChoices(domains: readonly Domain[], { domainId, sourceId }: CrawlWishes): Html[] {
  return domains.map(
    (domain) =>
      html`<optgroup label="${domain.name || domain.domainId}" data-domain="${domain.domainId}">${domain.sources.map((source) => option(source.sourceId, source.sourceId, domain.domainId === domainId ? sourceId : ""))}</optgroup>`,
  );
}

function option(value: string, words: string, chosen: string): Html {
  return html`<option value="${value}" ${value === chosen ? "selected" : ""}>${words}</option>`;
}

function check(name: string, words: string, checked: boolean): Html {
  return html`<label class="check"><input type="checkbox" name="${name}" value="true" ${checked ? "checked" : ""}> <span>${words}</span></label>`;
}

/** The very address that the button calls, for scripts and schedulers. */
function preview(wishes: CrawlWishes, { url }: Frame): Html {
  const address = `${url.origin}${requestOf(wishes)}`;
  return html`<div class="preview" aria-labelledby="preview-title" role="group">
<p class="preview-title" id="preview-title">The same as an address</p>
<div class="preview-line"><code data-part="address">${address}</code><button type="button" class="small" data-copy="address" data-scripted hidden>Copy<span class="visually-hidden"> the address</span></button></div>
<div class="preview-line"><code data-part="curl">curl -N '${address}&format=stream'</code><button type="button" class="small" data-copy="curl" data-scripted hidden>Copy<span class="visually-hidden"> the command</span></button></div>
</div>`;
}

function requestOf(wishes: CrawlWishes): string {
  const params = new URLSearchParams({ domain_id: wishes.domainId, mode: wishes.mode, scope: wishes.scope });
  if (wishes.sourceId) params.set("source_id", wishes.sourceId);
  if (wishes.dryRun) params.set("dry_run", "true");
  if (wishes.retryFailed) params.set("retry_failed", "true");
  if (wishes.confirmDeletes) params.set("confirm_deletes", "true");
  if (wishes.checksum) params.set("checksum", "true");
  return `${addressOf(wishes.action)}?${params}`;
}

function addressOf(action: CrawlAction): string {
  return `/v2/crawler/${action}`;
}

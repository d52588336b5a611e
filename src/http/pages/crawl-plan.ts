import { html } from "hono/html";
import type { JobRecord } from "../../contracts/job.ts";
import {
  type CrawlResult,
  type PlannedChange,
  type SourceResult,
  STEPS,
  type Step,
} from "../../engine/crawl-request.ts";
import { type Listing, takePart } from "../routing/listing.ts";
import type { Frame, Html } from "./layout.ts";
import { mayChange } from "./may-change.ts";
import { addressWith, type Column, PAGE_ROWS, pagedTable } from "./paged-table.ts";
import { shownName } from "./shown-name.ts";

export const PLANNED_KINDS = ["added", "changed", "moved", "removed", "held", "skipped", "failed"] as const;
export type PlannedKind = (typeof PLANNED_KINDS)[number];
export const PLAN_COLUMNS = ["change", "source", "path", "reason"] as const;

const TONES: Record<PlannedKind, string> = {
  added: "good",
  changed: "busy",
  moved: "busy",
  removed: "bad",
  held: "warn",
  skipped: "idle",
  failed: "bad",
};

interface PlanRow extends PlannedChange {
  readonly source: string;
}

/** Which part of a plan is shown. */
export interface PlanWishes {
  readonly change: PlannedKind | undefined;
  /** undefined: the first step that would do something. */
  readonly step: Step | undefined;
  readonly listing: Listing;
}

/**
 * "" unless the job is a dry run that ended with a plan. One step at a time: the steps pass the same documents on, and
 * people count documents.
 */
export function crawlPlan(job: JobRecord, { change, listing, ...wishes }: PlanWishes, frame: Frame): Html | "" {
  const result = job.result?.data as Partial<CrawlResult> | null | undefined;
  if (result?.dry_run !== true || !Array.isArray(result.sources)) return "";
  const sources: readonly SourceResult[] = result.sources;
  const rows = sources.flatMap((source) =>
    (source.planned ?? []).map((row): PlanRow => ({ ...row, source: source.source_id })),
  );
  const steps = STEPS.filter((step) => rows.some((row) => row.step === step));
  const step = wishes.step ?? steps[0];
  const wanted = rows.filter((row) => row.step === step && (change === undefined || row.change === change));
  const { rows: shown, page } = takePart(wanted, { ...listing, limit: listing.limit ?? PAGE_ROWS });
  const more = sources.reduce((sum, source) => sum + (source.planned_more ?? 0), 0);
  return html`<section id="plan" data-refresh aria-labelledby="plan-title">
<div class="section-head"><h2 id="plan-title">What ${job.jobId} would do</h2>${rows.length > 0 && isRepeatable(job) && mayChange(frame, "operate") ? doIt(job) : ""}</div>
<div class="stack">
${job.result?.ok ? "" : html`<p class="notice warn">${job.result?.error ?? ""}</p>`}
${sources.filter(({ error }) => error !== "").map(({ source_id, error }) => html`<p class="notice bad"><span><strong><bdi>${source_id}</bdi></strong>: ${error}</span></p>`)}
${steps.length > 1 ? stepLinks(steps, step, frame) : ""}
${step ? counts(sources, step, change, frame) : ""}
${more > 0 ? html`<p class="quiet">${more} more changes are only in the log of the job: the plan lists the first of each source.</p>` : ""}
${
  rows.length === 0
    ? html`<p class="empty"><strong>Nothing would change.</strong>The domain is in step with its sources.</p>`
    : pagedTable({
        id: "plan-table",
        caption: "Planned changes",
        columns: COLUMNS,
        rows: shown,
        listing,
        page,
        empty: "Nothing of that kind.",
        frame,
      })
}
</div></section>`;
}

const COLUMNS: readonly Column<PlanRow>[] = [
  {
    sort: "change",
    title: "Change",
    cell: ({ change }) => html`<span class="pill ${TONES[change] ?? ""}">${change}</span>`,
  },
  { sort: "source", title: "Source", cell: ({ source }) => html`<bdi>${source}</bdi>` },
  { sort: "path", title: "Item", cell: ({ path, name }) => html`<bdi>${shownName(path || name)}</bdi>` },
  { sort: "reason", title: "Why", cell: ({ reason }) => html`<bdi>${reason}</bdi>` },
];

const STEP_NAMES: Record<Step, string> = { download: "Download", process: "Process", embed: "Embed" };

function stepLinks(steps: readonly Step[], chosen: Step | undefined, frame: Frame): Html {
  return html`<nav class="plan-steps" aria-label="Steps of the plan">${steps.map((step) => {
    const address = addressWith(frame, { plan_step: step, change: "", offset: "" });
    return html`<a class="button small" href="${address}" ${step === chosen ? html`aria-current="true"` : ""}>${STEP_NAMES[step]}</a>`;
  })}</nav>`;
}

/** How many of each kind the step counted, listed or not; each narrows the table to itself, and once more shows all. */
function counts(sources: readonly SourceResult[], step: Step, chosen: PlannedKind | undefined, frame: Frame): Html {
  const kinds = PLANNED_KINDS.map((kind) => ({
    kind,
    count: sources.reduce((sum, source) => sum + (source[step]?.[kind] ?? 0), 0),
  }));
  return html`<ul class="plan-counts">${kinds
    .filter(({ count }) => count > 0)
    .map(({ kind, count }) => {
      const address = addressWith(frame, { change: kind === chosen ? "" : kind, offset: "" });
      return html`<li><a class="${TONES[kind]}" href="${address}" ${kind === chosen ? html`aria-current="true"` : ""}><strong>${count}</strong> ${kind}</a></li>`;
    })}</ul>`;
}

/** A dry run from a terminal has no address that could be called again. */
function isRepeatable({ endpoint }: JobRecord): boolean {
  return endpoint.startsWith("/v2/crawler/");
}

/** The very same request, for real. */
function doIt(job: JobRecord): Html {
  const url = new URL(job.endpoint, "http://localhost");
  url.searchParams.delete("dry_run");
  url.searchParams.delete("format");
  return html`<form action="${url.pathname}" method="get" data-crawl>
${[...url.searchParams].map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<input type="hidden" name="format" value="html">
<button class="primary">Do it</button><p class="form-error" role="alert" hidden></p></form>`;
}

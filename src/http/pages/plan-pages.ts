import { html } from "hono/html";
import { STEPS, type Step } from "../../engine/crawl-request.ts";
import type { PlanView } from "../../engine/stored-plans.ts";
import { plural, sayBytes } from "../../lib/text.ts";
import type { GroupRow, ItemRow, PlanAnswer, PlanQuery, PlanRow } from "../endpoints/plan-endpoints.ts";
import type { Answer } from "../routing/endpoint.ts";
import type { Listing, PageFacts } from "../routing/listing.ts";
import { shownId, shownName, shownTime, textOf } from "./display.ts";
import { jobConsole, type WatchedJob } from "./job-fragments.ts";
import { type Frame, type Html, layout, mayChange } from "./layout.ts";
import { addressWith, type Column, pagedTable } from "./paged-table.ts";

/** What a plan does with an item, as a dry run tells it. */
export const PLANNED_KINDS = ["added", "changed", "moved", "removed", "held", "skipped", "failed"] as const;
export type PlannedKind = (typeof PLANNED_KINDS)[number];

export interface ChangeCount {
  readonly step: Step;
  readonly change: PlannedKind;
  readonly items: number;
}

/** By step and kind, without empty ones. */
export function countChanges({ totals }: Pick<PlanView, "totals">): readonly ChangeCount[] {
  return STEPS.flatMap((step) =>
    PLANNED_KINDS.flatMap((change) => {
      const of = totals.filter((total) => total.step === step && total.change === change);
      const items = of.reduce((sum, total) => sum + total.items, 0);
      return items > 0 ? [{ step, change, items }] : [];
    }),
  );
}

export function planListPage(
  { data, page }: Answer<readonly PlanRow[]>,
  query: Listing & { readonly domain_id: string | undefined },
  domainIds: readonly string[],
  frame: Frame,
): Html {
  return layout({
    frame,
    title: "Plans · lockstep",
    body: html`<header class="page-head"><h1>Plans</h1>
<p class="quiet">What dry runs found, kept to be looked at and applied later. They go after 30 days, by maintenance.</p></header>
${pagedTable({
  id: "plans",
  caption: "Plans",
  columns: LIST_COLUMNS,
  rows: data,
  listing: query,
  page,
  empty: html`No plans. <a href="/v2/crawler?format=ui&amp;dry_run=true">Make one</a> with a dry run.`,
  frame,
  filters: html`<label><span>Domain</span><select name="domain_id"><option value="">All</option>${domainIds.map(
    (id) => html`<option value="${id}" ${id === query.domain_id ? "selected" : ""}>${id}</option>`,
  )}</select></label>`,
  filterParameters: ["domain_id"],
})}`,
  });
}

const LIST_COLUMNS: readonly Column<PlanRow>[] = [
  {
    sort: "made_utc",
    title: "Made",
    cell: ({ plan_id, made_utc }) => html`<a href="${planAddress(plan_id)}">${shownTime(made_utc)}</a>`,
  },
  { sort: "domain_id", title: "Domain", cell: ({ domain_id }) => shownId(domain_id) },
  { title: "Of", cell: ({ request }) => sayRequest(request) },
  { title: "State", cell: ({ completed_utc }) => state(completed_utc) },
  { sort: "plan_id", title: "Plan", cell: ({ plan_id }) => html`<code>${plan_id}</code>` },
];

function state(completedAt: string): Html {
  return completedAt ? html`<span class="pill good">complete</span>` : html`<span class="pill warn">incomplete</span>`;
}

function sayRequest(request: PlanRow["request"]): string {
  const steps = Array.isArray(request["steps"]) ? request["steps"] : [];
  const what = steps.length === STEPS.length ? "crawl" : steps.join(", ");
  const scope = textOf(request["scope"]);
  return [what, textOf(request["mode"]), scope === "all" ? "" : scope, textOf(request["source_id"])]
    .filter(Boolean)
    .join(", ");
}

export function planAddress(planId: string): string {
  return `/v2/crawler/plans/get?plan_id=${encodeURIComponent(planId)}&format=ui`;
}

interface ShownPlan {
  readonly plan: PlanAnswer;
  readonly query: PlanQuery;
  readonly page: PageFacts | undefined;
  readonly watched: WatchedJob | undefined;
}

/** One step of a plan at a time, by groups or by items. Works without scripts; with one, applying is followed in the console. */
export function planPage(shown: ShownPlan, frame: Frame): Html {
  const { plan, watched } = shown;
  return layout({
    frame,
    title: `Plan of ${plan.domain_id} · lockstep`,
    body: html`<header class="page-head"><h1>Plan of <bdi>${plan.domain_id}</bdi></h1>
<div class="actions">${plan.completed_utc ? html`<a class="button small" href="/v2/crawler/plans/file?plan_id=${plan.plan_id}&amp;format=raw">Download</a>` : ""}<a class="button small" href="/v2/crawler/plans?format=ui">All plans</a></div>
<p class="quiet">${state(plan.completed_utc)} <code>${plan.plan_id}</code> made ${shownTime(plan.made_utc)} for: ${sayRequest(plan.request)}</p></header>
${plan.completed_utc ? "" : html`<p class="notice warn">Its dry run is running, or did not finish. It cannot be applied.</p>`}
${plan.notes.map((note) => html`<p class="notice"><bdi>${shownName(note)}</bdi></p>`)}
${planFigures(plan)}
${applyForm(plan, frame)}
${jobConsole(watched, frame)}
<section id="plan" data-refresh class="stack" aria-labelledby="plan-title"><h2 id="plan-title">What would change</h2>
${plan.counts.length === 0 ? html`<p class="empty"><strong>Nothing would change.</strong>The domain is in step with its sources.</p>` : changes(shown, frame)}
</section>
${mayChange(frame, "operate") ? deleteForm(plan.plan_id) : ""}`,
  });
}

/** Renders what applying the plan fetches and embeds, and the cost. */
export function planFigures({ estimate }: Pick<PlanAnswer, "estimate">): Html {
  const { documents_to_embed: documents, documents_of_unknown_size: unsized } = estimate;
  const more = unsized > 0 ? `, and ${unsized} of unknown size` : "";
  return html`<dl class="figures panel">
<div><dt>To fetch</dt><dd>${sayBytes(estimate.bytes_to_fetch)}</dd></div>
<div><dt>To embed</dt><dd>${plural(documents, "document")}</dd></div>
<div><dt>Tokens, estimated</dt><dd>${estimate.tokens_to_embed.toLocaleString("en")}${more}</dd></div>
<div><dt>Money</dt><dd>${estimate.money}</dd></div>
</dl>`;
}

/** "" for users who may not, and for plans that cannot be applied. */
export function applyForm(
  { plan_id, completed_utc, counts }: Pick<PlanAnswer, "plan_id" | "completed_utc" | "counts">,
  frame: Frame,
): Html | "" {
  if (!completed_utc || counts.length === 0 || !mayChange(frame, "operate")) return "";
  return html`<form class="panel stack" action="/v2/crawler/apply" method="get" data-crawl>
<input type="hidden" name="plan_id" value="${plan_id}"><input type="hidden" name="format" value="html">
<p>Applying does what still is as planned, and nothing else. What is not is named in the log and left alone.</p>
<label class="check"><input type="checkbox" name="strict" value="true"> <span>Strict: do nothing if anything is not as planned</span></label>
<div class="form-end"><button class="primary">Apply this plan</button></div><p class="form-error" role="alert" hidden></p></form>`;
}

function deleteForm(planId: string): Html {
  return html`<form id="delete" action="/v2/crawler/plans/delete" method="get" data-delete="/v2/crawler/plans?format=ui">
<input type="hidden" name="plan_id" value="${planId}"><input type="hidden" name="format" value="html">
<button class="small danger">Delete the plan</button><p class="form-error" role="alert" hidden></p></form>`;
}

const TONES: Readonly<Record<PlannedKind, string>> = {
  added: "good",
  changed: "busy",
  moved: "busy",
  removed: "bad",
  held: "warn",
  skipped: "idle",
  failed: "bad",
};

const STEP_NAMES: Record<Step, string> = { download: "Download", process: "Process", embed: "Embed" };

function changes({ plan, query, page }: ShownPlan, frame: Frame): Html {
  const steps = STEPS.filter((step) => plan.counts.some((count) => count.step === step));
  const part = { id: "plan-table", listing: listingOf(query), page, empty: "Nothing of that kind.", frame };
  return html`${steps.length > 1 ? stepLinks(steps, plan.step, frame) : ""}
${planCounts(plan, plan.step, (change) => addressWith(frame, { change: change === query.change ? "" : change, offset: "", folder: "" }), query.change)}
${viewLinks(plan, query, frame)}
${
  plan.view === "groups"
    ? pagedTable({
        ...part,
        caption: "Changes by source and folder",
        columns: groupColumns(frame),
        rows: plan.rows as readonly GroupRow[],
      })
    : pagedTable({
        ...part,
        caption: "Planned changes",
        columns: itemColumns(plan),
        rows: plan.rows as readonly ItemRow[],
      })
}`;
}

function listingOf({ limit, offset, filter }: PlanQuery): Listing {
  return { limit, offset, filter, sort: undefined };
}

function stepLinks(steps: readonly Step[], chosen: Step, frame: Frame): Html {
  return html`<nav class="plan-steps" aria-label="Steps of the plan">${steps.map((step) => {
    const address = addressWith(frame, {
      step,
      change: "",
      offset: "",
      view: "",
      source_id: "",
      source_type: "",
      folder: "",
    });
    return html`<a class="button small" href="${address}" ${step === chosen ? html`aria-current="true"` : ""}>${STEP_NAMES[step]}</a>`;
  })}</nav>`;
}

/** How many changes of each kind a step has. `address`: where a click on a kind leads. */
export function planCounts(
  { counts }: Pick<PlanAnswer, "counts">,
  step: Step,
  address: (change: PlannedKind) => string,
  chosen?: PlannedKind | undefined,
): Html {
  const own = counts.filter((count) => count.step === step);
  return html`<ul class="plan-counts">${own.map(({ change, items }) => {
    const now = change === chosen ? html`aria-current="true"` : "";
    return html`<li><a class="${TONES[change]}" href="${address(change)}" ${now}><strong>${items.toLocaleString("en")}</strong> ${change}</a></li>`;
  })}</ul>`;
}

/** Where the rows are in the plan, and the way to the others. */
function viewLinks({ view }: PlanAnswer, { source_id, folder, filter }: PlanQuery, frame: Frame): Html {
  const isGroup = folder !== undefined;
  const back = addressWith(frame, { view: "groups", source_id: "", source_type: "", folder: "", offset: "" });
  if (isGroup) {
    return html`<p class="plan-place"><a href="${withoutFolder(back)}">All folders</a> › <bdi>${source_id ?? ""}</bdi> › <bdi>${folder === "" ? "no folder" : shownName(folder)}</bdi></p>`;
  }
  const of = filter ? " that match" : "";
  return view === "groups"
    ? html`<p class="plan-place">By change, source and folder. <a href="${addressWith(frame, { view: "items", offset: "" })}">All items${of} in one list</a></p>`
    : html`<p class="plan-place">All items${of}. <a href="${back}">By change, source and folder</a></p>`;
}

/** An empty folder means the items in none, so it must not stay in the address. */
function withoutFolder(address: string): string {
  const url = new URL(address, "http://localhost");
  url.searchParams.delete("folder");
  return `${url.pathname}?${url.searchParams}`;
}

function changePill({ change }: { readonly change: string }): Html {
  return html`<span class="pill ${TONES[change as PlannedKind] ?? ""}">${change}</span>`;
}

function groupColumns(frame: Frame): readonly Column<GroupRow>[] {
  const address = ({ change, source_id, source_type, folder }: GroupRow): string => {
    const url = new URL(
      addressWith(frame, { view: "items", change, source_id, source_type, offset: "" }),
      "http://localhost",
    );
    url.searchParams.set("folder", folder);
    return `${url.pathname}?${url.searchParams}`;
  };
  return [
    { title: "Change", cell: changePill },
    { title: "Source", cell: ({ source_id }) => html`<bdi>${source_id}</bdi>` },
    {
      title: "Folder",
      cell: (group) =>
        html`<a href="${address(group)}"><bdi>${group.folder === "" ? "(none)" : shownName(group.folder)}</bdi></a>`,
    },
    { title: "Items", align: "end", cell: ({ items }) => items.toLocaleString("en") },
    { title: "Size", align: "end", cell: sizeCell },
  ];
}

function itemColumns({ step }: PlanAnswer): readonly Column<ItemRow>[] {
  return [
    { title: "Change", cell: changePill },
    { title: "Source", cell: ({ source_id }) => html`<bdi>${source_id}</bdi>` },
    { title: "Item", cell: ({ path, name }) => html`<bdi>${shownName(path || name)}</bdi>` },
    { title: step === "embed" ? "Size, tokens" : "Size", align: "end", cell: sizeCell },
    { title: "Why", cell: ({ reason }) => html`<bdi>${shownName(reason)}</bdi>` },
  ];
}

function sizeCell({ bytes, tokens }: { readonly bytes: number; readonly tokens: number }): Html {
  if (bytes === 0) return html`<span class="none">–</span>`;
  return html`${sayBytes(bytes)}${tokens > 0 ? html`<br><span class="quiet">${tokens.toLocaleString("en")} tokens</span>` : ""}`;
}

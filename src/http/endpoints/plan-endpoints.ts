import type { App } from "../../app/app.ts";
import { applyJob, crawlTask } from "../../app/jobs.ts";
import type { PlanFilter, PlanGroup, ShownItem, StoredPlan } from "../../contracts/plan.ts";
import { STEPS, type Step } from "../../engine/crawl-request.ts";
import { encodeEstimate, type PlanView, parsePlanId } from "../../engine/stored-plans.ts";
import { watchedJob } from "../pages/job-fragments.ts";
import { PAGE_ROWS } from "../pages/paged-table.ts";
import { type ChangeCount, countChanges, PLANNED_KINDS, planListPage, planPage } from "../pages/plan-pages.ts";
import { type Endpoint, endpoint, ok, okPart } from "../routing/endpoint.ts";
import { listing, MAX_LIMIT, pageFacts, takePart } from "../routing/listing.ts";
import { type Arguments, dryRun, optional, required, withDefault } from "../routing/parameters.ts";
import { domainId, jobId, oneOf, sourceId, text, trueOrFalse, type Value, wholeNumber } from "../routing/values.ts";

const LIST_COLUMNS = ["made_utc", "domain_id", "plan_id"];
const EXAMPLE = "plan_id=plan_3f9a1c0b2d4e5f60";

export const planId: Value<string> = {
  accepts: "'plan_' and letters and digits",
  schema: { type: "string", pattern: "^plan_[0-9A-Za-z_]{1,60}$" },
  read: (raw) => (typeof raw === "string" ? parsePlanId(raw) : undefined),
};

export function planEndpoints(app: App): Endpoint[] {
  return [list(app), get(app), remove(app), file(app), apply(app)];
}

function list({ plans, domains }: App): Endpoint {
  return endpoint({
    path: "/v2/crawler/plans",
    methods: ["GET"],
    formats: ["json", "html", "ui"],
    description: "Lists the plans that dry runs stored (plan=store), the newest first.",
    changes: null,
    query: { domain_id: optional(domainId, "Only plans of this domain."), ...listing(LIST_COLUMNS) },
    examples: ["?format=json", "?domain_id=DEMO&limit=20", "?format=ui"],
    run: async (args, { format }) => {
      const rows = (await plans.list(args.domain_id)).map(encodePlan);
      return okPart(takePart(rows, format === "ui" ? { ...args, limit: args.limit ?? PAGE_ROWS } : args));
    },
    ui: async (answer, args, frame) => {
      const ids = (await domains.list()).domains.map((domain) => domain.domainId);
      return await planListPage(answer, args, ids, frame);
    },
  });
}

export type PlanRow = ReturnType<typeof encodePlan>;

function encodePlan({ planId, domainId, madeAt, completedAt, request, sources }: StoredPlan) {
  return {
    plan_id: planId,
    domain_id: domainId,
    made_utc: madeAt,
    completed_utc: completedAt,
    request,
    sources: sources.map(({ sourceType, sourceId, complete, problem }) => {
      return { source_id: sourceId, source_type: sourceType, complete, problem };
    }),
  };
}

const PLAN_QUERY = {
  plan_id: required(planId, "The plan."),
  step: optional(oneOf(STEPS), "The step to show; without it, the first that would do something."),
  view: optional(
    oneOf(["groups", "items"]),
    "groups counts the items of each change, source and folder; items lists them. Without it, items where they fit one page, or folder or filter is given.",
  ),
  change: optional(oneOf(PLANNED_KINDS), "Only this kind of changes."),
  source_id: optional(sourceId, "Only items of this source."),
  source_type: optional(text, "And of this kind, where two sources have the same id."),
  folder: optional(text, "Only items in this folder, not those below it; empty: those in none."),
  filter: withDefault(text, "", "Only items in whose path, name or reason this occurs."),
  limit: withDefault(wholeNumber({ from: 1, to: MAX_LIMIT }), PAGE_ROWS, "At most this many."),
  offset: withDefault(wholeNumber({ from: 0, to: 999_999_999 }), 0, "Leaves out this many first."),
  job_id: optional(jobId, "For the page: the job to watch."),
};

export type PlanQuery = Arguments<typeof PLAN_QUERY>;

/** The answer: the plan, and the rows of one step. */
export interface PlanAnswer extends PlanRow {
  readonly counts: readonly ChangeCount[];
  readonly estimate: ReturnType<typeof encodeEstimate>;
  readonly notes: readonly string[];
  readonly step: Step;
  readonly view: "groups" | "items";
  readonly rows: readonly (GroupRow | ItemRow)[];
}

export type GroupRow = ReturnType<typeof encodeGroup>;
export type ItemRow = ReturnType<typeof encodeItem>;

function get(app: App): Endpoint {
  return endpoint({
    path: "/v2/crawler/plans/get",
    methods: ["GET"],
    formats: ["json", "html", "ui"],
    description:
      "Returns a stored plan: what would change, grouped by change, source and folder, or item by item, in pages; how much there is to fetch and to embed, and an estimate of what that costs.",
    changes: null,
    query: PLAN_QUERY,
    examples: [`?${EXAMPLE}`, `?${EXAMPLE}&view=items&change=removed&limit=100`, `?${EXAMPLE}&format=ui`],
    async run(args) {
      const { data, total } = await readPlan(app, args);
      return { ...ok(data), page: pageFacts(args, data.rows.length, total) };
    },
    ui: async ({ data, page }, args, frame) => {
      return await planPage({ plan: data, query: args, page, watched: await watchedJob(app, args.job_id) }, frame);
    },
  });
}

async function readPlan({ plans }: App, query: PlanQuery): Promise<{ data: PlanAnswer; total: number }> {
  const { plan_id: id, limit, offset } = query;
  const view = await plans.view(id);
  const filter = filterOf(view, query);
  const part = { limit, offset };
  const shown = query.view ?? usualView(view, filter, limit);
  const items = shown === "items" ? await plans.items(id, filter, part) : undefined;
  const groups = items ? undefined : await plans.groups(id, filter, part);
  const rows = items?.rows.map(encodeItem) ?? groups?.rows.map(encodeGroup) ?? [];
  const data = {
    ...encodePlan(view.plan),
    counts: countChanges(view),
    estimate: encodeEstimate(view),
    notes: view.notes,
    step: filter.step,
    view: shown,
    rows,
  };
  return { data, total: (items ?? groups)?.total ?? 0 };
}

/** Items where few are left: they fit one page, or a folder or words are looked for. */
function usualView({ totals }: PlanView, filter: PlanFilter, limit: number): "groups" | "items" {
  if (filter.folder !== undefined || filter.text) return "items";
  const own = totals.filter(({ step, change }) => step === filter.step && (filter.change ?? change) === change);
  return own.reduce((sum, { items }) => sum + items, 0) <= limit ? "items" : "groups";
}

function filterOf({ totals, plan }: PlanView, query: PlanQuery): PlanFilter {
  const steps = STEPS.filter((step) => totals.some((total) => total.step === step));
  // A source that the plan does not have filters everything out.
  const source = query.source_id && {
    sourceId: query.source_id,
    sourceType: query.source_type ?? plan.sources.find((one) => one.sourceId === query.source_id)?.sourceType ?? "",
  };
  return {
    step: query.step ?? steps[0] ?? "download",
    change: query.change as PlanFilter["change"],
    ...(source && { source }),
    folder: query.folder,
    text: query.filter,
  };
}

function encodeGroup({ change, sourceId, sourceType, folder, items, bytes, tokens }: PlanGroup) {
  return { change, source_id: sourceId, source_type: sourceType, folder, items, bytes, tokens };
}

function encodeItem({ change, source, itemId, path, name, reason, bytes = 0, tokens = 0 }: ShownItem) {
  const { sourceId, sourceType } = source;
  return { change, source_id: sourceId, source_type: sourceType, item_id: itemId, path, name, reason, bytes, tokens };
}

function file({ plans }: App): Endpoint {
  const path = "/v2/crawler/plans/file";
  return endpoint({
    path,
    methods: ["GET"],
    formats: ["raw"],
    description:
      "Returns a stored plan as JSON lines, for 'lockstep apply' here or on another machine with the same domain.",
    changes: null,
    query: { plan_id: required(planId, "The plan.") },
    examples: [`?${EXAMPLE}&format=raw`, `curl -OJ '{origin}${path}?${EXAMPLE}&format=raw'`],
    raw: async ({ plan_id }) => ({
      bytes: undefined,
      content: await plans.file(plan_id),
      mediaType: "application/jsonl; charset=utf-8",
      fileName: `${plan_id}.jsonl`,
    }),
  });
}

function remove({ plans }: App): Endpoint {
  return endpoint({
    path: "/v2/crawler/plans/delete",
    methods: ["DELETE", "GET"],
    formats: ["json", "html"],
    description: "Deletes a stored plan. Maintenance does after 30 days.",
    changes: "The plan. Nothing that it is about.",
    query: { plan_id: required(planId, "The plan."), dry_run: dryRun },
    examples: [`?${EXAMPLE}`],
    async run({ plan_id, dry_run }) {
      const { plan } = await plans.view(plan_id);
      if (!dry_run) await plans.discard(plan_id);
      return ok(encodePlan(plan));
    },
  });
}

function apply(app: App): Endpoint {
  const path = "/v2/crawler/apply";
  return endpoint({
    path,
    methods: ["POST", "GET"],
    formats: ["json", "html", "stream"],
    description:
      "Carries out a stored plan: what still is as planned is done, what is not is named and left alone, and nothing else happens. Runs as a job that goes on when the client hangs up; json and html answer at its end, stream tells its events as they happen.",
    changes:
      "What the plan has: the domain's files below crawler/, its vector store, and a report. A dry run changes none and tells what would be done.",
    destroys: () => true,
    query: {
      plan_id: required(planId, "The plan, as a dry run with plan=store named it."),
      strict: withDefault(trueOrFalse, false, "true does nothing at all if anything is not as planned any more."),
      dry_run: dryRun,
    },
    examples: [`?${EXAMPLE}`, `?${EXAMPLE}&strict=true`, `curl -N -X POST '{origin}${path}?${EXAMPLE}&format=stream'`],
    async job({ plan_id, strict, dry_run }) {
      const { start, work, request } = await applyJob(app, plan_id, { strict, dryRun: dry_run });
      return { start: { ...start, task: crawlTask(request) }, work };
    },
  });
}

import { randomBytes } from "node:crypto";
import type { Domain } from "../contracts/domain.ts";
import { NotFoundError } from "../contracts/errors.ts";
import type { DomainId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type {
  PlanDraft,
  PlanFilter,
  PlanGroup,
  PlannedItem,
  PlannedSource,
  PlanTotal,
  ShownItem,
  StoredPlan,
  StoredPlans,
} from "../contracts/plan.ts";
import { releaseNumber } from "../lib/release.ts";
import { plural, sayBytes } from "../lib/text.ts";
import { estimateMoney, type Money, type PlanNeeds } from "../plan/plan-costs.ts";
import { findCompletePlan, findPlan } from "./approval.ts";
import { type CrawlRequest, type SourceResult, STEPS } from "./crawl-request.ts";
import type { EngineParts } from "./engine-parts.ts";
import { decodePlanRequest, formatPlan, readPlanFile } from "./plan-file.ts";

/** A stored plan with its sums. */
export interface PlanView {
  readonly plan: StoredPlan;
  readonly totals: readonly PlanTotal[];
  readonly needs: PlanNeeds;
  readonly money: Money;
  /** What users should know about what the plan covers, one sentence each. */
  readonly notes: readonly string[];
}

type Part = Parameters<StoredPlans["groups"]>[2];

/** Stored plans, for review and approval. Everything but `list` and `discard` throws NotFoundError for an unknown id. */
export interface Plans {
  /** Lists the plans of a domain, or of all, newest first. */
  list(domainId?: DomainId): Promise<readonly StoredPlan[]>;
  view(planId: string): Promise<PlanView>;
  groups(planId: string, filter: PlanFilter, part: Part): Promise<{ rows: readonly PlanGroup[]; total: number }>;
  items(planId: string, filter: PlanFilter, part: Part): Promise<{ rows: readonly ShownItem[]; total: number }>;
  /** The plan as JSON lines. ConflictError if it is incomplete. */
  file(planId: string): Promise<AsyncIterable<Uint8Array>>;
  /** Stores a plan file under a new id and returns it. BadInputError if it is no complete plan; NotFoundError without its domain. */
  take(bytes: AsyncIterable<Uint8Array>, name: string): Promise<string>;
  /** The crawl that carries the plan out. ConflictError if it is incomplete. */
  request(planId: string, options: { readonly strict: boolean }): Promise<CrawlRequest>;
  discard(planId: string): Promise<void>;
}

export function newPlanId(): string {
  return `plan_${randomBytes(8).toString("hex")}`;
}

export function parsePlanId(text: string): string | undefined {
  return /^plan_[0-9A-Za-z_]{1,60}$/.test(text) ? text : undefined;
}

export function createPlans(parts: Pick<EngineParts, "ledgers" | "domains" | "costs">): Plans {
  const { ledgers, domains } = parts;
  const { plans } = ledgers;
  return {
    async list(domainId) {
      const ids = domainId === undefined ? (await domains.list()).domains.map((domain) => domain.domainId) : [domainId];
      const all = (await Promise.all(ids.map((id) => plans.list(id)))).flat();
      return all.sort((a, b) => (a.madeAt < b.madeAt ? 1 : -1));
    },
    view: async (planId) => await viewPlan(await findPlan(planId, ledgers), parts),
    groups: async (planId, filter, part) => await plans.groups(await findPlan(planId, ledgers), filter, part),
    items: async (planId, filter, part) => await plans.shown(await findPlan(planId, ledgers), filter, part),
    async file(planId) {
      const view = await viewPlan(await findCompletePlan(planId, ledgers), parts);
      return formatPlan(view.plan, itemsOf(view.plan, plans), {
        lockstep: releaseNumber(),
        estimate: encodeEstimate(view),
        covers: (source) => (isReadWhileListed(source, parts) ? COVERS_KNOWN : ""),
      });
    },
    take: (bytes, name) => takePlanFile(bytes, name, parts),
    async request(planId, { strict }) {
      const { domainId, request } = await findCompletePlan(planId, ledgers);
      return {
        ...decodePlanRequest(domainId, request, domains.kinds),
        approvedPlan: planId,
        ...(strict && { strict }),
      };
    },
    async discard(planId) {
      const plan = await plans.find(planId);
      if (plan) await plans.discard(plan);
    },
  };
}

/** Marks the plan of a dry run as complete, and logs what it needs. */
export async function completePlan(
  planId: string,
  { domainId }: Domain,
  sources: readonly SourceResult[],
  parts: Pick<EngineParts, "ledgers" | "domains" | "costs">,
  job: JobContext,
): Promise<void> {
  const { plans } = parts.ledgers;
  const outcomes = sources.map(({ source_type, source_id, complete, error }) => {
    return { sourceType: source_type, sourceId: source_id, complete, problem: error };
  });
  await plans.complete({ planId, domainId }, outcomes);
  const view = await viewPlan(await findPlan(planId, parts.ledgers), parts);
  job.log(`Plan: ${sayPlan(view)}.`);
  for (const note of view.notes) job.log(note);
}

/** `download 12, embed 10; 3.2 MB to fetch; 10 documents to embed, about 12000 tokens; money: none: …` */
export function sayPlan({ totals, needs, money }: PlanView): string {
  const steps = STEPS.flatMap((step) => {
    const items = sum(
      totals.filter((total) => total.step === step && total.change !== "skipped"),
      ({ items }) => items,
    );
    return items > 0 ? [`${step} ${items}`] : [];
  });
  if (steps.length === 0) return "nothing would change";
  const { bytesToFetch, documents, tokens, unsized } = needs;
  const more = unsized > 0 ? `, and ${plural(unsized, "document")} of unknown size` : "";
  const embed = `${plural(documents, "document")} to embed, about ${plural(tokens, "token")}${more}`;
  return `${steps.join(", ")}; ${sayBytes(bytesToFetch)} to fetch; ${embed}; money: ${money.words}`;
}

/** For the plan's file, and for programs. */
export function encodeEstimate({ needs, money }: Pick<PlanView, "needs" | "money">) {
  return {
    bytes_to_fetch: needs.bytesToFetch,
    documents_to_embed: needs.documents,
    tokens_to_embed: needs.tokens,
    documents_of_unknown_size: needs.unsized,
    dollars: money.dollars,
    dollars_every: money.every,
    money: money.words,
  };
}

const COVERS_KNOWN = "addresses that were known or found when the plan was made";

async function viewPlan(
  plan: StoredPlan,
  { ledgers, domains, costs }: Pick<EngineParts, "ledgers" | "domains" | "costs">,
): Promise<PlanView> {
  const totals = await ledgers.plans.totals(plan);
  const puts = totals.filter(({ step, change }) => step === "embed" && isPut(change));
  const fetched = totals.filter(({ step, change }) => step === "download" && isPut(change));
  const needs: PlanNeeds = {
    bytesToFetch: sum(fetched, ({ bytes }) => bytes),
    documents: sum(puts, ({ items }) => items),
    tokens: sum(puts, ({ tokens }) => tokens),
    unsized: sum(puts, ({ unsized }) => unsized),
  };
  const notes = plan.sources.flatMap((source) => [
    ...(source.problem ? [`Source '${source.sourceId}': ${source.problem}`] : []),
    ...(isReadWhileListed(source, { domains })
      ? [
          `Source '${source.sourceId}': the plan covers ${COVERS_KNOWN}. Pages that come later are left for the next crawl.`,
        ]
      : []),
  ]);
  return { plan, totals, needs, money: estimateMoney(needs, costs.pricing, costs.prices), notes };
}

function isPut(change: PlannedItem["change"]): boolean {
  return change === "added" || change === "changed";
}

function sum<T>(rows: readonly T[], value: (row: T) => number): number {
  return rows.reduce((total, row) => total + value(row), 0);
}

function isReadWhileListed(
  { sourceType }: Pick<PlannedSource, "sourceType">,
  { domains }: Pick<EngineParts, "domains">,
) {
  return domains.kinds.find(sourceType)?.abilities.isReadWhileListed ?? false;
}

async function* itemsOf({ planId, domainId, sources }: StoredPlan, plans: StoredPlans) {
  for (const { sourceType, sourceId } of sources) {
    const plan = await plans.read({ planId, domainId, sourceType, sourceId });
    for await (const page of plan?.all() ?? []) yield page.map((item) => ({ sourceType, sourceId, item }));
  }
}

const WRITTEN_TOGETHER = 1000;

async function takePlanFile(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
  { ledgers: { plans }, domains }: Pick<EngineParts, "ledgers" | "domains">,
): Promise<string> {
  const planId = newPlanId();
  const drafts = new Map<string, PlanDraft>();
  let taken: Pick<StoredPlan, "planId" | "domainId"> | undefined;
  let outcomes: readonly PlannedSource[] = [];
  let items = 0;
  try {
    for await (const line of readPlanFile(bytes, name)) {
      if (line.kind === "item") {
        const { sourceType, sourceId } = line.source;
        const draft = drafts.get(`${sourceType}/${sourceId}`);
        draft?.add(line.item);
        // Waits until they are written, so that a long file is not read into memory.
        items += 1;
        if (items % WRITTEN_TOGETHER === 0) await draft?.close();
        continue;
      }
      const { domainId, request, sources } = line.head;
      await domains.get(domainId).catch((error: unknown) => {
        if (!(error instanceof NotFoundError)) throw error;
        throw new NotFoundError(`Plan '${name}' is for domain '${domainId}', which does not exist here (any more).`);
      });
      decodePlanRequest(domainId, request, domains.kinds);
      taken = { planId, domainId };
      outcomes = sources;
      await plans.begin({ ...taken, request });
      for (const { sourceType, sourceId, policy } of sources) {
        drafts.set(`${sourceType}/${sourceId}`, await plans.write({ ...taken, sourceType, sourceId }, policy));
      }
    }
    for (const draft of drafts.values()) await draft.close();
    if (taken) await plans.complete(taken, outcomes);
    return planId;
  } catch (error) {
    for (const draft of drafts.values()) await draft.close().catch(() => undefined);
    if (taken) await plans.discard(taken);
    throw error;
  }
}

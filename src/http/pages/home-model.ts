import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import { NotFoundError } from "../../contracts/errors.ts";
import type { DomainId, JobId } from "../../contracts/ids.ts";
import type { JobRecord } from "../../contracts/job.ts";
import type { QueryAnswer } from "../../engine/query.ts";
import { toFailure } from "../grammar/failure.ts";
import { domainId, jobId } from "../grammar/values.ts";

const CRAWLER = "crawler";
const RECENT_JOBS = 12;
const RESULTS = 10;

export interface DomainStanding {
  readonly domain: Domain;
  /** Running or paused now. */
  readonly active: JobRecord | undefined;
  /** The last crawl that ended and was no dry run. */
  readonly last: JobRecord | undefined;
}

export interface Search {
  readonly query: string;
  readonly domainId: string;
  readonly answer: QueryAnswer | undefined;
  readonly error: string;
}

/** Everything the overview shows, gathered before any of it is rendered. */
export interface HomeModel {
  readonly domains: readonly DomainStanding[];
  readonly broken: readonly { readonly domainId: string; readonly reason: string }[];
  readonly jobs: readonly JobRecord[];
  /** The job in the console: the one asked for, else the newest active one. */
  readonly watched: { readonly job: JobRecord; readonly log: string } | undefined;
  readonly search: Search;
}

export async function gatherHome(app: App, params: URLSearchParams): Promise<HomeModel> {
  const [{ domains, broken }, jobs, active, lastCrawls, search] = await Promise.all([
    app.domains.list(),
    app.jobs.list({ limit: RECENT_JOBS }),
    app.jobs.list({ state: "active" }),
    app.jobs.list({ router: CRAWLER, matching: isEndedCrawl, limit: 1, per: "object" }),
    runSearch(app, params),
  ]);
  return {
    domains: domains.map((domain) => ({
      domain,
      active: active.find((job) => job.router === CRAWLER && job.object === domain.domainId),
      last: lastCrawls.find((job) => job.object === domain.domainId),
    })),
    broken,
    jobs,
    watched: (await watch(app, jobId.read(params.get("job_id")))) ?? (await watch(app, active[0]?.jobId)),
    search,
  };
}

export function isActive(job: JobRecord): boolean {
  return job.state === "running" || job.state === "paused";
}

function isEndedCrawl(job: JobRecord): boolean {
  return job.action === "crawl" && !isActive(job) && !job.dryRun;
}

/** undefined: no job was meant, or it was removed meanwhile. */
async function watch({ jobs }: App, id: JobId | undefined): Promise<HomeModel["watched"]> {
  if (id === undefined) return undefined;
  try {
    return { job: await jobs.get(id), log: await jobs.lastLog(id) };
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

async function runSearch(app: App, params: URLSearchParams): Promise<Search> {
  const query = (params.get("query") ?? "").trim();
  const domain = domainId.read(params.get("domain_id"));
  const search = { query, domainId: domain ?? "", answer: undefined, error: "" };
  if (query === "") return search;
  try {
    return { ...search, answer: await ask(app, query, domain) };
  } catch (error) {
    const failure = toFailure(error);
    if (failure.status >= 500 && failure.status !== 502) throw error;
    return { ...search, error: failure.message };
  }
}

function ask(app: App, text: string, domain: DomainId | undefined): Promise<QueryAnswer> {
  return app.query({ text, vectorStoreId: undefined, domainId: domain, limit: RESULTS });
}

import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { JobRecord } from "../../contracts/job.ts";
import type { QueryAnswer } from "../../engine/query.ts";
import { toFailure } from "../grammar/failure.ts";
import { domainId, jobId } from "../grammar/values.ts";
import { summarizeCrawl } from "./crawl-summary.ts";

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
  const [{ domains, broken }, jobs] = await Promise.all([app.domains.list(), app.jobs.list()]);
  const watched = chooseWatched(jobs, params.get("job_id"));
  const [log, search] = await Promise.all([watched ? app.jobs.lastLog(watched.jobId) : "", runSearch(app, params)]);
  return {
    domains: domains.map((domain) => standing(domain, jobs)),
    broken,
    jobs: jobs.slice(0, RECENT_JOBS),
    watched: watched ? { job: watched, log } : undefined,
    search,
  };
}

export function isActive(job: JobRecord): boolean {
  return job.state === "running" || job.state === "paused";
}

function standing(domain: Domain, jobs: readonly JobRecord[]): DomainStanding {
  const own = jobs.filter((job) => job.router === "crawler" && job.object === domain.domainId);
  return {
    domain,
    active: own.find(isActive),
    last: own.find((job) => !isActive(job) && !isDryRun(job)),
  };
}

function isDryRun(job: JobRecord): boolean {
  return summarizeCrawl(job)?.dryRun ?? /[?&]dry_run=true(?:&|$)/.test(job.endpoint);
}

function chooseWatched(jobs: readonly JobRecord[], asked: string | null): JobRecord | undefined {
  const id = jobId.read(asked);
  return jobs.find((job) => job.jobId === id) ?? jobs.find(isActive);
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

import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import type { JobRecord } from "../../contracts/job.ts";
import type { Standing } from "../../engine/standing.ts";
import { CHARTED_CRAWLS } from "./crawl-chart.ts";
import type { DomainView } from "./domain-card.ts";
import { isEndedCrawl, isWorkOn } from "./job-words.ts";
import { gatherRunning, type RunningJobs } from "./running-jobs.ts";

const CRAWLER = "crawler";
const RECENT_JOBS = 8;
/** Beyond these the list of domains is the better page. */
const SHOWN_DOMAINS = 24;

/** How the installation is, gathered before any of it is rendered. */
export interface HomeModel {
  readonly domains: readonly DomainView[];
  /** Also those that are not looked at here. */
  readonly allDomains: readonly Domain[];
  readonly broken: readonly { readonly domainId: string; readonly reason: string }[];
  readonly running: RunningJobs;
  readonly jobs: readonly JobRecord[];
}

export async function gatherHome(app: App): Promise<HomeModel> {
  const [{ domains, broken }, jobs, active, crawls] = await Promise.all([
    app.domains.list(),
    app.jobs.list({ limit: RECENT_JOBS }),
    app.jobs.list({ state: "active" }),
    app.jobs.list({ router: CRAWLER, matching: isEndedCrawl, limit: CHARTED_CRAWLS, per: "object" }),
  ]);
  const shown = domains.slice(0, SHOWN_DOMAINS);
  const view = async (domain: Domain): Promise<DomainView> => ({
    kinds: app.domains.kinds,
    domain,
    active: active.find((job) => job.router === CRAWLER && isWorkOn(domain.domainId, job)),
    crawls: crawls.filter((job) => job.object === domain.domainId),
    standing: await standingOf(app, domain),
    nextRunAt: app.schedule.nextRunAt(domain),
  });
  return {
    domains: await Promise.all(shown.map(view)),
    allDomains: domains,
    broken,
    running: await gatherRunning(app, active),
    jobs,
  };
}

/** One domain that cannot be looked at must not hide the others. */
async function standingOf(app: App, domain: Domain): Promise<Standing | undefined> {
  return app.standing(domain).catch(() => undefined);
}

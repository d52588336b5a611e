import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import type { JobRecord } from "../../contracts/job.ts";
import { type Health, healthOf } from "./health-of.ts";
import { isEndedCrawl, isWorkOn } from "./job-words.ts";

/** A domain and how it stands, for lists and its own page. */
export interface DomainOverview {
  readonly domain: Domain;
  readonly health: Health;
  /** null: the index cannot be asked. */
  readonly documents: number | null;
  readonly last: JobRecord | undefined;
  /** "" where nothing is scheduled. */
  readonly nextRunAt: string;
}

/** Of all of them the jobs are read once. */
export async function viewDomains(app: App, domains: readonly Domain[]): Promise<readonly DomainOverview[]> {
  const [active, ended] = await Promise.all([
    app.jobs.list({ router: "crawler", state: "active" }),
    app.jobs.list({ router: "crawler", matching: isEndedCrawl, limit: 1, per: "object" }),
  ]);
  const isOf = ({ domainId }: Domain, job: JobRecord): boolean => job.object === domainId;
  return await Promise.all(
    domains.map(async (domain) => {
      const last = ended.find((job) => isOf(domain, job));
      // One domain that cannot be looked at must not hide the others.
      const standing = await app.standing(domain).catch(() => undefined);
      const vitals = {
        kinds: app.domains.kinds,
        domainId: domain.domainId,
        active: active.find((job) => isWorkOn(domain.domainId, job)),
        last,
        standing,
      };
      return {
        domain,
        health: healthOf(vitals),
        documents: standing?.documents ?? null,
        last,
        nextRunAt: app.schedule.nextRunAt(domain),
      };
    }),
  );
}

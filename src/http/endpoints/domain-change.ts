import type { App } from "../../app/app.ts";
import type { Domain } from "../../contracts/domain.ts";
import type { DomainId, JobId } from "../../contracts/ids.ts";
import { formatDomain } from "../../domains/domain-codec.ts";
import type { JobWork } from "../../jobs/job-runner.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { type Answer, ok } from "../routing/endpoint.ts";

/** A change that was checked and can be told (dry run) or made. */
export interface DomainChange {
  readonly action: "create" | "update" | "delete";
  /** What the job is named after. */
  readonly domainId: DomainId;
  /** What a dry run answers. */
  readonly foreseen: JsonObject;
  /** What the change answers; `jobId` when it runs as a job. */
  apply(log: (line: string) => void, jobId?: JobId): Promise<JsonObject>;
}

/** A domain as every endpoint shows it. */
export function showDomain({ schedule, domains }: Pick<App, "schedule" | "domains">, domain: Domain): JsonObject {
  return { ...formatDomain(domain, domains.kinds), next_run_utc: schedule.nextRunAt(domain) };
}

export async function carryOut(change: DomainChange, dry: boolean): Promise<Answer<JsonObject>> {
  return ok(dry ? change.foreseen : await change.apply(() => undefined));
}

export function asJob(change: DomainChange, dry: boolean): JobWork {
  const { action, domainId } = change;
  return {
    start: { router: "domains", action, object: domainId, dryRun: dry },
    async work(job) {
      if (dry) {
        job.log(`[ 1 / 1 ] ${action} domain '${domainId}'...`);
        job.log("  Dry run: nothing was changed.");
        return ok(change.foreseen);
      }
      const data = await change.apply((line) => job.log(line), job.jobId);
      job.log("  OK.");
      return ok(data);
    },
  };
}

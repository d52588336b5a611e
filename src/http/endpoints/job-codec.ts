import type { JobRecord } from "../../contracts/job.ts";

/** A job as JSON: the names of its `start_json`, and what only its file can tell. */
export function toJobJson(job: JobRecord): Record<string, unknown> {
  return {
    job_id: job.jobId,
    endpoint: job.endpoint,
    dry_run: job.dryRun,
    state: job.state,
    start_utc: job.startedAt,
    end_utc: job.endedAt,
    result: job.result,
    router: job.router,
    action: job.action,
    object: job.object,
    stalled: job.stalled,
    last_modified_utc: job.lastModifiedAt,
    monitor_url: monitorUrl(job.jobId),
  };
}

export function monitorUrl(jobId: string): string {
  return `/v2/jobs/monitor?job_id=${encodeURIComponent(jobId)}&format=stream`;
}

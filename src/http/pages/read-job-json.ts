import type { JobId } from "../../contracts/ids.ts";
import type { JobRecord, JobState, Result } from "../../contracts/job.ts";

/** The way back from what toJobJson made: a page is a rendering of the very answer that programs get. */
export function readJobJson(json: Readonly<Record<string, unknown>>): JobRecord {
  const text = (name: string): string => String(json[name] ?? "");
  const result = (json["result"] ?? null) as Result | null;
  return {
    jobId: text("job_id") as JobId,
    endpoint: text("endpoint"),
    dryRun: json["dry_run"] === true,
    state: text("state") as JobState,
    startedAt: text("start_utc"),
    endedAt: text("end_utc"),
    result,
    stalled: json["stalled"] === true,
    router: text("router"),
    action: text("action"),
    object: text("object"),
    lastModifiedAt: text("last_modified_utc"),
  };
}

import { rm } from "node:fs/promises";
import { relative } from "node:path";
import type { MaintenanceParts } from "../engine/maintain/maintain.ts";
import type { App } from "./app.ts";
import { findOldFiles } from "./find-old-files.ts";
import { JOBS_KEPT_DAYS } from "./remove-old.ts";

/** What a server does every day, the files that killed processes left, and those of an earlier release that were taken over. */
export function removeOldFiles(
  { jobs, reports, config }: Pick<App, "jobs" | "reports" | "config">,
  now: () => Date,
): MaintenanceParts["removeOld"] {
  return async (tally, { dryRun }) => {
    const note = { domain_id: "", source_id: "" };
    for (const { jobId, bytes } of await jobs.removeOldJobs(JOBS_KEPT_DAYS, { dryRun })) {
      tally.add({ ...note, kind: "jobs", what: jobId, bytes });
    }
    const days = config.keepReportsDays;
    for (const { id, bytes } of days > 0 ? await reports.removeOldReports(days, { dryRun }) : []) {
      tally.add({ ...note, kind: "reports", what: id, bytes });
    }
    for await (const { kind, path, bytes } of findOldFiles(config.storagePath, now())) {
      if (!dryRun) await rm(path, { force: true, recursive: true });
      tally.add({ ...note, kind, what: relative(config.storagePath, path), bytes });
    }
  };
}

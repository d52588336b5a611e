import { rm } from "node:fs/promises";
import { relative } from "node:path";
import type { MaintenanceParts } from "../engine/maintain/maintain.ts";
import type { App } from "./app.ts";
import { JOBS_KEPT_DAYS } from "./remove-old.ts";
import { findTemporaryFiles } from "./temporary-files.ts";

/** What a server does every day, and the files that killed processes left. */
export function removeOldFiles({
  jobs,
  reports,
  config,
}: Pick<App, "jobs" | "reports" | "config">): MaintenanceParts["removeOld"] {
  return async (tally, { dryRun }) => {
    const note = { domain_id: "", source_id: "" };
    for (const { jobId, bytes } of await jobs.removeOldJobs(JOBS_KEPT_DAYS, { dryRun })) {
      tally.add({ ...note, kind: "jobs", what: jobId, bytes });
    }
    const days = config.keepReportsDays;
    for (const { id, bytes } of days > 0 ? await reports.removeOldReports(days, { dryRun }) : []) {
      tally.add({ ...note, kind: "reports", what: id, bytes });
    }
    for await (const { path, bytes } of findTemporaryFiles(config.storagePath, new Date())) {
      if (!dryRun) await rm(path, { force: true });
      tally.add({ ...note, kind: "temporary_files", what: relative(config.storagePath, path), bytes });
    }
  };
}

import { plural } from "../lib/plural.ts";
import { type Repetition, repeat } from "../lib/repeat.ts";
import type { App } from "./app.ts";

export const JOBS_KEPT_DAYS = 90;
const DAY_MS = 24 * 60 * 60_000;

export interface RemovalOptions {
  /** Hears what could not be removed; everything else goes on. */
  readonly onError: (error: unknown) => void;
  /** Hears how much was removed. */
  readonly log: (line: string) => void;
  readonly everyMs?: number;
}

/**
 * Removes what was kept long enough, now and then every day: a server may run for months. Resolves after the first time,
 * and never rejects: what cannot be tidied up must not keep a server from starting.
 */
export async function removeOldDaily(
  { jobs, reports, config }: Pick<App, "jobs" | "reports" | "config">,
  { onError, log, everyMs = DAY_MS }: RemovalOptions,
): Promise<Repetition> {
  const attempt = async (noun: string, remove: () => Promise<readonly unknown[]>): Promise<void> => {
    try {
      const { length } = await remove();
      if (length > 0) log(`Removed ${plural(length, `${noun} that was`, `${noun}s that were`)} kept long enough.`);
    } catch (error) {
      onError(error);
    }
  };
  const remove = async (): Promise<void> => {
    await attempt("job", () => jobs.removeOldJobs(JOBS_KEPT_DAYS));
    const days = config.keepReportsDays;
    if (days > 0) await attempt("report", () => reports.removeOldReports(days));
  };
  await remove();
  return repeat(remove, { everyMs, onError });
}

import type { App } from "../app/app.ts";
import type { JobRecord } from "../contracts/job.ts";
import type { JobWork } from "../jobs/job-runner.ts";
import { audited } from "./audited.ts";
import { followJob, showJob } from "./job-view.ts";
import { exitCodeOf, openApp, type StopSignal, untilStopped } from "./open-app.ts";

/** What a command runs, and what it prints at the end beside the outcome. */
export interface CommandJob {
  /** Throws before there is a job if the request is not possible. */
  prepare(app: App): Promise<JobWork>;
  summary(data: unknown): string;
  /** The audit log does not have the arguments. */
  readonly unaudited?: boolean;
  /** The summary alone goes to standard output. */
  readonly isJson?: boolean;
  /** Where it is more than 0 for ok and 1 for not ok; undefined: these. */
  exitCode?(record: JobRecord): number | undefined;
}

/**
 * Runs the job, showing its log, and returns the exit code. Ctrl+C cancels the job; it has ended, and its file says so, before this
 * resolves.
 */
export async function runJob(job: CommandJob): Promise<number> {
  await using app = await openApp();
  return await runIn(app, job);
}

async function runIn(
  app: App,
  { prepare, summary, isJson = false, unaudited = false, exitCode }: CommandJob,
): Promise<number> {
  let stoppedBy: StopSignal | undefined;
  void untilStopped().then((signal) => {
    stoppedBy = signal;
    return app.runner.stop("Stopped by a signal.");
  });
  await app.endDeadJobs((line) => process.stderr.write(`Warning: ${line}\n`));
  const { start, work } = await prepare(app);
  if (stoppedBy) return exitCodeOf(stoppedBy);
  const run = async (): Promise<JobRecord> => {
    const job = await app.runner.start({ endpoint: `lockstep ${process.argv.slice(2).join(" ")}`, ...start }, work);
    await showJob(followJob(app, job.jobId), isJson ? process.stderr : process.stdout);
    return job.done;
  };
  const outcome = ({ result }: JobRecord) => ({ ok: result?.ok ?? false, error: result?.error ?? "" });
  const record = await (start.dryRun ? run() : audited(app.audit, run, outcome, { unaudited }));
  const { jobId, result, state } = record;
  process.stdout.write(summary(result?.data));
  (isJson ? process.stderr : process.stdout).write(`Job ${jobId} ${state}.\n`);
  if (result?.ok) return exitCode?.(record) ?? 0;
  process.stderr.write(`lockstep: ${result?.error ?? "the job did not end"}\n`);
  if (stoppedBy && state === "cancelled") return exitCodeOf(stoppedBy);
  return exitCode?.(record) ?? 1;
}

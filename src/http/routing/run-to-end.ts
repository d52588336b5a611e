import type { JobRunner, JobWork } from "../../jobs/job-runner.ts";
import type { Answer, Call } from "./endpoint.ts";

/** Runs a job and waits for its result. The job goes on if the client disconnects. */
export async function runToEnd(
  runner: JobRunner,
  { start, work }: JobWork,
  call: Call,
): Promise<Answer<Record<string, unknown>>> {
  const running = await runner.start({ endpoint: call.endpoint, ...start }, work);
  const { jobId, state, result } = await running.done;
  const data = typeof result?.data === "object" && result.data !== null ? result.data : {};
  return { ok: result?.ok ?? false, error: result?.error ?? "", data: { job_id: jobId, state, ...data } };
}

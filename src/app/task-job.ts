import type { JobId } from "../contracts/ids.ts";
import type { NewTask } from "../contracts/queue.ts";

/** A task as it is queued: with the job whose file waits for it. */
export function forJob({ kind, payload }: NewTask, jobId: JobId): NewTask {
  return { kind, payload: { ...(payload as object), jobId } };
}

/** The other end. undefined: no task of ours. */
export function jobOf({ payload }: Pick<NewTask, "payload">): JobId | undefined {
  const { jobId } = (payload ?? {}) as { readonly jobId?: unknown };
  return typeof jobId === "string" ? (jobId as JobId) : undefined;
}

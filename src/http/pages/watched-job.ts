import type { App } from "../../app/app.ts";
import { NotFoundError } from "../../contracts/errors.ts";
import type { JobId } from "../../contracts/ids.ts";
import type { JobRecord } from "../../contracts/job.ts";

/** A job and the last it said: what a console begins with. */
export interface WatchedJob {
  readonly job: JobRecord;
  readonly log: string;
}

/** undefined: no job was meant, or it was removed meanwhile. */
export async function watchedJob({ jobs }: App, id: JobId | undefined): Promise<WatchedJob | undefined> {
  if (id === undefined) return undefined;
  try {
    return { job: await jobs.get(id), log: await jobs.lastLog(id) };
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

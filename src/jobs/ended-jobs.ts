import type { FoundJobFile } from "./find-job-files.ts";
import type { ReadJob } from "./read-job-file.ts";

const MAX_REMEMBERED = 2000;
/** A result may hold a whole plan; those are few, and read again. */
const MAX_CHARS = 16_000;

/** Job files whose names say that the job is over: nobody writes to them any more, so each is opened once. */
export class EndedJobs {
  readonly #known = new Map<string, ReadJob>();

  async read(file: FoundJobFile, open: () => Promise<ReadJob | undefined>): Promise<ReadJob | undefined> {
    const known = this.#known.get(file.path);
    const job = known ?? (await open());
    if (job && job.file.path === file.path && job.record.endedAt !== "" && isOverByName(file)) {
      if (known || JSON.stringify(job.record).length <= MAX_CHARS) this.#remember(file.path, job);
    }
    return job;
  }

  forget(path: string): void {
    this.#known.delete(path);
  }

  /** Whatever was asked for longest ago goes first. */
  #remember(path: string, job: ReadJob): void {
    this.#known.delete(path);
    this.#known.set(path, job);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
  }
}

function isOverByName({ extension }: FoundJobFile): boolean {
  return extension === "completed" || extension === "cancelled";
}

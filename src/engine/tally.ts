import type { JobContext } from "../contracts/job.ts";
import type { StepCounts } from "./crawl-request.ts";

export const HOW_TO_CONFIRM =
  "If that is meant, crawl again with confirm_deletes=true (on the command line: --confirm-deletes)";

export function noCounts(): StepCounts {
  return { added: 0, changed: 0, moved: 0, removed: 0, unchanged: 0, skipped: 0, failed: 0, empty: 0, held: 0 };
}

/** `3 added, 1 moved, 20 unchanged`, or `nothing to do`. */
export function sumUp(counts: StepCounts): string {
  const parts = Object.entries(counts).flatMap(([kind, count]) => (count > 0 ? [`${count} ${kind}`] : []));
  return parts.length > 0 ? parts.join(", ") : "nothing to do";
}

/** Numbers log lines `[ i / n ]`, from which pages and terminals read the progress. */
export class Progress {
  readonly #job: JobContext;
  readonly #total: number;
  #done = 0;

  constructor(job: JobContext, total: number) {
    this.#job = job;
    this.#total = total;
  }

  step(line: string): void {
    this.#done += 1;
    this.#job.log(`[ ${Math.min(this.#done, this.#total)} / ${this.#total} ] ${line}`);
  }
}

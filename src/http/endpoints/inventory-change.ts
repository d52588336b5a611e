import { explain } from "../../contracts/errors.ts";
import type { Result } from "../../contracts/job.ts";
import type { Steps } from "../../inventory/inventory.ts";
import type { JobWork } from "../../jobs/job-runner.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import type { Answer } from "../routing/endpoint.ts";

/** A change to the backend that was checked and can be made: in a job, or while somebody waits for the answer. */
export interface InventoryChange {
  /** Folder below `jobs/`. */
  readonly router: `inventory/${"files" | "vector_stores" | "assistants"}`;
  readonly action: string;
  readonly object: string;
  readonly dryRun: boolean;
  readonly work: (steps: Steps) => Promise<Result>;
}

export function asJob({ router, action, object, dryRun: dry, work }: InventoryChange): JobWork {
  return { start: { router, action, object, dryRun: dry }, work: async (job) => sayDryRun(await work(job), job) };
}

/** Without a job: nobody reads a log, and what takes one request is not paused or cancelled. */
export async function carryOut({ dryRun: dry, work }: InventoryChange): Promise<Answer<unknown>> {
  const steps: Steps = {
    dryRun: dry,
    signal: new AbortController().signal,
    log: () => undefined,
    checkpoint: async () => undefined,
  };
  return sayDryRun(await work(steps), steps);
}

/** Whoever reads the result alone should not take the plan for what happened. */
function sayDryRun(result: Result, { dryRun }: Pick<Steps, "dryRun">): Result {
  return dryRun && isJsonObject(result.data) ? { ...result, data: { ...result.data, dry_run: true } } : result;
}

/** A change of one step; `planned` is what a dry run answers. */
export function oneStep(
  label: string,
  planned: unknown,
  apply: () => Promise<unknown>,
): (steps: Steps) => Promise<Result> {
  return async (steps) => {
    await steps.checkpoint();
    steps.log(`[ 1 / 1 ] ${label}...`);
    if (steps.dryRun) {
      steps.log("  Dry run: nothing was changed.");
      return { ok: true, error: "", data: planned };
    }
    try {
      const data = await apply();
      steps.log("  OK.");
      return { ok: true, error: "", data };
    } catch (error) {
      steps.log(`  ERROR: ${explain(error)}`);
      throw error;
    }
  };
}

import { CancelledError, explain } from "../contracts/errors.ts";
import type { Steps } from "./inventory.ts";

/** A file that a change could not be made to, as it is told in the result. */
export interface FileFailure {
  readonly file_id: string;
  readonly filename: string;
  readonly error: string;
}

/** One step of many: what goes wrong is told and returned, "" when nothing does. A dry run leaves it at the log line. */
export async function attempt(steps: Steps, label: string, work: () => Promise<void>): Promise<string> {
  await steps.checkpoint();
  steps.log(label);
  if (steps.dryRun) {
    steps.log("  Dry run: nothing was changed.");
    return "";
  }
  try {
    await work();
    steps.log("  OK.");
    return "";
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    steps.log(`  ERROR: ${explain(error)}`);
    return explain(error);
  }
}

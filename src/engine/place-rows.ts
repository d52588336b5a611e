import type { ListedChange } from "../contracts/change.ts";
import { CancelledError, explain } from "../contracts/errors.ts";
import type { JobContext } from "../contracts/job.ts";
import type { TableExport } from "../contracts/source.ts";
import { plural } from "../lib/plural.ts";
import { nowUtcMicros } from "../lib/time.ts";
import type { ApplyTools } from "./apply-plan.ts";
import { stopWhenFull } from "./disk-full.ts";
import type { DownloadPlan } from "./download.ts";
import { freshlyMirrored, recordFailure } from "./fetch-items.ts";
import { STAYING } from "./planned-changes.ts";

/**
 * Rows have no bytes of their own: the table they stand in is written as a whole, rows that stay as they
 * were included, and then the ledger says which rows wait there for the process step. Returns the rows that failed.
 */
export async function placeRows(
  rows: readonly ListedChange[],
  plan: DownloadPlan,
  tools: ApplyTools,
  job: JobContext,
): Promise<readonly ListedChange[]> {
  const { source, ledger, mirror } = tools;
  if (!source.table) return [];
  const file = mirror.originalFile(source.table.path);
  try {
    await writeTable(source.table, file, plan, tools, job.signal);
  } catch (error) {
    if (error instanceof CancelledError || job.signal.aborted)
      throw new CancelledError("export stopped", { cause: error });
    stopWhenFull(error);
    job.log(`ERROR: export '${source.table.path}': ${explain(error)}`);
    for (const row of rows) recordFailure(row, `export '${source.table.path}': ${explain(error)}`, tools);
    await ledger.flush();
    return rows;
  }
  for (const { itemId, sighting } of rows) {
    ledger.put(itemId, { mirrored: freshlyMirrored(sighting, file, null) });
  }
  await ledger.flush();
  job.log(`Exported '${source.table.path}': ${plural(rows.length, "row is", "rows are")} new or changed.`);
  return [];
}

async function writeTable(
  table: TableExport,
  file: string,
  plan: DownloadPlan,
  { ledger, mirror }: ApplyTools,
  signal: AbortSignal,
): Promise<void> {
  const before = plan.disk.has(file) ? mirror.absolute(file) : undefined;
  const kept = new Set<number>();
  for await (const page of plan.items.items("download", STAYING)) {
    for (const entry of await ledger.getMany(page.map(({ itemId }) => itemId))) {
      if (entry?.mirrored) kept.add(entry.mirrored.listItemId);
    }
  }
  const staged = await mirror.stage(table.export(before, kept), nowUtcMicros(), signal);
  await mirror.place(staged, file);
}

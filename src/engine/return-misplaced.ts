import { lstat } from "node:fs/promises";
import type { ListedChange } from "../contracts/change.ts";
import type { JobContext } from "../contracts/job.ts";
import { judge } from "../detect/detect-changes.ts";
import { hashFile } from "../lib/hash-file.ts";
import type { CrawlRequest, StepCounts } from "./crawl-request.ts";
import type { DownloadTools, Plan } from "./download.ts";

/**
 * WRONG_PATH: a file that is missing where the ledger has it, but lies somewhere else in the mirror where nobody owns it,
 * goes back to its place: moving is cheaper than fetching. Returns where they lay; what then needs nothing more leaves the
 * plan. A dry run moves nothing.
 */
export async function returnMisplaced(
  plan: Plan,
  tools: DownloadTools,
  request: CrawlRequest,
  job: JobContext,
  counts: StepCounts,
): Promise<ReadonlySet<string>> {
  const returned = new Set<string>();
  const missing = plan.fetched.filter(
    ({ anomaly, entry }) =>
      anomaly === "missing" && entry?.mirrored?.observed && tools.mirror.owns(entry.mirrored.file),
  );
  if (missing.length === 0) return returned;
  const strays = await findStrays(plan, tools);
  for (const change of missing) {
    await job.checkpoint();
    const stray = await findStray(change, strays, tools);
    if (stray === undefined) continue;
    strays.delete(stray);
    const file = change.entry?.mirrored?.file ?? "";
    if (job.dryRun) job.log(`  MOVE BACK '${stray}' to '${file}'`);
    else await tools.mirror.shift(stray, file);
    if (!job.dryRun) job.log(`Moved '${stray}' back to '${file}'.`);
    returned.add(stray);
    const stats = await lstat(tools.mirror.absolute(job.dryRun ? stray : file));
    judgeAgain(change, { file, stats }, plan, request, counts);
  }
  return returned;
}

/** Files of the mirror that no ledger entry knows. */
async function findStrays({ disk }: Plan, { ledger }: DownloadTools): Promise<Map<string, number>> {
  const strays = new Map([...disk].map(([file, { size }]) => [file, size]));
  for await (const entries of ledger.entries()) {
    for (const { mirrored } of entries) if (mirrored?.file) strays.delete(mirrored.file);
  }
  return strays;
}

async function findStray(
  { entry }: ListedChange,
  strays: ReadonlyMap<string, number>,
  { mirror }: DownloadTools,
): Promise<string | undefined> {
  const observed = entry?.mirrored?.observed;
  for (const [file, size] of strays) {
    if (size !== observed?.size) continue;
    const sha256 = await hashFile(mirror.absolute(file)).catch(() => "");
    if (sha256 === observed.sha256) return file;
  }
  return undefined;
}

/** Back in its place the file may be all that was needed, or its item may have changed as well. */
function judgeAgain(
  change: ListedChange,
  back: { readonly file: string; readonly stats: { readonly size: number; readonly mtimeMs: number } },
  plan: Plan,
  { mode }: CrawlRequest,
  counts: StepCounts,
): void {
  const now = judge(change.sighting, change.entry, (at) => (at === back.file ? back.stats : undefined), { mode });
  counts[change.kind] -= 1;
  counts[now.kind] += 1;
  plan.fetched.splice(plan.fetched.indexOf(change), 1);
  if (now.kind === "moved") plan.moved.push(now);
  else if (now.kind !== "unchanged") plan.fetched.push(now);
}

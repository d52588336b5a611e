import type { ListedChange } from "../contracts/change.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Mirrored } from "../contracts/ledger.ts";
import { judge } from "../detect/detect-changes.ts";
import { hashFile } from "../lib/hash-file.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { CrawlRequest, StepCounts } from "./crawl-request.ts";
import type { DownloadTools, Plan } from "./download.ts";
import { tell } from "./tally.ts";

/**
 * WRONG_PATH: a file that is missing where the ledger has it, but lies somewhere else in the mirror where nobody owns it,
 * goes back to its place: moving is cheaper than fetching. Returns where they lay; what then needs nothing more leaves the
 * plan.
 */
export async function returnMisplaced(
  plan: Plan,
  tools: DownloadTools,
  request: CrawlRequest,
  job: JobContext,
  counts: StepCounts,
): Promise<ReadonlySet<string>> {
  const { mirror } = tools;
  const returned = new Set<string>();
  const missing = (change: ListedChange): Mirrored | undefined => {
    const mirrored = change.anomaly === "missing" ? change.entry?.mirrored : undefined;
    return mirrored?.observed && mirror.owns(mirrored.file) ? mirrored : undefined;
  };
  const sizes = new Set(plan.fetched.flatMap((change) => missing(change)?.observed?.size ?? []));
  if (sizes.size === 0) return returned;
  const strays = await findStrays(plan, sizes, tools, job);
  for (const change of plan.fetched.splice(0)) {
    await job.checkpoint();
    const { file = "", observed } = missing(change) ?? {};
    const stray = strays.get(observed?.sha256 ?? "")?.pop();
    if (stray === undefined) {
      plan.fetched.push(change);
      continue;
    }
    await mirror.shift(stray, file);
    tell(job, `Moved '${stray}' back to '${file}'.`, `  MOVE BACK '${stray}' to '${file}'`);
    returned.add(stray);
    judgeAgain(change, mirror, plan, request, counts);
  }
  return returned;
}

/** Files of the mirror that no ledger entry knows, of these sizes: by their hash. Each is read once. */
async function findStrays(
  { disk }: Plan,
  sizes: ReadonlySet<number>,
  { ledger, mirror }: DownloadTools,
  job: JobContext,
): Promise<ReadonlyMap<string, string[]>> {
  const files = new Set([...disk].flatMap(([file, { size }]) => (sizes.has(size) ? [file] : [])));
  for await (const page of ledger.states()) for (const { file } of page) if (file) files.delete(file);
  const strays = new Map<string, string[]>();
  for (const file of files) {
    await job.checkpoint();
    const sha256 = await hashFile(mirror.absolute(file)).catch(() => "unreadable");
    strays.set(sha256, strays.get(sha256) ?? []);
    strays.get(sha256)?.push(file);
  }
  return strays;
}

/** Back in its place the file may be all that was needed, or its item may have changed as well. */
function judgeAgain(
  change: ListedChange,
  mirror: Mirror,
  plan: Plan,
  { mode }: CrawlRequest,
  counts: StepCounts,
): void {
  const now = judge(change.sighting, change.entry, (file) => mirror.find(file), { mode });
  counts[change.kind] -= 1;
  counts[now.kind] += 1;
  if (now.kind === "moved") plan.moved.push(now);
  else if (now.kind !== "unchanged") plan.fetched.push(now);
}

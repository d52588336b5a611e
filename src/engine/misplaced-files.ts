import type { ListedChange } from "../contracts/change.ts";
import type { Mirrored } from "../contracts/ledger.ts";
import { hashFile } from "../lib/hash.ts";
import type { FilesOnDisk } from "../mirror/files-on-disk.ts";
import type { Mirror } from "../mirror/mirror.ts";
import { judgeFile } from "../plan/judge.ts";
import type { StepCounts } from "./crawl-request.ts";
import { logDone } from "./dry-run.ts";
import type { DownloadPlan } from "./make-plan.ts";
import { FETCHED, listedChanges, toItem } from "./planned-changes.ts";
import type { DownloadStep } from "./run-context.ts";

/** The plan so far. */
interface Planned extends Pick<DownloadPlan, "disk" | "size"> {
  readonly counts: StepCounts;
  /** Sizes of the missing files. */
  readonly lostSizes: ReadonlySet<number>;
}

/** Returns the ledger's data of a file that is missing in the mirror. */
export function lostFile(
  { anomaly, entry }: Pick<ListedChange, "anomaly" | "entry">,
  mirror: Mirror,
): Mirrored | undefined {
  const mirrored = anomaly === "missing" ? entry?.mirrored : undefined;
  return mirrored?.observed && mirror.owns(mirrored.file) ? mirrored : undefined;
}

/**
 * WRONG_PATH: plans to move back a file that is missing where the ledger has it and lies elsewhere in the mirror, where
 * no item owns it. Moving is cheaper than fetching. Its item is judged again as if the file were in its place.
 */
export async function findMisplaced({ disk, size, counts, lostSizes }: Planned, step: DownloadStep): Promise<void> {
  const { run, request, plan, ledger, mirror, job } = step;
  const strays = await findStrays(disk, lostSizes, step);
  if (strays.size === 0) return;
  for await (const page of listedChanges(plan, FETCHED, ledger)) {
    await job.checkpoint();
    for (const change of page) {
      const stray = strays.get(lostFile(change, mirror)?.observed?.sha256 ?? "")?.pop();
      if (stray === undefined) continue;
      const now = judgeFile(change.sighting, change.entry, () => disk.get(stray), request);
      counts[change.kind] -= 1;
      counts[now.kind] += 1;
      size.strayed += 1;
      if (!now.anomaly) size.healed -= 1;
      if (now.kind === "moved" || now.kind === "unchanged") size.fetched -= 1;
      if (now.kind === "moved") size.moved += 1;
      plan.replace({ ...toItem(now, run, mirror), strayedTo: stray });
    }
  }
}

/** Returns files of the mirror of these sizes that no ledger entry has, by hash. Each is read once. */
async function findStrays(
  disk: FilesOnDisk,
  sizes: ReadonlySet<number>,
  { ledger, mirror, job }: DownloadStep,
): Promise<ReadonlyMap<string, string[]>> {
  const files = new Set([...disk].flatMap(([file, { size }]) => (sizes.has(size) ? [file] : [])));
  for await (const page of ledger.states()) for (const { file } of page) if (file) files.delete(file);
  const strays = new Map<string, string[]>();
  for (const file of files) {
    await job.checkpoint();
    const sha256 = await hashFile(mirror.bytesAt(file)).catch(() => "unreadable");
    strays.set(sha256, strays.get(sha256) ?? []);
    strays.get(sha256)?.push(file);
  }
  return strays;
}

/** Moves misplaced files back as planned; returns the paths they had. */
export async function returnMisplaced(
  { items, size }: DownloadPlan,
  { ledger, mirror, job }: DownloadStep,
): Promise<ReadonlySet<string>> {
  const returned = new Set<string>();
  if (size.strayed === 0) return returned;
  for await (const page of items.items("download", ["returned", "moved", ...FETCHED])) {
    const strayed = page.filter(({ strayedTo }) => strayedTo);
    const entries = await ledger.getMany(strayed.map(({ itemId }) => itemId));
    for (const [at, { strayedTo: stray = "" }] of strayed.entries()) {
      await job.checkpoint();
      const file = entries[at]?.mirrored?.file ?? "";
      await mirror.shift(stray, file);
      logDone(job, `Moved '${stray}' back to '${file}'.`, `  MOVE BACK '${stray}' to '${file}'`);
      returned.add(stray);
    }
  }
  return returned;
}

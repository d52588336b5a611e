import { isTree } from "../contracts/domain.ts";
import type { JobContext } from "../contracts/job.ts";
import type { FileOnDisk } from "../mirror/mirror.ts";
import type { CrawlRequest } from "./crawl-request.ts";
import type { DownloadSetting } from "./download.ts";
import type { EngineParts, SourceRun } from "./engine-parts.ts";
import { digestDisk, digestMirror, digestPolicy, type LastLook, readLastLook, type SettledLook } from "./last-look.ts";
import { type Heard, type Looking, lookAtSource } from "./look-at-source.ts";

/** The source and the mirror as this run finds them, and what of the last look still holds. */
export interface View {
  readonly looking: Looking;
  readonly disk: ReadonlyMap<string, FileOnDisk>;
  /** Map files and mirror are as they were when everything was in order; null: they are not, or are not to be trusted. */
  readonly inOrder: SettledLook | null;
  /** Only this has to be judged, as everything else is in order; then `disk` is empty. */
  readonly heard: Heard | undefined;
  /** What this look adds to the memory of the next, whatever else comes of it. */
  readonly memory: Pick<LastLook, "policy" | "mark" | "listedAt" | "runsByFeed">;
  /** How many parts in a hundred of the files are due to be hashed, and the first of them. */
  readonly rotation: { readonly owed: number; readonly next: number };
}

/** So many runs may pass without hashing any file; then those parts are hashed together. */
const MAX_OWED = 10;

export async function viewSource(
  run: SourceRun,
  request: CrawlRequest,
  setting: DownloadSetting,
  parts: EngineParts,
  job: JobContext,
): Promise<View> {
  const { mirror, ledger, source } = setting;
  const policy = digestPolicy(run.config, parts);
  const remembered = await readLastLook(mirror);
  const sameMaps = setting.maps !== "" && remembered?.maps === setting.maps;
  const last = request.mode === "incremental" && sameMaps && remembered.policy === policy ? remembered : undefined;
  // The map files are read while the source is asked; whoever needs them hears what went wrong.
  if (!last) ledger().catch(() => undefined);
  const looking = await lookAtSource(source, last, ledger, job);
  if (!job.dryRun) await mirror.recover(async (item) => (await (await ledger()).get(item))?.mirrored?.file ?? "");
  const rotation = { owed: (remembered?.hashesOwed ?? 0) + 1, next: remembered?.nextHashes ?? 0 };
  const thorough = request.checksum || rotation.owed >= MAX_OWED;
  const settled = (!thorough && last?.settled) || null;
  const memory = { policy, mark: looking.mark, ...ageOf(looking, last) };
  const heard = isTree(run.config) && settled?.counts.skipped === 0 ? looking.heard : undefined;
  if (settled && (looking.nothingNew || heard) && (await digestMirror(mirror)).digest === settled.disk) {
    return { looking, disk: new Map(), inOrder: settled, heard, memory, rotation };
  }
  const disk = await mirror.scan();
  const inOrder = settled?.disk === digestDisk(disk) ? settled : null;
  return { looking, disk, inOrder, heard: undefined, memory, rotation };
}

function ageOf(looking: Looking, last: LastLook | undefined): Pick<LastLook, "listedAt" | "runsByFeed"> {
  if (looking.by === "feed" && last) return { listedAt: last.listedAt, runsByFeed: last.runsByFeed + 1 };
  return { listedAt: new Date().toISOString(), runsByFeed: 0 };
}

import { isTree } from "../contracts/domain.ts";
import type { JobContext } from "../contracts/job.ts";
import { isThreadWorthwhile } from "../mirror/digest-in-thread.ts";
import type { Mirror } from "../mirror/mirror.ts";
import { MirrorDigest } from "../mirror/mirror-digest.ts";
import type { FileOnDisk } from "../mirror/visit-files.ts";
import type { CrawlRequest } from "./crawl-request.ts";
import type { DownloadSetting } from "./download.ts";
import type { EngineParts, SourceRun } from "./engine-parts.ts";
import { digestPolicy, type LastLook, readLastLook, type SettledLook } from "./last-look.ts";
import { type Heard, type Looking, lookAtSource, mayGoByFeed } from "./look-at-source.ts";

/** The source and the mirror as this run finds them, and what of the last look still holds. */
export interface View {
  readonly looking: Looking;
  readonly disk: ReadonlyMap<string, FileOnDisk>;
  /** Map files and mirror are as they were when everything was in order; null: they are not, or are not to be trusted. */
  readonly inOrder: SettledLook | null;
  /** Only this has to be judged; then `disk` is empty. */
  readonly news: News | undefined;
  /** What this look adds to the memory of the next, whatever else comes of it. */
  readonly memory: Pick<LastLook, "policy" | "mark" | "listedAt" | "runsByFeed" | "hiddenRows" | "withheld">;
  /** How many parts in a hundred of the files are due to be hashed, and the first of them. */
  readonly rotation: { readonly owed: number; readonly next: number };
}

/** All that happened at the source since everything was in order. */
export interface News extends Heard {
  /** What nothing was heard of is as it was here. */
  readonly settled: SettledLook;
  /** Of the mirror: it fitted before this run did anything, and goes along with what it does. */
  readonly digest: MirrorDigest;
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
  const { policy, last, settled, rotation, isHinted } = await recall(run, request, setting, parts);
  // The map files are read while the source is asked; whoever needs them hears what went wrong.
  if (!last) ledger().catch(() => undefined);
  // First of all: the mirror that is looked at is the one this run will work with.
  if (!job.dryRun) await mirror.recover(async (item) => (await (await ledger()).get(item))?.mirrored?.file ?? "");
  const meanwhile = new AbortController();
  const mayFit = settled && last && !isHinted && mayGoByFeed(source, last) && isThreadWorthwhile(settled.files);
  const early = mayFit ? mirror.digestMeanwhile(AbortSignal.any([job.signal, meanwhile.signal])) : undefined;
  try {
    const looking = await lookAtSource(source, last, ledger, job);
    const memory = { policy, mark: looking.mark, ...ageOf(looking, { last, isHinted }) };
    const heard = isTree(run.config) && settled?.counts.skipped === 0 ? looking.heard : undefined;
    if (settled && (looking.nothingNew || heard)) {
      const digest = isHinted ? MirrorDigest.parse(settled.disk) : ((await early) ?? (await digestHere(mirror, job)));
      if (digest.toString() === settled.disk) {
        mirror.follow(digest);
        const news = heard && { ...heard, settled, digest };
        return { looking, disk: new Map(), inOrder: settled, news, memory, rotation };
      }
    }
    meanwhile.abort();
    const disk = await mirror.scan();
    const inOrder = settled?.disk === MirrorDigest.of(disk).toString() ? settled : null;
    return { looking, disk, inOrder, news: undefined, memory, rotation };
  } finally {
    meanwhile.abort();
  }
}

interface Recalled {
  readonly policy: string;
  /** undefined: what is remembered does not count any more. */
  readonly last: LastLook | undefined;
  readonly settled: SettledLook | null;
  readonly rotation: View["rotation"];
  /**
   * Somebody watches the source, and this look is at a few of its folders. It takes the mirror for what it was, and does not count
   * among the looks after which everything is compared: the watch looks at everything every few minutes, and that does.
   */
  readonly isHinted: boolean;
}

async function recall(
  run: SourceRun,
  request: CrawlRequest,
  { mirror, maps }: DownloadSetting,
  parts: EngineParts,
): Promise<Recalled> {
  const policy = digestPolicy(run.config, parts);
  const remembered = await readLastLook(mirror);
  const sameMaps = maps !== "" && remembered?.maps === maps;
  const last = request.mode === "incremental" && sameMaps && remembered.policy === policy ? remembered : undefined;
  const isHinted = request.onlyFolders?.has(run.config.sourceId) ?? false;
  const rotation = { owed: (remembered?.hashesOwed ?? 0) + (isHinted ? 0 : 1), next: remembered?.nextHashes ?? 0 };
  const thorough = request.checksum || rotation.owed >= MAX_OWED;
  return { policy, last, settled: (!thorough && last?.settled) || null, rotation, isHinted };
}

/** A thread that was ended by a cancelled job leaves nothing to do. */
async function digestHere(mirror: Mirror, job: JobContext): Promise<MirrorDigest> {
  await job.checkpoint();
  return await mirror.digest();
}

function ageOf(
  looking: Looking,
  { last, isHinted }: Pick<Recalled, "last" | "isHinted">,
): Pick<LastLook, "listedAt" | "runsByFeed" | "hiddenRows" | "withheld"> {
  if (looking.by === "feed" && last) {
    const { listedAt, hiddenRows = 0, withheld = [] } = last;
    return { listedAt, hiddenRows, withheld, runsByFeed: last.runsByFeed + (isHinted ? 0 : 1) };
  }
  return { listedAt: new Date().toISOString(), runsByFeed: 0 };
}

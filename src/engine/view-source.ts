import { createHash } from "node:crypto";
import type { SourceConfig } from "../contracts/domain.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { ItemState, ListingNote } from "../contracts/ledger.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { FilesOnDisk } from "../mirror/files-on-disk.ts";
import type { FileOnDisk } from "../mirror/visit-files.ts";
import { MTIME_TOLERANCE_MS } from "../plan/detect-changes.ts";
import { isDue, PARTS } from "./check-hashes.ts";
import type { CrawlRequest } from "./crawl-request.ts";
import type { DownloadSetting } from "./download.ts";
import type { EngineParts } from "./engine-parts.ts";
import { type Looking, listInDoubt, lookAtSource } from "./look-at-source.ts";

/** The source and the mirror as this run finds them. */
export interface View {
  readonly looking: Looking;
  /** The mirror; it goes along with what this run does there. Empty where only `news` is looked at. */
  readonly disk: FilesOnDisk;
  /** Only this has to be judged; undefined: everything that is listed. */
  readonly news: News | undefined;
  /** Something was listed before, and what is wanted has not changed since. */
  readonly isNext: boolean;
  /** What this look leaves for the next, whatever else comes of it. */
  readonly memory: Pick<ListingNote, "policy" | "mark" | "listedAt" | "runsByFeed" | "hiddenRows">;
  /** How many parts in a hundred of the files are due to be hashed, the first of them, and whether that is put off no longer. */
  readonly rotation: { readonly owed: number; readonly next: number; readonly isNow: boolean };
}

/** What happened at the source since it was last looked at, and what of the mirror is not as it should be. */
export interface News {
  readonly gone: readonly ItemId[];
  /** Items of which nothing was heard and that are to be judged all the same. */
  readonly suspects: readonly ItemId[];
  /** How many items belong on disk, and how many of them have a file there. */
  readonly held: number;
  readonly found: number;
  /** Every file of the ledger lay on disk when this run began, and no other; and those whose names look marked. */
  readonly inStep?: { readonly marked: ReadonlyMap<ItemId, string> };
  /** Somebody watches the source and told where something changed: nothing but that is looked at, not even on disk. */
  readonly isHinted: boolean;
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
  const { mirror, source, ledger } = setting;
  const policy = digestPolicy(run.config, parts);
  const { listing } = ledger;
  const last = request.mode === "incremental" && listing?.policy === policy ? listing : undefined;
  const isHinted = request.onlyFolders?.has(run.config.sourceId) ?? false;
  const owed = request.checksum ? PARTS : (listing?.hashesOwed ?? 0) + (isHinted ? 0 : 1);
  const rotation = { owed, next: listing?.nextHashes ?? 0, isNow: owed >= MAX_OWED && !isHinted };
  // First of all: the mirror that is looked at is the one this run will work with.
  await mirror.recover(async (item) => (await ledger.get(item))?.mirrored?.file ?? "");
  const stop = new AbortController();
  const files = await ledger.countFiles();
  const scanning = isHinted && last ? undefined : mirror.scan({ expected: files, signal: stop.signal });
  scanning?.catch(() => undefined);
  try {
    let looking = await lookAtSource(source, last, ledger, job);
    const memory = (): View["memory"] => ({ policy, mark: looking.mark, ...ageOf(looking, last, { isHinted }) });
    if (looking.by === "feed" && isHinted) {
      const news = { gone: looking.heard.gone, suspects: [], held: files, found: 0, isHinted };
      return { looking, disk: new FilesOnDisk(), news, isNext: true, memory: memory(), rotation };
    }
    const disk = (await scanning) ?? (await mirror.scan());
    mirror.follow(disk);
    const news = looking.by === "feed" ? await findNews(looking, setting, disk, rotation, job) : undefined;
    if (looking.by === "feed" && !news) looking = await listInDoubt(source, job);
    return { looking, disk, news, isNext: last !== undefined, memory: memory(), rotation };
  } finally {
    stop.abort();
  }
}

/**
 * What is not as the ledger says, here or there; and what is due to be hashed. undefined: a file has an item that was not listed, and
 * the feed says nothing of it. A run was cut off, or somebody edited a map file: only a listing tells whether it is gone.
 */
async function findNews(
  { heard: { touched, gone } }: Extract<Looking, { by: "feed" }>,
  { ledger, converter }: Pick<DownloadSetting, "ledger" | "converter">,
  disk: View["disk"],
  rotation: View["rotation"],
  { dryRun }: Pick<JobContext, "dryRun">,
): Promise<News | undefined> {
  const heardOf = new Set([...gone, ...touched.map(({ itemId }) => itemId)]);
  const suspects: ItemId[] = [];
  const marked = new Map<ItemId, string>();
  let [held, found] = [0, 0];
  for await (const page of ledger.states()) {
    for (const state of page) {
      const { itemId, file, isListed } = state;
      if (file !== null) held += 1;
      const onDisk = file ? disk.get(file) : undefined;
      if (onDisk) found += 1;
      if (file?.includes("~")) marked.set(itemId, file);
      if (heardOf.has(itemId)) continue;
      if (!isListed) return undefined;
      // What lies behind a document, a page or a table, is judged with it.
      if (converter || !isInOrder(state, onDisk) || (rotation.isNow && isDue(itemId, rotation))) suspects.push(itemId);
    }
  }
  // A dry run changes nothing on disk, where those look who rely on this.
  const isInStep = !converter && !dryRun && held === found && found === disk.size;
  return { gone, suspects, held, found, isHinted: false, ...(isInStep && { inStep: { marked } }) };
}

function isInOrder({ observed, isCurrent }: ItemState, found: FileOnDisk | undefined): boolean {
  if (!found || !isCurrent) return false;
  if (!observed) return true;
  return found.size === observed.size && Math.abs(found.mtimeMs - observed.mtimeMs) <= MTIME_TOLERANCE_MS;
}

function ageOf(
  looking: Looking,
  last: ListingNote | undefined,
  { isHinted }: Pick<News, "isHinted">,
): Pick<ListingNote, "listedAt" | "runsByFeed" | "hiddenRows"> {
  if (looking.by === "listing" || !last) return { listedAt: new Date().toISOString(), runsByFeed: 0, hiddenRows: 0 };
  const { listedAt, hiddenRows } = last;
  // A watch looks at everything every few minutes, and that counts.
  return { listedAt, hiddenRows, runsByFeed: last.runsByFeed + (isHinted ? 0 : 1) };
}

function digestPolicy(
  config: SourceConfig,
  { acceptedTypes, maxFileBytes }: Pick<EngineParts, "acceptedTypes" | "maxFileBytes">,
): string {
  const { kind: _kind, ...settings } = config;
  const wanted = [settings, [...acceptedTypes].sort(), maxFileBytes];
  return createHash("sha256").update(JSON.stringify(wanted)).digest("base64");
}

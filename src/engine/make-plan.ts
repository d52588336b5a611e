import type { AbsentChange, Change, ListedChange } from "../contracts/change.ts";
import { isTree } from "../contracts/domain.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger, Seen } from "../contracts/ledger.ts";
import type { Listing, Sighting } from "../contracts/source.ts";
import { type Detected, detectChanges } from "../detect/detect-changes.ts";
import { Turn } from "../lib/turn.ts";
import type { FileOnDisk } from "../mirror/visit-files.ts";
import { findAltered, isDue } from "./check-hashes.ts";
import { OriginalsCheck } from "./check-originals.ts";
import { countJustLeft } from "./count-just-left.ts";
import type { CrawlRequest, StepCounts } from "./crawl-request.ts";
import type { DownloadSetting, Plan } from "./download.ts";
import type { EngineParts, SourceRun } from "./engine-parts.ts";
import { FamiliarPages } from "./familiar-pages.ts";
import type { Heard } from "./look-at-source.ts";
import { plannedDownload } from "./planned-changes.ts";
import type { View } from "./view-source.ts";

interface Planning {
  readonly run: SourceRun;
  readonly request: CrawlRequest;
  readonly setting: DownloadSetting;
  readonly parts: EngineParts;
  readonly job: JobContext;
  readonly counts: StepCounts;
}

/** list ▶ detect ▶ plan. What the source said goes into the ledger on the way, unless this is a dry run. */
export async function makePlan(view: View, planning: Planning): Promise<Plan> {
  const { request, setting, job, counts } = planning;
  const startedAtMs = Date.now();
  const { disk, news, inOrder } = view;
  const familiar = new FamiliarPages(inOrder?.pages ?? [], counts);
  const changes = detect(view, planning, familiar);
  const sorted = new SortedChanges();
  const due: ListedChange[] = [];
  const originals = new OriginalsCheck(setting.mirror, setting.converter, disk);
  const turn = new Turn();
  let step = await changes.next();
  for (; !step.done; step = await changes.next()) {
    await job.checkpoint();
    const { from, changes: page } = step.value;
    if (from === "listed") familiar.learn(page);
    if (page.length === 0) continue;
    const ledger = await setting.ledger();
    for (const judged of page) {
      const change = originals.judge(judged);
      sorted.add(change, counts);
      if (change.kind === "unchanged" && isDue(change.itemId, view.rotation, request)) due.push(change);
      if (job.dryRun) preview(change, planning);
      else remember(change, ledger);
      const skipped = job.dryRun ? undefined : skippedPath(change);
      if (skipped !== undefined) job.log(`Skipped '${skipped}': ${change.reason}.`);
      if (turn.isOver()) await turn.next();
    }
    if (!job.dryRun) await ledger.flush();
  }
  const unheard = news ? Math.max(0, news.settled.counts.unchanged - sorted.held) : 0;
  counts.unchanged += unheard;
  for (const altered of await findAltered(due, setting.mirror, job)) {
    counts.unchanged -= 1;
    sorted.add(altered, counts);
    if (job.dryRun) preview(altered, planning);
  }
  const { removed, moved, fetched, keptRows, staying } = sorted;
  const allFamiliar = familiar.isAll();
  const detected: Detected = { ...step.value, listed: step.value.listed + unheard };
  return {
    removed,
    moved,
    fetched,
    keptRows,
    staying,
    detected,
    disk,
    pages: familiar.pages,
    allFamiliar,
    hashed: due.length,
    startedAtMs,
    news,
  };
}

function detect(
  { looking, disk, news }: View,
  { run, request, setting, parts }: Planning,
  familiar: FamiliarPages,
): ReturnType<typeof detectChanges> {
  const policy = {
    mode: request.mode,
    acceptedTypes: parts.acceptedTypes,
    maxBytes: parts.maxFileBytes,
    limits: run.config.limits,
    confirmDeletes: request.confirmDeletes,
    ...(request.gathered && isTree(run.config) && { justLeft: () => countJustLeft(run, parts) }),
  };
  if (!news) return detectChanges(looking.pages, lazily(setting.ledger), (file) => disk.get(file), policy, familiar);
  const heldBefore = news.settled.counts.unchanged;
  const find = (file: string): FileOnDisk | undefined => setting.mirror.find(file);
  return detectChanges(pageOf(news), lazily(setting.ledger, news), find, { ...policy, heldBefore });
}

async function* pageOf({ touched }: Heard): Listing {
  yield touched;
  return "complete";
}

/** A run that recognises everything never opens the ledger. Of what nothing was heard, there is nothing to ask. */
function lazily(open: () => Promise<Ledger>, heard?: Heard): Pick<Ledger, "getMany" | "items"> {
  return {
    getMany: async (items) => await (await open()).getMany(items),
    async *items(): AsyncGenerator<readonly ItemId[]> {
      if (heard) yield heard.gone;
      else yield* (await open()).items();
    },
  };
}

class SortedChanges {
  readonly removed: AbsentChange[] = [];
  readonly moved: ListedChange[] = [];
  readonly fetched: ListedChange[] = [];
  readonly keptRows = new Set<number>();
  readonly staying: ItemId[] = [];
  /** Items that stood for something before. */
  held = 0;

  add(change: Change, counts: StepCounts): void {
    const mirrored = change.entry?.mirrored;
    if (mirrored || change.entry?.indexed) this.held += 1;
    if (mirrored && (change.kind === "kept" || change.kind === "held")) this.keptRows.add(mirrored.listItemId);
    if (change.kind === "kept" || change.kind === "held") this.staying.push(change.itemId);
    if (change.kind === "kept" && change.isUndecided && mirrored) counts.skipped += 1;
    if (change.kind === "kept") return;
    counts[change.kind] += 1;
    if (change.kind === "removed") this.removed.push(change);
    else if (change.kind === "moved") this.moved.push(change);
    else if (change.kind === "added" || change.kind === "changed") this.fetched.push(change);
  }
}

/** A dry run names every item that would change; unchanged ones are only counted. What is done to the others is in the plan. */
function preview(change: Change, { run, setting, job }: Planning): void {
  if (change.kind === "unchanged") return;
  const idle = change.kind === "held" || change.kind === "skipped";
  const planned = idle ? plannedDownload(change, run.config, setting.mirror) : null;
  if (planned) setting.planned.add(planned);
  const path = "sighting" in change ? change.sighting.path : (change.entry.mirrored?.serverPath ?? change.itemId);
  job.log(`  ${change.kind.toUpperCase()} '${path}': ${change.reason}`);
}

/** Of what is skipped for the first time, or may be gone. */
function skippedPath(change: Change): string | undefined {
  if ("sighting" in change) return change.kind === "skipped" && !change.entry ? change.sighting.path : undefined;
  return change.isUndecided ? change.entry.mirrored?.serverPath.replace(/^\//, "") : undefined;
}

/** What the source said is true whatever becomes of the rest of the run. */
function remember(change: Change, ledger: Ledger): void {
  if (!("sighting" in change)) {
    if (change.kind === "held" && !change.stillListed) ledger.put(change.itemId, { seen: null });
    const { mirrored } = change.entry;
    if (change.isUndecided && mirrored)
      ledger.put(change.itemId, { mirrored: { ...mirrored, sourceError: change.reason } });
    return;
  }
  ledger.put(change.itemId, { seen: seenOf(change.sighting) });
  const known = change.entry?.mirrored;
  if (change.kind !== "unchanged" || !known) return;
  const { etag, contentVersion, modifiedAt } = change.sighting.fingerprint;
  const was = known.fingerprint;
  // What is not told now is compared again when it is.
  if (was.contentVersion && !contentVersion) return;
  if (etag !== was.etag || contentVersion !== was.contentVersion || modifiedAt !== was.modifiedAt) {
    const fingerprint = { ...was, etag, contentVersion, modifiedAt };
    ledger.put(change.itemId, { mirrored: { ...known, fingerprint } });
  }
}

function seenOf(sighting: Sighting): Seen {
  const { listItemId, name, serverPath, rawUrl, fingerprint } = sighting;
  return {
    listItemId,
    name,
    serverPath,
    get url() {
      return sighting.url;
    },
    rawUrl,
    size: fingerprint.size,
    modifiedAt: fingerprint.modifiedAt,
  };
}

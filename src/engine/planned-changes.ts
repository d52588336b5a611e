import type { AbsentChange, Change, ListedChange } from "../contracts/change.ts";
import type { SourceConfig } from "../contracts/domain.ts";
import type { JobContext } from "../contracts/job.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Plan, PlannedItem, PlannedWords } from "../contracts/plan.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { PlannedChange, SourceResult } from "./crawl-request.ts";

/** How many items a plan has of each kind. */
export interface PlanSize {
  removed: number;
  moved: number;
  fetched: number;
  /** Left unchanged: not listed and yet not removed, or not approved. */
  staying: number;
  /** Their file is moved back to its path in the mirror, whatever else is done to it. */
  strayed: number;
  /** Fetched because our copy is missing or damaged. The rows of a list share one export, which counts once. */
  healed: number;
}

/** The log of a dry run names every item; its result, which is read into memory, only this many per source. */
const MAX_PLANNED = 500;

/**
 * FETCHED: changes that fetch. STAYING: the item stays as it is (not listed and yet not removed, or not approved). TOUCHED: changes of
 * the mirror.
 */
export const FETCHED = ["added", "changed"] as const;
export const STAYING = ["kept", "held"] as const;
export const TOUCHED = ["removed", "moved", ...FETCHED] as const;

export function isTouched(download: PlannedItem | undefined): boolean {
  return TOUCHED.some((change) => change === download?.change);
}

/** Returns the planned changes for the result of a dry run; empty for a run, whose result has what was done. */
export async function planResult(
  plan: Plan,
  { dryRun }: Pick<JobContext, "dryRun">,
): Promise<Pick<SourceResult, "planned" | "planned_more">> {
  if (!dryRun) return {};
  const { items, count } = await plan.told(MAX_PLANNED);
  const planned = items.flatMap(({ step, change, told }) =>
    told ? [{ step, change: change as PlannedChange["change"], ...told }] : [],
  );
  return { planned, planned_more: count - planned.length };
}

/** Converts a judged change to a plan item. */
export function toItem(change: Change, run: SourceRun, mirror: Mirror): PlannedItem {
  const { itemId, reason } = change;
  const kind = change.kind === "unchanged" ? "returned" : change.kind;
  const item = {
    step: "download",
    itemId,
    change: kind,
    reason,
    told: describeDownload(change, run, mirror),
  } as const;
  if (!("sighting" in change)) return { ...item, stillListed: change.stillListed };
  const { sighting, anomaly } = change;
  const bytes = kind === "added" || kind === "changed" ? sighting.fingerprint.size : 0;
  return { ...item, sighting, bytes, ...(anomaly && { anomaly }) };
}

/** Yields planned changes of listed items, with their current entries. */
export async function* listedChanges(
  plan: Plan,
  kinds: readonly ("moved" | "added" | "changed")[],
  ledger: Ledger,
): AsyncGenerator<readonly ListedChange[]> {
  for await (const page of plan.items("download", kinds)) {
    const entries = await ledger.getMany(page.map(({ itemId }) => itemId));
    yield page.flatMap(({ itemId, change, sighting, reason, anomaly }, at) => {
      const listed = { kind: change as ListedChange["kind"], itemId, entry: entries[at], reason };
      const why = anomaly && anomaly !== "forced" && { anomaly };
      return sighting ? [{ ...listed, sighting, ...why }] : [];
    });
  }
}

/** Yields planned removals with their current entries; items without one are left out. */
export async function* removedItems(plan: Plan, ledger: Ledger): AsyncGenerator<readonly AbsentChange[]> {
  for await (const page of plan.items("download", ["removed"])) {
    const entries = await ledger.getMany(page.map(({ itemId }) => itemId));
    yield page.flatMap(({ itemId, reason, stillListed = false }, at) => {
      const entry = entries[at];
      return entry ? [{ kind: "removed", itemId, entry, stillListed, reason }] : [];
    });
  }
}

/** undefined if nothing is shown: the item stays as it is, or its removal is shown instead. */
function describeDownload(change: Change, run: SourceRun, mirror: Mirror): PlannedWords | undefined {
  if (change.kind === "unchanged" || change.kind === "kept") return undefined;
  if (!("sighting" in change)) return describeAbsent(change, run, mirror);
  if (change.kind === "skipped" && (change.entry?.mirrored || change.entry?.indexed)) return undefined;
  const { name, path } = change.sighting;
  return { name, path, reason: whyListed(change) };
}

function describeAbsent(
  { kind, entry, stillListed, reason }: AbsentChange,
  { config, isRetired }: SourceRun,
  mirror: Mirror,
): PlannedWords {
  const facet = entry.mirrored ?? entry.indexed ?? entry.seen;
  const file = entry.mirrored?.file || entry.indexed?.file || "";
  const name = facet?.name ?? "";
  const place = { name, path: file ? mirror.relativePath(file) : name };
  if (kind === "held") return { ...place, reason: `held: ${reason}` };
  if (isRetired) return { ...place, reason: TAKEN_OUT };
  return { ...place, reason: stillListed ? reason : whyGone(config) };
}

/** Why everything of a source leaves that is not in the domain any more. */
export const TAKEN_OUT = "its source was taken out of the domain";

function whyGone(config: SourceConfig): string {
  const { kind } = config;
  const hasFilter = kind.describeRules(config).patterns.length > 0;
  if (!kind.abilities.hasIds) {
    const ruled = hasFilter ? ", or left out by its rules" : "";
    return `not there any more${ruled}: hidden from search, and kept for a while in case it comes back`;
  }
  return hasFilter ? "removed at the source, or not matched by its filter any more" : "removed at the source";
}

function whyListed({ kind, sighting, entry, reason }: ListedChange): string {
  const before = kind === "moved" ? entry?.mirrored?.serverPath : undefined;
  if (before === undefined || before === sighting.serverPath) return reason;
  const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));
  const renamed = folderOf(before) === folderOf(sighting.serverPath);
  if (renamed) return `renamed from '${entry?.mirrored?.name}'`;
  // A path from the source's own root is shown without the leading slash.
  const isOwnRoot = sighting.serverPath === `/${sighting.path}`;
  return `moved from '${isOwnRoot ? before.slice(1) : before}'`;
}

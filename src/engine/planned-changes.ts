import type { AbsentChange, Change, ListedChange } from "../contracts/change.ts";
import type { SourceConfig } from "../contracts/domain.ts";
import type { Ledger } from "../contracts/ledger.ts";
import type { Plan, PlannedItem, PlannedWords } from "../contracts/plan.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { PlannedChange, SourceResult } from "./crawl-request.ts";

/** The log of a dry run names every item; its result, which is read into memory as a whole, these many of a source. */
const MAX_PLANNED = 500;

/** Items that are fetched; that stay as they are, since they were not listed and yet not removed, or are not approved; that the mirror has otherwise after the download. */
export const FETCHED = ["added", "changed"] as const;
export const STAYING = ["kept", "held"] as const;
export const TOUCHED = ["removed", "moved", ...FETCHED] as const;

export function isTouched(download: PlannedItem | undefined): boolean {
  return TOUCHED.some((change) => change === download?.change);
}

/** What a dry run of one source would do, item by item. */
export async function planResult(plan: Plan): Promise<Required<Pick<SourceResult, "planned" | "planned_more">>> {
  const { items, count } = await plan.told(MAX_PLANNED);
  const planned = items.flatMap(({ step, change, told }) =>
    told ? [{ step, change: change as PlannedChange["change"], ...told }] : [],
  );
  return { planned, planned_more: count - planned.length };
}

/** A judged change as a plan has it. */
export function toItem(change: Change, config: SourceConfig, mirror: Mirror): PlannedItem {
  const { itemId, reason } = change;
  const kind = change.kind === "unchanged" ? "returned" : change.kind;
  const item = { step: "download", itemId, change: kind, reason, told: tellDownload(change, config, mirror) } as const;
  if (!("sighting" in change)) return { ...item, stillListed: change.stillListed };
  return { ...item, sighting: change.sighting, ...(change.anomaly && { anomaly: change.anomaly }) };
}

/** What the plan has of listed items, with their entries as they are now. */
export async function* listedChanges(
  plan: Plan,
  kinds: readonly ("moved" | "added" | "changed")[],
  ledger: Ledger,
): AsyncGenerator<readonly ListedChange[]> {
  for await (const page of plan.items("download", kinds)) {
    const entries = await ledger.getMany(page.map(({ itemId }) => itemId));
    yield page.flatMap(({ itemId, change, sighting, reason, anomaly }, at) => {
      const listed = { kind: change as ListedChange["kind"], itemId, entry: entries[at], reason };
      return sighting ? [{ ...listed, sighting, ...(anomaly && { anomaly }) }] : [];
    });
  }
}

/** What the plan removes, with their entries as they are now; of what has none any more there is nothing to remove. */
export async function* removedItems(plan: Plan, ledger: Ledger): AsyncGenerator<readonly AbsentChange[]> {
  for await (const page of plan.items("download", ["removed"])) {
    const entries = await ledger.getMany(page.map(({ itemId }) => itemId));
    yield page.flatMap(({ itemId, reason, stillListed = false }, at) => {
      const entry = entries[at];
      return entry ? [{ kind: "removed", itemId, entry, stillListed, reason }] : [];
    });
  }
}

/** undefined for what needs no word: it stays as it is, or its removal is told instead. */
function tellDownload(change: Change, config: SourceConfig, mirror: Mirror): PlannedWords | undefined {
  if (change.kind === "unchanged" || change.kind === "kept") return undefined;
  if (!("sighting" in change)) return tellAbsent(change, config, mirror);
  if (change.kind === "skipped" && (change.entry?.mirrored || change.entry?.indexed)) return undefined;
  const { name, path } = change.sighting;
  return { name, path, reason: whyListed(change) };
}

function tellAbsent(
  { kind, entry, stillListed, reason }: AbsentChange,
  config: SourceConfig,
  mirror: Mirror,
): PlannedWords {
  const facet = entry.mirrored ?? entry.indexed ?? entry.seen;
  const file = entry.mirrored?.file || entry.indexed?.file || "";
  const name = facet?.name ?? "";
  const place = { name, path: file ? mirror.relativePath(file) : name };
  if (kind === "held") return { ...place, reason: `held: ${reason}` };
  return { ...place, reason: stillListed ? reason : whyGone(config) };
}

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
  // Where a path begins at the source's own root, nobody writes the slash.
  const isOwnRoot = sighting.serverPath === `/${sighting.path}`;
  return `moved from '${isOwnRoot ? before.slice(1) : before}'`;
}

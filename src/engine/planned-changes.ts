import type { AbsentChange, Change, ListedChange } from "../contracts/change.ts";
import type { SourceConfig } from "../contracts/domain.ts";
import type { Mirror } from "../mirror/mirror.ts";
import type { PlannedChange, SourceResult } from "./crawl-request.ts";

/** The log of a dry run names every item; its result, which is read into memory as a whole, these many of a source. */
const MAX_PLANNED = 500;

/** What a dry run of one source would do, item by item. What is only skipped makes room for what would change. */
export class PlannedChanges {
  readonly #changes: PlannedChange[] = [];
  readonly #skipped: PlannedChange[] = [];
  #count = 0;

  add(change: PlannedChange): void {
    this.#count += 1;
    const list = change.change === "skipped" ? this.#skipped : this.#changes;
    if (list.length < MAX_PLANNED) list.push(change);
  }

  result(): Required<Pick<SourceResult, "planned" | "planned_more">> {
    const planned = [...this.#changes, ...this.#skipped].slice(0, MAX_PLANNED);
    return { planned, planned_more: this.#count - planned.length };
  }
}

/** One change of the plan for the mirror; null for what needs no word: it stays as it is, or its removal is told instead. */
export function plannedDownload(change: Change, config: SourceConfig, mirror: Mirror): PlannedChange | null {
  if (change.kind === "unchanged" || change.kind === "kept") return null;
  if (!("sighting" in change)) return { step: "download", ...absent(change, config, mirror) };
  if (change.kind === "skipped" && (change.entry?.mirrored || change.entry?.indexed)) return null;
  const { name, path } = change.sighting;
  return { step: "download", change: change.kind, name, path, reason: whyListed(change) };
}

function absent(
  { kind, entry, stillListed, reason }: AbsentChange,
  config: SourceConfig,
  mirror: Mirror,
): Omit<PlannedChange, "step"> {
  const facet = entry.mirrored ?? entry.indexed ?? entry.seen;
  const file = entry.mirrored?.file || entry.indexed?.file || "";
  const name = facet?.name ?? "";
  const place = { name, path: file ? mirror.relativePath(file) : name };
  if (kind === "held") return { change: "held", ...place, reason: `held: ${reason}` };
  return { change: "removed", ...place, reason: stillListed ? reason : whyGone(config) };
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

import type { SourceConfig } from "../contracts/domain.ts";
import type { LineageEvent, Manifest, ManifestEntry } from "../contracts/manifest.ts";
import { fileTypeOf } from "../lib/file-type.ts";
import { plural } from "../lib/plural.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { Stage } from "./explain-document.ts";
import { shown } from "./explain-stages.ts";
import type { FoundEntry, OpenSource } from "./find-entries.ts";

export type TreeParts = Pick<EngineParts, "keeping">;

/** A file that the manifest knows and no map file has. */
export interface AbsentFile {
  readonly config: SourceConfig;
  readonly entry: ManifestEntry;
  readonly detail: string;
}

const MAX_FOUND = 10;

/** What the last crawl saw, and what became of the file before. */
export async function withLineage(stage: Stage, { source, entry: { itemId } }: FoundEntry): Promise<Stage> {
  if (source.config.kind.abilities.hasIds) return stage;
  const entry = (await source.ledger.manifest.find([itemId])).get(itemId);
  if (!entry) return stage;
  const said = entry.status === "error" ? sayUnreadable(entry) : sayEvent(entry.lineage.at(-1));
  return said === "" ? stage : { ...stage, detail: `${stage.detail} ${said}` };
}

/** Files that are called so and are not listed: missing, purged, or never read. */
export async function findAbsent(
  called: string,
  sources: readonly OpenSource[],
  parts: TreeParts,
): Promise<AbsentFile[]> {
  const found: AbsentFile[] = [];
  for (const { config, ledger } of sources) {
    if (config.kind.abilities.hasIds) continue;
    const entries = await findCalled(called, config, ledger.manifest);
    for (const entry of entries) found.push({ config, entry, detail: sayAbsent(entry, parts) });
  }
  return found.slice(0, MAX_FOUND);
}

/** Why places full of files may leave out what is called so, whether it is there or not; "" when there are none. */
export function sayLeftOut(
  called: string,
  sources: readonly OpenSource[],
  { acceptedTypes }: Pick<EngineParts, "acceptedTypes">,
): string {
  const trees = sources.map(({ config }) => config).filter(({ kind }) => !kind.abilities.hasIds);
  if (trees.length === 0) return "";
  const type = fileTypeOf(called.split("/").at(-1) ?? "");
  if (type && !acceptedTypes.has(type)) return ` Files of type '${type}' are not taken in.`;
  const reached = trees.flatMap((config) => {
    const found = config.kind.locate?.(config, called);
    return found ? [{ config, ...found }] : [];
  });
  if (reached.length === 0) return " It lies in none of this domain's places full of files.";
  const leaving = reached.filter(({ isTaken }) => !isTaken);
  if (leaving.length > 0) {
    const names = leaving.map(({ config }) => `'${config.sourceId}'`).join(" and ");
    return ` The rules of ${names} (include, exclude, hidden) leave out a file of that name.`;
  }
  return " What is too large, ignored by git or a link that leads away is left out, too; the log of a crawl says so.";
}

async function findCalled(called: string, config: SourceConfig, manifest: Manifest): Promise<ManifestEntry[]> {
  const wanted = config.kind.locate?.(config, called)?.path.toLowerCase();
  const found: ManifestEntry[] = [];
  for await (const page of manifest.withStatus("error", "missing", "deleted")) {
    for (const entry of page) {
      const path = entry.path.toLowerCase();
      const isIt = wanted !== undefined && (path === wanted || path.endsWith(`/${wanted}`));
      if (isIt || entry.docId === called) found.push(entry);
    }
    if (found.length >= MAX_FOUND) break;
  }
  return found;
}

function sayAbsent(entry: ManifestEntry, { keeping }: TreeParts): string {
  const { path, status, missingSinceAt, missingRuns, deletedAt } = entry;
  if (status === "error") return sayUnreadable(entry);
  if (status === "deleted") {
    return `It was at '${path}', was missing for longer than the grace period, and was purged ${shown(deletedAt)}. If its file is restored, the next crawl brings it back.`;
  }
  const hours = plural(Math.round(keeping.graceMs / 3600_000), "hour");
  const grace = `It is purged once it was missing for ${hours} and in ${plural(keeping.graceRuns, "complete crawl")}`;
  return `It is missing since ${shown(missingSinceAt)}: it was at '${path}', and was deleted there, moved away, or is left out by a rule. ${grace} (${missingRuns} so far); until then its text and vectors are kept, and it is found again as soon as it comes back.`;
}

function sayUnreadable({ path, error, retryCount }: ManifestEntry): string {
  const times = retryCount > 1 ? ` ${retryCount} times in a row` : "";
  return `The file at '${path}' could not be read${times}: ${error.replace(/\.$/, "")}. Every crawl tries it again; what was read of it before stays.`;
}

function sayEvent(event: LineageEvent | undefined): string {
  if (!event) return "";
  const { from, at, certainty } = event;
  const sure = certainty < 1 ? ` (its text is ${Math.round(certainty * 100)} % the same)` : "";
  switch (event.event) {
    case "moved":
    case "moved-and-edited":
      return `It came from '${from}' ${shown(at)}${sure}, as the same document.`;
    case "restored":
      return `It came back ${shown(at)}, as the same document.`;
    case "copied":
      return `It began as a copy of '${from}' ${shown(at)}.`;
    default:
      return "";
  }
}

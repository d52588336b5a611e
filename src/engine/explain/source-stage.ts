import type { SourceConfig } from "../../contracts/domain.ts";
import { BadInputError, DamagedError, RemoteError } from "../../contracts/errors.ts";
import type { DomainId, ItemId } from "../../contracts/ids.ts";
import type { LineageEvent, Manifest, ManifestEntry } from "../../contracts/manifest.ts";
import type { IngestItem, RegisteredItem } from "../../contracts/registry.ts";
import { isErrno } from "../../lib/atomic-file.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { asSentence, plural } from "../../lib/text.ts";
import { USUAL_RULES } from "../../plan/web/item-identity.ts";
import type { EngineParts } from "../engine-parts.ts";
import { findIdentity } from "../ingest/item-records.ts";
import { type FoundEntry, MAX_FOUND, type OpenSource } from "./find-entries.ts";
import { fine, problem, type Stage, shown } from "./stages.ts";

/** Whether the last listing had it. */
export function sourceStage({ entry, source }: FoundEntry, isRetired: boolean): Stage {
  const { seen, mirrored } = entry;
  if (isRetired) {
    return problem("source", "Its source was taken out of the domain. The next crawl removes what is left of it.");
  }
  if (seen)
    return fine("source", `The last crawl saw it at '${seen.serverPath}', last modified ${shown(seen.modifiedAt)}.`);
  const { kind } = source.config;
  const isFiltered = kind.describeRules(source.config).patterns.length > 0;
  const filter = isFiltered ? " or the filter of the source leaves it out" : "";
  const place = mirrored ? `'${mirrored.serverPath}'` : "its place";
  return problem(
    "source",
    `The last crawl did not find it at ${place} any more: it was deleted there${filter}. Its removal is held; to let it go, crawl with confirm_deletes=true.`,
  );
}

type Parts = Pick<EngineParts, "itemRepository">;

/** Returns the registry record of a web address in any spelling, a file, or an item id. */
export async function findRecord(called: string, domainId: DomainId, parts: Parts): Promise<IngestItem | undefined> {
  if (/^(url|file)_[a-z2-7]{26}$/.test(called)) return await readRecord(called as ItemId, parts);
  const isPath = /^(file:|\/|[A-Za-z]:[\\/]|\\\\)/i.test(called);
  if (!isPath && !(/^https?:\/\//i.test(called) && URL.canParse(called))) return undefined;
  const registry = { get: async (id: ItemId) => await readRegistered(id, parts) };
  const { members } = parts.itemRepository();
  try {
    const { id } = await findIdentity(called, { registry, members, rules: USUAL_RULES, domainId });
    return (await registry.get(id))?.item;
  } catch (error) {
    // It only looks like an address: then it is the name of a document, or nothing.
    if (error instanceof BadInputError) return undefined;
    throw error;
  }
}

async function readRecord(id: ItemId, parts: Parts): Promise<IngestItem | undefined> {
  return (await readRegistered(id, parts))?.item;
}

/** Returns undefined if the registry is damaged: the other stages are still explained. */
async function readRegistered(id: ItemId, { itemRepository }: Parts): Promise<RegisteredItem | undefined> {
  try {
    return await itemRepository().registry.get(id);
  } catch (error) {
    if (error instanceof DamagedError) return undefined;
    throw error;
  }
}

/** Adds what the registry learned since the last crawl. */
export async function withRecord(stage: Stage, id: ItemId, parts: Parts): Promise<Stage> {
  const item = await readRecord(id, parts);
  if (!item || item.status === "Indexed" || item.status === "Crawled") return stage;
  const detail = await sayRecord(item, parts);
  return stage.outcome === "ok" ? { ...stage, detail: `${stage.detail} ${detail}` } : problem("source", detail);
}

export async function sayRecord(item: IngestItem, parts: Parts): Promise<string> {
  const { lastChecked, errorMessage, nextCrawlAt } = item.scheduling;
  const found = `as the look at it ${shown(lastChecked)} found`;
  const why = errorMessage === "" ? "The registry does not say why." : asSentence(errorMessage);
  if (item.aliasOf !== "") {
    const target = await readRecord(item.aliasOf, parts);
    return `It is another address of '${target?.displaySource ?? item.aliasOf}', and is found under that one.`;
  }
  switch (item.status) {
    case "Pending":
      return "It is registered and waits to be looked at for the first time.";
    case "Crawled":
      return `It was fetched ${shown(lastChecked)} and waits to be indexed. Crawl the domain.`;
    case "Indexed":
      return "The registry knows it, but it is not in this domain: another one has it.";
    case "Gone":
      return `It does not exist any more, ${found}. ${why}`;
    case "OutOfScope":
      return `It must not be indexed, ${found}. ${why}`;
    case "Error": {
      const again = nextCrawlAt && item.watched ? ` It is asked again ${shown(nextCrawlAt)}.` : "";
      return lastChecked ? `The look at it ${shown(lastChecked)} failed. ${why}${again}` : why + again;
    }
  }
}

export type TreeParts = Pick<EngineParts, "retention">;

/** A file that is in the manifest and in no map file. */
export interface AbsentFile {
  readonly config: SourceConfig;
  readonly entry: ManifestEntry;
  readonly detail: string;
}

/** Adds the last event of the file's history. */
export async function withLineage(stage: Stage, { source, entry: { itemId } }: FoundEntry): Promise<Stage> {
  if (source.config.kind.abilities.hasIds) return stage;
  const entry = (await source.ledger.manifest.find([itemId])).get(itemId);
  if (!entry) return stage;
  const said = entry.status === "error" ? sayUnreadable(entry) : sayEvent(entry.lineage.at(-1));
  return said === "" ? stage : { ...stage, detail: `${stage.detail} ${said}` };
}

/** Finds files of that name that are not listed: missing, purged, or never read. */
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

/** Says which rules of folders and containers leave out such a file, whether it exists or not; undefined: none that is known. */
export function sayLeftOut(
  called: string,
  sources: readonly OpenSource[],
  { acceptedTypes }: Pick<EngineParts, "acceptedTypes">,
): string | undefined {
  const trees = sources.map(({ config }) => config).filter(({ kind }) => !kind.abilities.hasIds);
  if (trees.length === 0) return undefined;
  const type = fileTypeOf(called.split("/").at(-1) ?? "");
  if (type && !acceptedTypes.has(type)) return `Files of type '${type}' are not taken in.`;
  const reached = trees.flatMap((config) => {
    const found = config.kind.locate?.(config, called);
    return found ? [{ config, ...found }] : [];
  });
  const leaving = reached.filter(({ isTaken }) => !isTaken);
  if (leaving.length === 0) return undefined;
  const names = leaving.map(({ config }) => `'${config.sourceId}'`).join(" and ");
  return `The rules of ${names} (include, exclude, hidden) leave out a file of that name.`;
}

/** Asks the sources that reach such a file whether they leave it out for something else: its size, a link. One that cannot be asked says nothing. */
export async function askSources(
  called: string,
  sources: readonly OpenSource[],
  {
    domainId,
    signal = new AbortController().signal,
  }: { readonly domainId: DomainId; readonly signal: AbortSignal | undefined },
  parts: Pick<EngineParts, "openSource">,
): Promise<string | undefined> {
  for (const { config, ledger } of sources) {
    const path = config.kind.locate?.(config, called)?.path;
    if (path === undefined) continue;
    try {
      const usage = { log: () => undefined, ledger: async () => ledger, dryRun: true, force: false, checksum: false };
      const source = parts.openSource({ domainId, config }, usage);
      const reason = await source.sayLeftOut?.(path, signal);
      await source.close?.();
      if (reason) return `'${config.sourceId}' leaves it out: ${reason}`;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof BadInputError || error instanceof RemoteError || isErrno(error))) throw error;
    }
  }
  return undefined;
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

function sayAbsent(entry: ManifestEntry, { retention }: TreeParts): string {
  const { path, status, missingSinceAt, missingRuns, deletedAt } = entry;
  if (status === "error") return sayUnreadable(entry);
  if (status === "deleted") {
    return `It was at '${path}', was missing for longer than the grace period, and was purged ${shown(deletedAt)}. If its file is restored, the next crawl brings it back.`;
  }
  const hours = plural(Math.round(retention.graceMs / 3600_000), "hour");
  const grace = `It is purged once it was missing for ${hours} and in ${plural(retention.graceRuns, "complete crawl")}`;
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

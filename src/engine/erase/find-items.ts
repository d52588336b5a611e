import type { Domain, SourceConfig } from "../../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../../contracts/errors.ts";
import type { DomainId, ItemId, SourceId } from "../../contracts/ids.ts";
import type { Ledger, LedgerEntry } from "../../contracts/ledger.ts";
import type { Index } from "../../contracts/search-index.ts";
import type { SourceRun } from "../../contracts/source-kind.ts";
import { retiredConfig } from "../../domains/source-codec.ts";
import type { EngineParts } from "../engine-parts.ts";
import { findRetired, sharesId } from "../retired-sources.ts";

/** Which documents: one by what it is called, one by its item id, or all that have a text. */
export interface WantedItems {
  /** A path below the root of its source, a name, an address, a document id or a file id. */
  readonly document?: string | undefined;
  readonly itemId?: string | undefined;
  readonly search?: string | undefined;
  readonly sourceId?: SourceId | undefined;
}

export interface FoundItem {
  readonly run: SourceRun;
  readonly itemId: ItemId;
  /** For people: its path, or what else is known. */
  readonly path: string;
}

/** Throws BadInputError unless exactly one way of naming documents is given. */
export function checkWanted({ document, itemId, search }: WantedItems): void {
  const given = [document, itemId, search].filter((one) => one !== undefined);
  if (given.length === 1 && given[0]?.trim() !== "") return;
  throw new BadInputError("Name what to erase in one way: a document, an item, or a text to search for.");
}

/** Returns the sources of a domain, also those that were taken out of it and still have a folder. */
export async function sourceRuns(domain: Domain, parts: EngineParts): Promise<readonly SourceRun[]> {
  const retired = await findRetired(domain, parts);
  const all: readonly SourceConfig[] = [...domain.sources, ...retired];
  return all.map((config) => ({ domainId: domain.domainId, config, sharesId: sharesId(config, all) }));
}

/** The run of a source that may be in neither domain nor mirror any more. */
export function runOf(
  domainId: DomainId,
  sourceId: SourceId,
  itemId: ItemId,
  runs: readonly SourceRun[],
  { domains: { kinds } }: Pick<EngineParts, "domains">,
): SourceRun {
  const kind = kinds.ofItem(itemId);
  const known = runs.filter(({ config }) => config.sourceId === sourceId);
  const found = known.find(({ config }) => config.sourceType === kind.type) ?? known[0];
  return found ?? { domainId, config: retiredConfig(kind, sourceId) };
}

/** Finds documents wherever something of them is: in ledgers, manifests and every generation of the index. */
export async function findItems(
  domain: Domain,
  wanted: WantedItems,
  index: Index | undefined,
  parts: EngineParts,
): Promise<readonly FoundItem[]> {
  checkWanted(wanted);
  const all = await sourceRuns(domain, parts);
  const runs = wanted.sourceId === undefined ? all : all.filter(({ config }) => config.sourceId === wanted.sourceId);
  if (wanted.sourceId !== undefined && runs.length === 0) {
    throw new NotFoundError(`Source '${wanted.sourceId}' does not exist in domain '${domain.domainId}'.`);
  }
  if (wanted.search !== undefined) return await findByText(wanted.search, wanted.sourceId, domain, all, index, parts);
  const called = (wanted.document ?? wanted.itemId ?? "").trim();
  const found = new Map<string, FoundItem>();
  const note = (run: SourceRun, itemId: ItemId, path: string): void => {
    const key = `${run.config.sourceType} ${run.config.sourceId} ${itemId}`;
    if (!found.has(key)) found.set(key, { run, itemId, path });
  };
  for (const run of runs) {
    const ledger = await parts.ledgers.open(run, { readOnly: true });
    await findInLedger(ledger, called, wanted.itemId === undefined, (itemId, path) => note(run, itemId, path));
  }
  for (const version of (await index?.generations?.versions({ called })) ?? []) {
    const { sourceId, itemId, path } = version;
    if (wanted.itemId !== undefined && itemId !== called) continue;
    if (wanted.sourceId !== undefined && sourceId !== wanted.sourceId) continue;
    note(runOf(domain.domainId, sourceId as SourceId, itemId, all, parts), itemId, path);
  }
  const items = [...found.values()];
  if (items.length === 0) throw new NotFoundError(`Domain '${domain.domainId}' has no document of that name or id.`);
  if (items.length === 1 || wanted.itemId !== undefined) return items;
  const which = items.slice(0, 5).map(({ itemId, run }) => `${itemId} (source '${run.config.sourceId}')`);
  throw new BadInputError(
    `${items.length} documents are called so. Name one by its item id: ${which.join(", ")}${items.length > 5 ? ", …" : ""}.`,
  );
}

/** Kept generations also have documents of sources that are gone. */
async function findByText(
  text: string,
  ofSource: SourceId | undefined,
  { domainId }: Domain,
  runs: readonly SourceRun[],
  index: Index | undefined,
  parts: EngineParts,
): Promise<readonly FoundItem[]> {
  if (!index?.retained) {
    throw new BadInputError(
      "Only the embedded index can be searched for every document with a text; at OpenAI and Azure name the documents.",
    );
  }
  if (text.trim().length < 3) throw new BadInputError("The text to search for must have at least three characters.");
  const found = new Map<string, FoundItem>();
  for await (const page of index.retained.mentioning(text.trim())) {
    for (const { sourceId, itemId } of page) {
      if (ofSource !== undefined && sourceId !== ofSource) continue;
      const run = runOf(domainId, sourceId, itemId, runs, parts);
      found.set(`${sourceId} ${itemId}`, { run, itemId, path: await pathOf(index, sourceId, itemId) });
    }
  }
  if (found.size === 0) throw new NotFoundError(`Domain '${domainId}' has no document with this text.`);
  return [...found.values()];
}

async function pathOf(index: Index, sourceId: SourceId, itemId: ItemId): Promise<string> {
  const [newest] = (await index.generations?.versions({ sourceId, itemId })) ?? [];
  return newest?.path || newest?.name || itemId;
}

/** Exact only: what is erased cannot be brought back. */
async function findInLedger(
  ledger: Ledger,
  called: string,
  byName: boolean,
  note: (itemId: ItemId, path: string) => void,
): Promise<void> {
  const own = called as ItemId;
  const entry = await ledger.get(own);
  const tracked = (await ledger.manifest.find([own])).get(own);
  if (entry) note(own, tracked?.path ?? namesOf(entry)[0] ?? called);
  else if (tracked) note(own, tracked.path);
  if (entry || tracked || !byName) return;
  const atPath = (await ledger.manifest.at([called])).get(called);
  if (atPath) note(atPath.docId, atPath.path);
  for await (const page of ledger.entries()) {
    for (const known of page) {
      const names = namesOf(known);
      if (names.includes(called) || known.indexed?.fileId === called) note(known.itemId, names[0] ?? known.itemId);
    }
  }
}

/** The path first. */
function namesOf({ seen, mirrored, indexed }: LedgerEntry): readonly string[] {
  const file = mirrored?.file || indexed?.file || "";
  // Below `DOMAIN/05_folders/docs/02_embedded/`.
  const path = file.split("/").slice(4).join("/");
  const of = [
    seen?.name,
    mirrored?.name,
    indexed?.name,
    seen?.serverPath,
    mirrored?.serverPath,
    seen?.url,
    seen?.rawUrl,
  ];
  return [path, ...of].flatMap((name) => name || []);
}

import { BadInputError } from "../contracts/errors.ts";
import { writeFileAtomic } from "../lib/atomic-file.ts";
import { isJsonObject } from "../lib/json-object.ts";
import { readMetadata, withMetadataLock } from "./files-metadata.ts";
import { customProperties, embeddedAtOf, fileIdOf, itemIdOf } from "./files-metadata-codec.ts";
import type { JsonElements } from "./json-elements.ts";

/** What the crawl knows of entries. */
export interface PruneRules {
  /** Why nobody needs the entry any more; "" when somebody does. */
  reasonToRemove(fileId: string, itemId: string): string;
  /** Whether the item still is somewhere, so that its next version may want what people wrote down about it. */
  isAlive(itemId: string): boolean;
}

export interface PrunedEntry {
  readonly fileId: string;
  readonly itemId: string;
  readonly name: string;
  readonly reason: string;
}

export interface Pruned {
  readonly removed: readonly PrunedEntry[];
  /** How many elements the file has afterwards. */
  readonly remaining: number;
}

/**
 * Takes entries that nobody needs out of `files_metadata.json`, in a short exclusive read and rename. Of an item that is
 * alive, an entry goes only when every custom property it has is on an entry that stays. What is no entry stays. Throws,
 * and changes nothing, when the file cannot be read as what it is. A dry run only tells.
 */
export function pruneFilesMetadata(
  path: string,
  rules: PruneRules,
  options: { readonly dryRun: boolean },
): Promise<Pruned> {
  return options.dryRun ? prune(path, rules) : withMetadataLock(path, () => prune(path, rules, writeFileAtomic));
}

/** How many elements the file has; 0 also when it cannot be read. */
export async function countMetadataEntries(path: string): Promise<number> {
  try {
    return (await readMetadata(path)).length;
  } catch (error) {
    if (error instanceof BadInputError) return 0;
    throw error;
  }
}

async function prune(path: string, rules: PruneRules, write?: typeof writeFileAtomic): Promise<Pruned> {
  try {
    const elements = await readMetadata(path);
    const leaving = await findLeaving(elements, rules);
    const removed = new Set(leaving.keys());
    if (write && removed.size > 0) await write(path, elements.render({ removed }));
    return { removed: [...leaving.values()], remaining: elements.length - removed.size };
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
    throw new BadInputError("files_metadata.json could not be read", { cause: error });
  }
}

interface Candidate extends PrunedEntry {
  readonly index: number;
  readonly embeddedAt: string;
  readonly properties: readonly string[];
}

async function findLeaving(elements: JsonElements, rules: PruneRules): Promise<Map<number, PrunedEntry>> {
  const candidates: Candidate[] = [];
  const kept = new Map<string, Set<string>>();
  const keep = (itemId: string, properties: readonly string[]): void => {
    if (properties.length > 0) kept.set(itemId, new Set([...(kept.get(itemId) ?? []), ...properties]));
  };
  await elements.visit((entry, index) => {
    if (!isJsonObject(entry) || fileIdOf(entry) === "") return;
    const [fileId, itemId, properties] = [fileIdOf(entry), itemIdOf(entry), Object.keys(customProperties(entry))];
    const reason = rules.reasonToRemove(fileId, itemId);
    const name = String(entry["filename"] ?? "");
    if (reason === "") keep(itemId, properties);
    else candidates.push({ index, fileId, itemId, name, reason, properties, embeddedAt: embeddedAtOf(entry) });
  });
  // The newest first: it has what its predecessors had, so it is the one to stay if one has to.
  candidates.sort((a, b) => (a.embeddedAt < b.embeddedAt ? 1 : -1));
  const leaving = new Map<number, PrunedEntry>();
  for (const { index, embeddedAt, properties, ...pruned } of candidates) {
    const isElsewhere = (key: string): boolean => kept.get(pruned.itemId)?.has(key) === true;
    if (rules.isAlive(pruned.itemId) && !properties.every(isElsewhere)) keep(pruned.itemId, properties);
    else leaving.set(index, pruned);
  }
  return leaving;
}

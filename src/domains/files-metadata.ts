import { rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BadInputError, explain } from "../contracts/errors.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { withFileLock } from "../lib/file-lease.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { toFileStamp } from "../lib/time.ts";
import {
  customProperties,
  embeddedAtOf,
  fileIdOf,
  formatLabel,
  formatMetadataEntry,
  itemIdOf,
  type MetadataEntry,
} from "./files-metadata-codec.ts";
import { type ElementEdits, JsonElements } from "./json-elements.ts";
import { toUtf8 } from "./json-file.ts";

/**
 * Brings `files_metadata.json` up to date with what the store now holds: an exclusive read, merge and rename. A file id that
 * is known already may have a new name or place; one that is not becomes a new entry. Entries of earlier versions stay as history, and custom properties go on to the new entry from the newest earlier one of the same item. Without a change
 * nothing is written. Returns sentences for the log: a damaged file was moved aside.
 */
export async function updateFilesMetadata(path: string, held: readonly MetadataEntry[]): Promise<readonly string[]> {
  if (held.length === 0) return [];
  return withMetadataLock(path, async () => {
    const { elements, edits, warnings } = await planOrMoveAside(path, held);
    if (edits) await writeFileAtomic(path, elements.render(edits));
    return warnings;
  });
}

/** Whoever writes the file reads it under this lock first. */
export function withMetadataLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  return withFileLock(join(dirname(path), ".lockstep", "files-metadata.lock"), work);
}

/** The elements of the file, none when it is not there. BadInputError when it is no JSON array. */
export async function readMetadata(path: string): Promise<JsonElements> {
  return JsonElements.find(toUtf8((await readFileIfExists(path)) ?? Buffer.alloc(0)));
}

interface Planned {
  readonly elements: JsonElements;
  /** undefined: there is nothing to change. */
  readonly edits: ElementEdits | undefined;
  readonly warnings: readonly string[];
}

/** A damaged file is never overwritten: it is moved aside, where its custom properties can still be rescued from. */
async function planOrMoveAside(path: string, held: readonly MetadataEntry[]): Promise<Planned> {
  try {
    const elements = await readMetadata(path);
    return { elements, edits: await planEdits(elements, held), warnings: [] };
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
    const aside = `${path}.corrupt-${toFileStamp(new Date())}-${process.pid}`;
    await rename(path, aside);
    const elements = await JsonElements.find(Buffer.alloc(0));
    const warning = `files_metadata.json could not be read (${explain(error)}); it was moved to '${aside}'.`;
    return { elements, edits: await planEdits(elements, held), warnings: [warning] };
  }
}

/** What is remembered of the entries that the files and items in question have, and of no others. */
interface Remembered {
  /** Where the entry of a file id is. */
  readonly places: ReadonlyMap<string, number>;
  /** By item of a source, and by item alone: what its newest entry hands on. */
  readonly newest: Map<string, Newest>;
}

interface Newest {
  readonly embeddedAt: string;
  readonly properties: JsonObject;
  readonly address: JsonObject;
}

const NOTHING: Newest = { embeddedAt: "", properties: {}, address: {} };

async function planEdits(elements: JsonElements, held: readonly MetadataEntry[]): Promise<ElementEdits | undefined> {
  const { places, newest } = await remember(elements, held);
  const replaced = new Map<number, JsonObject>();
  const added = new Map<string, { readonly entry: MetadataEntry; readonly properties: JsonObject }>();
  const add = (entry: MetadataEntry): void => {
    if (added.has(entry.fileId)) return;
    const before = newest.get(keyOf(entry.itemId, entry.sourceId)) ?? newest.get(entry.itemId) ?? NOTHING;
    const address = addressOf(formatLabel(entry)) ?? before.address;
    added.set(entry.fileId, { entry, properties: { ...address, ...before.properties } });
    const next = { ...before, embeddedAt: entry.embeddedAt, address };
    if (next.embeddedAt >= before.embeddedAt) newest.set(keyOf(entry.itemId, entry.sourceId), next);
  };
  for (const entry of held) {
    const index = places.get(entry.fileId);
    const existing = index === undefined ? undefined : elements.at(index);
    const label = { ...formatLabel(entry), ...(entry.url === "" && addressOf(existing)) };
    if (index === undefined || !isJsonObject(existing)) add(entry);
    else if (!Object.entries(label).every(([key, value]) => existing[key] === value)) {
      replaced.set(index, { ...existing, ...label });
    }
  }
  return replaced.size + added.size > 0 ? { replaced, added: formatAll(added.values()) } : undefined;
}

/** An item may be in two sources of a domain; each has its own entries, with properties of their own. */
function keyOf(itemId: string, sourceId: string): string {
  return `${itemId}\n${sourceId}`;
}

/** An item that is not listed now, because its removal is held, tells no address: the last one known stays. */
function addressOf(entry: unknown): JsonObject | undefined {
  const { url, raw_url } = isJsonObject(entry) ? entry : {};
  return url ? { url, raw_url } : undefined;
}

/** While it is written: a first crawl adds all there is. */
function* formatAll(
  added: Iterable<{ readonly entry: MetadataEntry; readonly properties: JsonObject }>,
): Generator<JsonObject, void> {
  for (const { entry, properties } of added) yield { ...formatMetadataEntry(entry), ...properties };
}

async function remember(elements: JsonElements, held: readonly MetadataEntry[]): Promise<Remembered> {
  const files = new Set<string>(held.map(({ fileId }) => fileId));
  const items = new Set<string>(held.map(({ itemId }) => itemId));
  const places = new Map<string, number>();
  const newest: Remembered["newest"] = new Map();
  await elements.visit((entry, index) => {
    if (!isJsonObject(entry)) return;
    if (files.has(fileIdOf(entry))) places.set(fileIdOf(entry), index);
    const item = itemIdOf(entry);
    if (!items.has(item)) return;
    const embeddedAt = embeddedAtOf(entry);
    const handedOn = { embeddedAt, properties: customProperties(entry), address: addressOf(entry) ?? {} };
    for (const key of [item, keyOf(item, String(entry["source_id"]))])
      if (embeddedAt >= (newest.get(key)?.embeddedAt ?? "")) newest.set(key, handedOn);
  });
  return { places, newest };
}

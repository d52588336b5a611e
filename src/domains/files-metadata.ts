import { rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { explain } from "../contracts/errors.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { withFileLock } from "../lib/file-lease.ts";
import { fileStamp } from "../lib/file-stamp.ts";
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
import { parseJsonBytes, toJsonText } from "./json-file.ts";

export interface MetadataChanges {
  /** Newly embedded versions. One whose file id is known already is left as it is. */
  readonly embedded: readonly MetadataEntry[];
  /** Same file id at a new name or place; one that is not known yet is added. */
  readonly relabelled: readonly MetadataEntry[];
}

/**
 * Brings `files_metadata.json` up to date: a short exclusive read, merge and rename. Entries of earlier versions stay
 * as history, and custom properties go on to the new entry from the newest earlier one of the same item. Without a
 * change nothing is written. Returns sentences for the log: a damaged file was moved aside.
 */
export async function updateFilesMetadata(path: string, changes: MetadataChanges): Promise<readonly string[]> {
  if (changes.embedded.length === 0 && changes.relabelled.length === 0) return [];
  return withFileLock(join(dirname(path), ".lockstep", "files-metadata.lock"), async () => {
    const { entries, warnings } = await readOrMoveAside(path);
    if (applyChanges(entries, changes)) await writeFileAtomic(path, toJsonText(entries));
    return warnings;
  });
}

/** Looks entries up by `openai_file_id`, reading a file again only when it changed. */
export interface FilesMetadataReader {
  /** The entry as it is on disk; undefined when there is none, or the file is missing or damaged. */
  find(path: string, fileId: string): Promise<Readonly<JsonObject> | undefined>;
}

interface CachedFile {
  readonly version: string;
  readonly byFileId: Promise<ReadonlyMap<string, JsonObject>>;
}

export function createFilesMetadataReader(): FilesMetadataReader {
  const cache = new Map<string, CachedFile>();
  return {
    async find(path, fileId) {
      const version = await fileStamp(path);
      let cached = cache.get(path);
      if (!cached || cached.version !== version) {
        cached = { version, byFileId: version === "" ? Promise.resolve(new Map()) : readByFileId(path) };
        cache.set(path, cached);
      }
      return (await cached.byFileId).get(fileId);
    },
  };
}

async function readByFileId(path: string): Promise<ReadonlyMap<string, JsonObject>> {
  const byFileId = new Map<string, JsonObject>();
  const bytes = await readFileIfExists(path);
  for (const entry of (bytes && parseEntries(bytes).entries) ?? []) {
    if (isJsonObject(entry) && fileIdOf(entry) !== "") byFileId.set(fileIdOf(entry), entry);
  }
  return byFileId;
}

/** A damaged file is never overwritten: it is moved aside, where its custom properties can still be rescued from. */
async function readOrMoveAside(
  path: string,
): Promise<{ readonly entries: unknown[]; readonly warnings: readonly string[] }> {
  const bytes = await readFileIfExists(path);
  if (!bytes) return { entries: [], warnings: [] };
  const { entries, problem } = parseEntries(bytes);
  if (entries) return { entries, warnings: [] };
  const aside = `${path}.corrupt-${toFileStamp(new Date())}-${process.pid}`;
  await rename(path, aside);
  return { entries: [], warnings: [`files_metadata.json could not be read (${problem}); it was moved to '${aside}'.`] };
}

function parseEntries(bytes: Uint8Array): { readonly entries: unknown[] | undefined; readonly problem: string } {
  try {
    const json = parseJsonBytes(bytes) ?? [];
    return Array.isArray(json)
      ? { entries: json, problem: "" }
      : { entries: undefined, problem: "it is no JSON array" };
  } catch (error) {
    return { entries: undefined, problem: explain(error) };
  }
}

/** Changes the array in place; elements that are no entries stay where they are. */
function applyChanges(entries: unknown[], changes: MetadataChanges): boolean {
  const places = new Map<string, number>();
  const newest = new Map<string, JsonObject>();
  const remember = (entry: unknown, index: number): void => {
    if (!isJsonObject(entry)) return;
    places.set(fileIdOf(entry), index);
    const other = newest.get(itemIdOf(entry));
    if (!other || embeddedAtOf(entry) >= embeddedAtOf(other)) newest.set(itemIdOf(entry), entry);
  };
  entries.forEach(remember);
  let changed = false;
  const add = (entry: MetadataEntry): void => {
    const json = { ...formatMetadataEntry(entry), ...customProperties(newest.get(entry.itemId) ?? {}) };
    remember(json, entries.push(json) - 1);
    changed = true;
  };
  for (const entry of changes.embedded) {
    if (!places.has(entry.fileId)) add(entry);
  }
  for (const entry of changes.relabelled) {
    const index = places.get(entry.fileId);
    const existing = index === undefined ? undefined : entries[index];
    if (index === undefined || !isJsonObject(existing)) {
      add(entry);
      continue;
    }
    const label = formatLabel(entry);
    if (Object.entries(label).every(([key, value]) => existing[key] === value)) continue;
    entries[index] = { ...existing, ...label };
    changed = true;
  }
  return changed;
}

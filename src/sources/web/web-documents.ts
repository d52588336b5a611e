import { opendir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { WebDocuments } from "../../contracts/web.ts";
import { ifMissing, isErrno, readFileIfExists, writeFileAtomic } from "../../lib/atomic-file.ts";
import { namesIn } from "../../lib/file-system.ts";
import { contentDigest } from "../../lib/hash.ts";

const DAY_MS = 86_400_000;
/** Documents can be fetched again, and are indexed long before. */
const KEEP_DOCUMENTS_DAYS = 30;

/** Stores fetched documents, which can be lost and fetched again, and snapshots, which cannot. */
export function createWebDocuments(options: {
  readonly folder: string;
  /** 0: no snapshots of responses. */
  readonly keepSnapshotsDays: number;
  /** Where snapshots are stored; default: a folder beside the documents. */
  readonly snapshots?: SnapshotStore | undefined;
}): WebDocuments {
  const { folder, keepSnapshotsDays } = options;
  const store = options.snapshots ?? snapshotsInFolder(join(folder, "snapshots"));
  const documentOf = (id: ItemId): string => {
    const { name, key } = checkedItemName(id);
    return join(folder, key.slice(0, 2), key.slice(2, 4), name);
  };
  return {
    async put(id, bytes) {
      await writeFileAtomic(documentOf(id), bytes, { flush: "later" });
    },

    async get(id, contentHash) {
      const bytes = await readFileIfExists(documentOf(id));
      return bytes && contentDigest(bytes) === contentHash ? bytes : undefined;
    },

    async keepSnapshot(id, at, bytes, mimeType) {
      if (keepSnapshotsDays > 0) await store.put(id, snapshotName(at, mimeType), bytes, mimeType);
    },

    async snapshots(id) {
      const stored = (await store.of(id)).map(({ name, ...snapshot }) => ({ at: snapshotInstant(name), ...snapshot }));
      return stored.filter(({ at }) => at !== "");
    },

    async delete(id) {
      await rm(documentOf(id), { force: true });
      if (keepSnapshotsDays > 0) await store.delete(id);
    },

    async erase(id) {
      await rm(documentOf(id), { force: true });
      await store.delete(id);
    },

    async removeOld(now) {
      const before = (days: number): Date => new Date(now.getTime() - days * DAY_MS);
      const removed = await removeOldFiles(folder, before(KEEP_DOCUMENTS_DAYS), { except: "snapshots" });
      return removed + (await store.removeOld(before(keepSnapshotsDays)));
    },
  };
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  "text/html": "html",
  "application/xhtml+xml": "xhtml",
  "text/markdown": "md",
  "text/x-markdown": "md",
  "text/plain": "txt",
  "text/csv": "csv",
  "text/xml": "xml",
  "application/xml": "xml",
  "application/json": "json",
  "application/pdf": "pdf",
  "application/rtf": "rtf",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
};

/** `20261116T091329123.html`: names sort by time. Parameters of the type (`; charset=…`) are ignored. */
function snapshotName(at: string, mimeType: string): string {
  const instant = new Date(at);
  if (Number.isNaN(instant.getTime())) throw new BadInputError(`'${at.slice(0, 40)}' is no instant in ISO 8601.`);
  const stamp = instant.toISOString().replaceAll(/[-:.Z]/g, "");
  const type = mimeType.split(";")[0]?.trim().toLowerCase() ?? "";
  return `${stamp}.${Object.hasOwn(EXTENSIONS, type) ? EXTENSIONS[type] : "bin"}`;
}

/** Returns when it was taken, as ISO 8601; "" for any other file. */
function snapshotInstant(name: string): string {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})\.[a-z]+$/.exec(name);
  if (!parts) return "";
  const [, year, month, day, hour, minute, second, ms] = parts;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`;
}

/** Stores unchanged responses by item, under a name with the time. */
export interface SnapshotStore {
  put(id: ItemId, name: string, bytes: Uint8Array, mimeType: string): Promise<void>;
  of(id: ItemId): Promise<readonly { readonly name: string; readonly bytes: number; readonly path: string }[]>;
  delete(id: ItemId): Promise<void>;
  /** Removes snapshots written before then; returns how many. */
  removeOld(before: Date): Promise<number>;
}

function snapshotsInFolder(folder: string): SnapshotStore {
  const folderOf = (id: ItemId): string => join(folder, itemFolder(id));
  return {
    put: (id, name, bytes) => writeFileAtomic(join(folderOf(id), name), bytes),
    async of(id) {
      const own = folderOf(id);
      const stored = [];
      for (const name of (await namesIn(own)).sort()) {
        stored.push({ name, bytes: (await stat(join(own, name))).size, path: join(own, name) });
      }
      return stored;
    },
    delete: (id) => rm(folderOf(id), { force: true, recursive: true }),
    removeOld: (before) => removeOldFiles(folder, before),
  };
}

/** Folder of an item, below the root of the store. */
export function itemFolder(id: ItemId): string {
  const { name, key } = checkedItemName(id);
  return `${key.slice(0, 2)}/${name}`;
}

/** Removes files last written before then; returns how many. Leaves folders, because another process may be writing into them. */
async function removeOldFiles(
  folder: string,
  before: Date,
  options: { readonly except?: string } = {},
): Promise<number> {
  let removed = 0;
  try {
    for await (const entry of await opendir(folder)) {
      const path = join(folder, entry.name);
      if (entry.name === options.except) continue;
      if (entry.isDirectory()) {
        removed += await removeOldFiles(path, before);
      } else if (await isOlder(path, before)) {
        await rm(path, { force: true });
        removed += 1;
      }
    }
  } catch (error) {
    // Nothing was stored yet, or another process removed the folder.
    if (!isErrno(error, "ENOENT")) throw error;
  }
  return removed;
}

/** Returns false if there is no such file. */
export async function isOlder(path: string, before: Date): Promise<boolean> {
  const found = await stat(path).catch(ifMissing(undefined));
  return found !== undefined && found.mtimeMs < before.getTime();
}

/** An item's id as a file name, and the key that spreads items over folders. */
export interface ItemName {
  readonly name: string;
  readonly key: string;
}

/** Returns undefined for anything but an item id, so that it never becomes a path. */
export function itemName(id: string): ItemName | undefined {
  const key = /^(?:url|file)_([a-z2-7]{26})$/.exec(id)?.[1];
  return key === undefined ? undefined : { name: id, key };
}

export function checkedItemName(id: string): ItemName {
  const name = itemName(id);
  if (name) return name;
  throw new BadInputError(
    `An item's id is 'url_' or 'file_' and 26 letters and digits (a-z, 2-7); got '${id.slice(0, 80)}'.`,
  );
}

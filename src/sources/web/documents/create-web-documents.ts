import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { BadInputError } from "../../../contracts/errors.ts";
import type { ItemId } from "../../../contracts/ids.ts";
import type { WebDocuments } from "../../../contracts/web.ts";
import { readFileIfExists, writeFileAtomic } from "../../../lib/atomic-file.ts";
import { checkedItemName } from "../item-name.ts";
import { removeOldFiles } from "./remove-old-files.ts";
import { type SnapshotShelf, snapshotsInFolder } from "./snapshot-shelf.ts";

const DAY_MS = 86_400_000;
/** They can be fetched again; by then most have been indexed long ago. */
const KEEP_DOCUMENTS_DAYS = 30;

/** Losing any of it loses nothing that the web does not have, except snapshots, which are kept for somebody's own sake. */
export function createWebDocuments(options: {
  readonly folder: string;
  /** 0: answers are not kept as they came. */
  readonly keepSnapshotsDays: number;
  /** Where they are; in a folder beside the documents when left out. */
  readonly snapshots?: SnapshotShelf | undefined;
}): WebDocuments {
  const { folder, keepSnapshotsDays } = options;
  const shelf = options.snapshots ?? snapshotsInFolder(join(folder, "snapshots"));
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
      return bytes && hashOf(bytes) === contentHash ? bytes : undefined;
    },

    async keepSnapshot(id, at, bytes, mimeType) {
      if (keepSnapshotsDays > 0) await shelf.put(id, snapshotName(at, mimeType), bytes, mimeType);
    },

    async snapshots(id) {
      const kept = (await shelf.of(id)).map(({ name, ...one }) => ({ at: snapshotInstant(name), ...one }));
      return kept.filter(({ at }) => at !== "");
    },

    async delete(id) {
      await rm(documentOf(id), { force: true });
      if (keepSnapshotsDays > 0) await shelf.delete(id);
    },

    async removeOld(now) {
      const before = (days: number): Date => new Date(now.getTime() - days * DAY_MS);
      const removed = await removeOldFiles(folder, before(KEEP_DOCUMENTS_DAYS), { except: "snapshots" });
      return removed + (await shelf.removeOld(before(keepSnapshotsDays)));
    },
  };
}

function hashOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
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

/** When it was taken, as ISO 8601; "" for any other file. */
function snapshotInstant(name: string): string {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})\.[a-z]+$/.exec(name);
  if (!parts) return "";
  const [, year, month, day, hour, minute, second, ms] = parts;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`;
}

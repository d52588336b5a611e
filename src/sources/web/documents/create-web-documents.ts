import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { ItemId } from "../../../contracts/ids.ts";
import type { WebDocuments } from "../../../contracts/web.ts";
import { readFileIfExists, writeFileAtomic } from "../../../lib/atomic-file.ts";
import { checkedItemName } from "../item-name.ts";
import { removeOldFiles } from "./remove-old-files.ts";
import { snapshotInstant, snapshotName } from "./snapshot-name.ts";
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

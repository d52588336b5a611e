import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ItemId } from "../../../contracts/ids.ts";
import { writeFileAtomic } from "../../../lib/atomic-file.ts";
import { namesIn } from "../../../lib/names-in.ts";
import { checkedItemName } from "../item-name.ts";
import { removeOldFiles } from "./remove-old-files.ts";

/** Where answers are kept as they came, each under its item and a name that tells when. */
export interface SnapshotShelf {
  put(id: ItemId, name: string, bytes: Uint8Array, mimeType: string): Promise<void>;
  of(id: ItemId): Promise<readonly { readonly name: string; readonly bytes: number; readonly path: string }[]>;
  delete(id: ItemId): Promise<void>;
  /** Those written before then. Returns how many. */
  removeOld(before: Date): Promise<number>;
}

export function snapshotsInFolder(folder: string): SnapshotShelf {
  const placeOf = (id: ItemId): string => join(folder, placeBelow(id));
  return {
    put: (id, name, bytes) => writeFileAtomic(join(placeOf(id), name), bytes),
    async of(id) {
      const own = placeOf(id);
      const kept = [];
      for (const name of (await namesIn(own)).sort()) {
        kept.push({ name, bytes: (await stat(join(own, name))).size, path: join(own, name) });
      }
      return kept;
    },
    delete: (id) => rm(placeOf(id), { force: true, recursive: true }),
    removeOld: (before) => removeOldFiles(folder, before),
  };
}

/** Of an item, below the root of the shelf. */
export function placeBelow(id: ItemId): string {
  const { name, key } = checkedItemName(id);
  return `${key.slice(0, 2)}/${name}`;
}

import { isAbsolute, relative, resolve, sep } from "node:path";
import type { Store } from "./store.ts";

type Place = Pick<Store, "storageFolder">;

/**
 * Where a document's bytes are, as the store keeps it: relative to the storage folder, beside whose `index/` the mirror
 * is, so that the whole folder can be moved. Bytes from elsewhere keep their absolute path.
 */
export function storedPath({ storageFolder }: Place, path: string): string {
  const inside = relative(storageFolder, path);
  return inside.startsWith(`..${sep}`) || isAbsolute(inside) ? path : inside;
}

export function actualPath({ storageFolder }: Place, stored: string): string {
  return resolve(storageFolder, stored);
}

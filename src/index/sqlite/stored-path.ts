import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import type { Database } from "./open-database.ts";

/**
 * Where a document's bytes are, as the store keeps it: relative to the storage folder, beside whose `index/` the mirror
 * is, so that the whole folder can be moved. Bytes from elsewhere keep their absolute path.
 */
export function storedPath({ folder }: Database, path: string): string {
  const inside = relative(dirname(folder), path);
  return inside.startsWith(`..${sep}`) || isAbsolute(inside) ? path : inside;
}

export function actualPath({ folder }: Database, stored: string): string {
  return resolve(dirname(folder), stored);
}

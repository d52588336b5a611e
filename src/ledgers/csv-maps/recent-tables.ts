import type { KeyIndex } from "./key-index.ts";
import type { TableName } from "./map-journal.ts";
import type { OpenTable } from "./open-table.ts";

export interface Recent {
  readonly keys: KeyIndex;
  readonly tables: ReadonlyMap<TableName, OpenTable>;
}

/** Long enough for the next step of the same crawl, too short to weigh on a server that goes on to other things. */
const KEPT_MS = 2000;

/**
 * Tables as the ledger that was closed last left them. A crawl opens the same files for download and for embed; they
 * are parsed again only if somebody replaced them in between.
 */
const recentTables = new Map<string, Recent>();

export function keepRecent(folder: string, recent: Recent): void {
  recentTables.set(folder, recent);
  setTimeout(() => {
    if (recentTables.get(folder) === recent) recentTables.delete(folder);
  }, KEPT_MS).unref();
}

/** Whoever takes them has them alone. */
export function takeRecent(folder: string): Recent | undefined {
  const recent = recentTables.get(folder);
  recentTables.delete(folder);
  return recent;
}

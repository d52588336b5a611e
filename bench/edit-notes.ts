import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** No mark of a change feed, so that the next crawl lists. */
export const NO_MARK = "change_mark = ''";
/** Nothing that lets a crawl leave out what it knows: it compares everything. */
export const NO_NOTES = `policy = '', ${NO_MARK}, embedded_rules = '', embedded_rev = 0`;
/** The run that hashes a tenth of the files comes later. */
export const NO_HASHES = "hashes_owed = 0";

/** Changes what the ledger of the bench's domain has noted of its source. */
export function editNotes(storage: string, ...sets: readonly string[]): void {
  const ledger = new DatabaseSync(join(storage, "crawler/BENCH/ledger.sqlite"));
  ledger.exec(`UPDATE source SET ${sets.join(", ")}`);
  ledger.close();
}

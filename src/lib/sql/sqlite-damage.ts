/** SQLITE_CORRUPT and SQLITE_NOTADB: what is in the file is not what SQLite wrote. */
const DAMAGED = [11, 26];

/** What SQLite says of a file that is damaged; undefined for every other error. */
export function findDamage(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ("errcode" in at && typeof at.errcode === "number" && DAMAGED.includes(at.errcode & 0xff)) return at.message;
  }
  return undefined;
}

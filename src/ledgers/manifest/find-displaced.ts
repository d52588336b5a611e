import type { RecordTable } from "./record-table.ts";

/**
 * The records whose path belongs to another one: of several with one path, one that is there has it, and then the newest. Every
 * chain is gone through once, from its newest record, and only what shares a hash with something else is read.
 */
export function findDisplaced(records: RecordTable, pathOf: (record: number) => string): ReadonlySet<number> {
  const displaced = new Set<number>();
  const { paths } = records;
  for (let newest = 0; newest < records.size; newest++) {
    const hash = paths.hashOf(newest);
    if (paths.next(hash) !== newest) continue;
    const sharing: number[] = [];
    for (let record = newest; record >= 0; record = paths.next(hash, record)) {
      if (records.isAlive(record)) sharing.push(record);
    }
    if (sharing.length > 1) addDisplaced(sharing, records, pathOf, displaced);
  }
  return displaced;
}

function addDisplaced(
  newestFirst: readonly number[],
  records: RecordTable,
  pathOf: (record: number) => string,
  displaced: Set<number>,
): void {
  const owners = new Map<string, number>();
  for (const record of newestFirst) {
    const path = pathOf(record);
    const owner = owners.get(path);
    const isOwner = owner === undefined || (records.isPresent(record) && !records.isPresent(owner));
    if (isOwner) owners.set(path, record);
    if (owner !== undefined) displaced.add(isOwner ? owner : record);
  }
}

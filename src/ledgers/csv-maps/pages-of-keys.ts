import type { KeySet, RowTable } from "./row-table.ts";

/** Small enough that others get their turn in between. */
const PAGE = 1000;

/** The keys that the tables had when it was asked for, each once. */
export function* keysOfAll(tables: readonly RowTable[]): Generator<string> {
  const sets = tables.map((table) => table.keys());
  for (const [at, set] of sets.entries()) {
    const before: readonly KeySet[] = sets.slice(0, at);
    for (const key of set) if (!before.some((one) => one.has(key))) yield key;
  }
}

/** What is read of each key, in pages; undefined is left out. */
export async function* inPages<T>(
  keys: Iterable<string>,
  read: (key: string) => T | undefined,
): AsyncGenerator<T[], void> {
  let page: T[] = [];
  for (const key of keys) {
    const one = read(key);
    if (one !== undefined) page.push(one);
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

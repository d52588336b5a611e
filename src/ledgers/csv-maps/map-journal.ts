import { closeSync, openSync, writeSync } from "node:fs";
import { rm } from "node:fs/promises";
import { readFileIfExists } from "../../lib/atomic-file.ts";
import type { Row, RowTable } from "./row-table.ts";

export type TableName = "seen" | "mirrored" | "indexed" | "observed";

/** One row of one map file, as it was and as it is to be; null: no row. */
export interface RowChange {
  readonly table: TableName;
  readonly key: string;
  readonly before: Row | null;
  readonly after: Row | null;
}

/**
 * Changes on their way into the map files. Rewriting a map for every item would cost the square of the library, and
 * appending to it would leave it with two rows for one item, so rows wait here; a run that was killed leaves its
 * journal, and the next one starts by applying it.
 */
export class MapJournal {
  readonly #path: string;
  #pending = "";
  /** Kept open between flushes, and written to at once: a first crawl flushes once an item, and a promise costs more than the few bytes. */
  #fd: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** What a killed run left; undefined when it left nothing. A line that is cut was never acknowledged. */
  async read(): Promise<RowChange[] | undefined> {
    return await readJsonLines<RowChange>(this.#path);
  }

  append(change: RowChange): void {
    this.#pending += `${JSON.stringify(change)}\n`;
  }

  flush(): void {
    if (!this.#pending) return;
    const text = this.#pending;
    this.#pending = "";
    this.#fd ??= openSync(this.#path, "a");
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.byteLength; ) at += writeSync(this.#fd, bytes, at);
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** Everything in it has reached the map files, but for what `rest` then names: changes put meanwhile. */
  async restart(rest: () => readonly RowChange[]): Promise<void> {
    this.close();
    await rm(this.#path, { force: true });
    this.#pending = "";
    for (const change of rest()) this.append(change);
  }
}

/** undefined when there is no such file. A line that is cut says nothing. */
export async function readJsonLines<T>(path: string): Promise<T[] | undefined> {
  const text = (await readFileIfExists(path))?.toString("utf8");
  return text?.split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as T];
    } catch {
      return [];
    }
  });
}

/**
 * Brings one change into a table that may have moved on meanwhile: columns we changed win over what they were, columns
 * somebody else changed, and rows somebody else took away, stay as they left them. Applying a change twice changes nothing.
 */
export function applyChange(table: RowTable, change: RowChange): void {
  const current = table.get(change.key);
  const { before, after } = change;
  if (sameRow(current, before)) {
    table.set(change.key, after);
  } else if (current && before && after) {
    const merged = current.map((field, i) => (field === before[i] ? (after[i] ?? "") : field));
    table.set(change.key, merged);
  }
}

export function sameRow(a: Row | null, b: Row | null): boolean {
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every((field, i) => field === b[i]);
}

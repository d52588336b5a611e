import { BestOf } from "../lib/best-of.ts";

/** What a cell is sorted by: numbers by their value and before any text, text without regard to case and accents. */
type SortKey = number | string;

interface Ranked {
  readonly key: SortKey;
  /** Its place among the rows that match. */
  readonly at: number;
}

const NUMBER = /^-?\d{1,15}(?:\.\d{1,15})?$/;
/** Longer texts differ before that, or may stand in any order. */
const KEY_CHARS = 200;

/**
 * The first `size` rows of a table in an order. Keys are made once and compared plainly: a collator would hold up everybody
 * else for seconds where many rows have to be kept.
 */
export class BestRows {
  readonly #best: BestOf<Ranked>;

  constructor(size: number, order: "ascending" | "descending") {
    const direction = order === "ascending" ? 1 : -1;
    // Equal ones stay as they come, in both directions.
    this.#best = new BestOf(size, (a, b) => direction * compareKeys(a.key, b.key) || a.at - b.at);
  }

  offer(cell: string, at: number): void {
    this.#best.offer({ key: sortKey(cell), at });
  }

  /** The places of the rows, in order. */
  take(): readonly number[] {
    return this.#best.take().map(({ at }) => at);
  }
}

function sortKey(cell: string): SortKey {
  if (NUMBER.test(cell)) return Number(cell);
  const plain = cell.slice(0, KEY_CHARS).normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  // A piece of a text keeps all of the text in memory; a copy does not.
  return Buffer.from(plain).toString();
}

function compareKeys(a: SortKey, b: SortKey): number {
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

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
 * Keeps the first `size` of any number of rows in an order, in memory for about twice as many. Keys are made once and
 * compared plainly: a collator would hold up everybody else for seconds where many rows have to be kept.
 */
export class BestRows {
  readonly #size: number;
  readonly #direction: 1 | -1;
  #kept: Ranked[] = [];
  /** What is behind this need not be looked at. */
  #last: Ranked | undefined;

  constructor(size: number, order: "ascending" | "descending") {
    this.#size = size;
    this.#direction = order === "ascending" ? 1 : -1;
  }

  offer(cell: string, at: number): void {
    const row = { key: sortKey(cell), at };
    if (this.#last && this.#compare(row, this.#last) > 0) return;
    this.#kept.push(row);
    if (this.#kept.length >= this.#size * 2 + 1000) this.#prune();
  }

  /** The places of the rows, in order. */
  take(): readonly number[] {
    this.#prune();
    return this.#kept.map(({ at }) => at);
  }

  #prune(): void {
    this.#kept.sort((a, b) => this.#compare(a, b));
    this.#kept = this.#kept.slice(0, this.#size);
    if (this.#kept.length === this.#size) this.#last = this.#kept.at(-1);
  }

  /** Equal ones stay as they come, in both directions. */
  #compare(a: Ranked, b: Ranked): number {
    return this.#direction * compareKeys(a.key, b.key) || a.at - b.at;
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

/** Keeps the first `size` of any number of things in an order, in memory for about twice as many. */
export class BestOf<T> {
  readonly #size: number;
  readonly #compare: (a: T, b: T) => number;
  #kept: T[] = [];
  /** What is behind this need not be looked at. */
  #last: T | undefined;

  constructor(size: number, compare: (a: T, b: T) => number) {
    this.#size = size;
    this.#compare = compare;
  }

  offer(one: T): void {
    if (this.#last !== undefined && this.#compare(one, this.#last) > 0) return;
    this.#kept.push(one);
    if (this.#kept.length >= this.#size * 2 + 1000) this.#prune();
  }

  /** In order. */
  take(): readonly T[] {
    this.#prune();
    return this.#kept;
  }

  #prune(): void {
    this.#kept.sort(this.#compare);
    this.#kept = this.#kept.slice(0, this.#size);
    if (this.#kept.length === this.#size) this.#last = this.#kept.at(-1);
  }
}

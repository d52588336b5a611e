/** Keeps the first `size` items in an order; memory holds about twice as many. */
export class BestOf<T> {
  readonly #size: number;
  readonly #compare: (a: T, b: T) => number;
  #items: T[] = [];
  /** Items behind this one need not be kept. */
  #last: T | undefined;

  constructor(size: number, compare: (a: T, b: T) => number) {
    this.#size = size;
    this.#compare = compare;
  }

  offer(item: T): void {
    if (this.#last !== undefined && this.#compare(item, this.#last) > 0) return;
    this.#items.push(item);
    if (this.#items.length >= this.#size * 2 + 1000) this.#prune();
  }

  /** Returns the items in order. */
  take(): readonly T[] {
    this.#prune();
    return this.#items;
  }

  #prune(): void {
    this.#items.sort(this.#compare);
    this.#items = this.#items.slice(0, this.#size);
    if (this.#items.length === this.#size) this.#last = this.#items.at(-1);
  }
}

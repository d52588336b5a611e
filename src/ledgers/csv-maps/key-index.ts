/** A number for every key, shared by the tables of a ledger: a key is kept and looked up once, not once a table. */
export class KeyIndex {
  readonly #slots = new Map<string, number>();
  readonly #keys: string[] = [];

  get size(): number {
    return this.#keys.length;
  }

  find(key: string): number | undefined {
    return this.#slots.get(key);
  }

  /** The key's number, a new one if it has none. */
  claim(key: string): number {
    const known = this.#slots.get(key);
    if (known !== undefined) return known;
    this.#slots.set(key, this.#keys.length);
    return this.#keys.push(key) - 1;
  }

  keyAt(slot: number): string {
    return this.#keys[slot] ?? "";
  }
}

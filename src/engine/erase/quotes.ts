import type { Quotes } from "../../contracts/backend.ts";
import { WordFinder } from "../../lib/mask-file.ts";

/** So many consecutive words are a quotation. */
const WORDS = 8;
/** A text with fewer words is recognised as a whole, if it is at least so long. */
const SHORTEST = 20;
/** Quotations of a document that are remembered; of a longer one the beginning. */
const MOST = 200_000;

/** Recognises texts that name a document, cite one of its files, or have eight consecutive words of it. */
export class DocumentQuotes implements Quotes {
  readonly #fileIds: Set<string>;
  readonly #names: WordFinder;
  readonly #runs = new Set<string>();
  readonly #short: string[] = [];

  constructor(fileIds: readonly string[], words: readonly string[]) {
    this.#fileIds = new Set(fileIds);
    this.#names = new WordFinder(words);
  }

  addFiles(fileIds: readonly string[]): void {
    for (const id of fileIds) this.#fileIds.add(id);
  }

  addText(text: string): void {
    const words = wordsOf(text);
    if (words.length < WORDS) {
      const whole = words.join(" ");
      if (whole.length >= SHORTEST) this.#short.push(whole);
      return;
    }
    for (let at = 0; at + WORDS <= words.length && this.#runs.size < MOST; at += 1) {
      this.#runs.add(words.slice(at, at + WORDS).join(" "));
    }
  }

  isIn(text: string): boolean {
    for (const id of this.#fileIds) if (text.includes(id)) return true;
    if (!this.#names.isEmpty && this.#names.isIn(Buffer.from(text))) return true;
    if (this.#runs.size + this.#short.length === 0) return false;
    const words = wordsOf(text);
    const whole = ` ${words.join(" ")} `;
    if (this.#short.some((one) => whole.includes(` ${one} `))) return true;
    for (let at = 0; at + WORDS <= words.length; at += 1) {
      if (this.#runs.has(words.slice(at, at + WORDS).join(" "))) return true;
    }
    return false;
  }
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

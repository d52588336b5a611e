import { guidFrom } from "./guid-sequence.ts";

/** A managed term as a site remembers it in its hidden list. */
export interface Term {
  /** The row in the hidden list: the number that a single-valued column gives instead of the text. */
  readonly wssId: number;
  readonly label: string;
  readonly termGuid: string;
}

/** The terms used in one site. */
export class TermLabels {
  readonly #terms: Term[] = [];

  ensure(label: string): Term {
    const known = this.#terms.find((term) => term.label === label);
    if (known) return known;
    const term = { wssId: this.#terms.length + 1, label, termGuid: guidFrom(`term/${label}`) };
    this.#terms.push(term);
    return term;
  }
}

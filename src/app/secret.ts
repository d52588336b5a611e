import { inspect } from "node:util";

/** A text that shows itself only when asked by name: not in logs, not in JSON, not in a debugger's print-out. */
export class Secret {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  reveal(): string {
    return this.#text;
  }
  toString(): string {
    return "(secret)";
  }
  toJSON(): string {
    return "(secret)";
  }
  [inspect.custom](): string {
    return "(secret)";
  }
}

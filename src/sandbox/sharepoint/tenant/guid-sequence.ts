import { createHash } from "node:crypto";

/** Random-looking GUIDs that come in the same order every time, so that a reset tenant is the same tenant. */
export class GuidSequence {
  readonly #name: string;
  #next = 0;

  constructor(name: string) {
    this.#name = name;
  }

  take(): string {
    return guidFrom(`${this.#name}/${this.#next++}`);
  }
}

export function guidFrom(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  const variant = "89ab"[Number.parseInt(hex.charAt(16), 16) % 4];
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}

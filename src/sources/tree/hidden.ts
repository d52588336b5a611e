import type { Unreadable } from "../../contracts/source.ts";
import { folderOf } from "../../lib/tree-path.ts";

/** What lies at or below something that could not be looked at: nobody knows whether it is there. */
export class Hidden {
  readonly #holes: ReadonlySet<string>;

  constructor(unreadable: readonly Unreadable[]) {
    this.#holes = new Set(unreadable.map(({ path }) => path));
  }

  has(path: string): boolean {
    if (this.#holes.size === 0) return false;
    if (this.#holes.has("")) return true;
    for (let at = path; at !== ""; at = folderOf(at)) if (this.#holes.has(at)) return true;
    return false;
  }
}

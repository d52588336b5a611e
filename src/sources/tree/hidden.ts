import type { Unreadable } from "../../contracts/source.ts";
import { folderOf } from "../../lib/tree-path.ts";

/** What lies at or below something that could not be looked at: nobody knows whether it is there. */
export class Hidden {
  readonly #holes: ReadonlyMap<string, Unreadable>;

  constructor(unreadable: readonly Unreadable[]) {
    this.#holes = new Map(unreadable.map((hole) => [hole.path, hole]));
  }

  has(path: string): boolean {
    return this.above(path) !== undefined;
  }

  /** What hides it: the nearest one. */
  above(path: string): Unreadable | undefined {
    if (this.#holes.size === 0) return undefined;
    for (let at = path; at !== ""; at = folderOf(at)) {
      const hole = this.#holes.get(at);
      if (hole) return hole;
    }
    return this.#holes.get("");
  }
}

import { plural } from "../../lib/plural.ts";

const NAMED = 10;

/** What is in the tree and not let in: told in a few lines, however much it is. */
export class LeftOut {
  readonly #some: { readonly path: string; readonly reason: string }[] = [];
  readonly #types = new Map<string, number>();
  #count = 0;

  add(skipped: readonly { readonly path: string; readonly reason: string }[]): void {
    this.#count += skipped.length;
    this.#some.push(...skipped.slice(0, NAMED - this.#some.length));
  }

  addType(type: string): void {
    this.#types.set(type, (this.#types.get(type) ?? 0) + 1);
  }

  *lines(): Generator<string> {
    for (const { path, reason } of this.#some) yield `Left out '${path}': ${reason}`;
    const more = this.#count - this.#some.length;
    if (more > 0) yield `Left out ${plural(more, "more file")} for such reasons.`;
    if (this.#types.size === 0) return;
    const most = [...this.#types].sort(([, a], [, b]) => b - a);
    const count = most.reduce((sum, [, n]) => sum + n, 0);
    const names = most.slice(0, NAMED).map(([type, n]) => `${type || "no type"} ${n}`);
    const rest = most.length > NAMED ? ", and others" : "";
    yield `Left out ${plural(count, "file")} of types that are not accepted: ${names.join(", ")}${rest}.`;
  }
}

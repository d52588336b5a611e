import type { Change } from "../contracts/change.ts";
import type { Listed } from "../contracts/source.ts";
import type { Familiar } from "../detect/detect-changes.ts";
import type { StepCounts } from "./crawl-request.ts";
import { digestPage, type SettledPage } from "./last-look.ts";

/**
 * Recognises pages of the listing that are, row for row, what they were when everything on them was in order. Only to be
 * trusted while map files and mirror are what they were, too.
 */
export class FamiliarPages implements Familiar {
  readonly #before: readonly SettledPage[];
  readonly #counts: StepCounts;
  readonly #pages: SettledPage[] = [];
  #digest = "";
  #recognized = 0;

  /** Recognised items are added to `counts`, as no change is reported for them. */
  constructor(before: readonly SettledPage[], counts: StepCounts) {
    this.#before = before;
    this.#counts = counts;
  }

  recognize(page: readonly Listed[]): { readonly held: number } | undefined {
    this.#digest = digestPage(page);
    const known = this.#before[this.#pages.length];
    if (!known || known.digest === "" || known.digest !== this.#digest) return undefined;
    this.#pages.push(known);
    this.#recognized += 1;
    this.#counts.unchanged += known.unchanged;
    this.#counts.skipped += known.skipped;
    return known;
  }

  isAll(): boolean {
    return (
      this.#pages.length > 0 && this.#recognized === this.#before.length && this.#recognized === this.#pages.length
    );
  }

  /** The page that was not recognised: once the plan is carried out without a problem, everything wanted on it is in order. */
  learn(changes: readonly Change[]): void {
    const skipped = changes.filter(({ kind }) => kind === "skipped").length;
    const unchanged = changes.length - skipped;
    this.#pages.push({ digest: this.#digest, held: unchanged, unchanged, skipped });
  }

  get pages(): readonly SettledPage[] {
    return this.#pages;
  }
}

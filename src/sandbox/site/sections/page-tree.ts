import { editedWord, renderPage } from "../render-page.ts";
import type { SiteAround, SiteAsked, SiteDocument, SitePage } from "../site-section.ts";
import { diceOf, slug } from "../site-text.ts";

const CHILDREN = 10;
const CROSS_LINKS = 4;
const PICTURES = 6;

/** The bulk of a site: numbered pages, each linked from its parent and from a few others. Page 0 is the front page. */
export class PageTree {
  readonly #around: SiteAround;
  readonly #count: number;
  readonly #front: { readonly links: () => readonly string[]; readonly head: () => string };
  /** By number: made once, asked for by every link. */
  readonly #paths: string[] = ["/"];

  constructor(
    around: SiteAround,
    count: number,
    front: { readonly links: () => readonly string[]; readonly head: () => string },
  ) {
    this.#around = around;
    this.#count = count;
    this.#front = front;
  }

  pathOf(number: number): string {
    const known = this.#paths[number];
    if (known !== undefined) return known;
    const parent = parentOf(number);
    const name = `${slug(diceOf(`${this.#around.seed} slug ${number}`))}-${number}`;
    const path = `${parent === 0 ? "/docs" : this.pathOf(parent)}/${name}`;
    this.#paths[number] = path;
    return path;
  }

  /** -1: none of its pages. */
  numberOf(path: string): number {
    if (path === "/") return this.#count > 0 ? 0 : -1;
    const number = Number(/^\/docs\/.*-(\d{1,9})$/.exec(path)?.[1] ?? -1);
    return number > 0 && number < this.#count && this.pathOf(number) === path ? number : -1;
  }

  document(number: number, { revision, note }: SiteAsked): SiteDocument {
    const word = wordOf(number, revision);
    return {
      kind: "document",
      contentType: "text/html; charset=utf-8",
      validators: "both",
      body: () =>
        renderPage({
          title: number === 0 ? "Tidewheel documentation" : `Part ${number}`,
          word,
          note,
          textSeed: `${this.#around.seed} text ${number} ${revision}`,
          links: [
            ...this.#linksOf(number).map((each) => spelled(this.pathOf(each), number)),
            ...this.#frontLinks(number),
          ],
          picture: `/images/figure-${number % PICTURES}.png`,
          head: number === 0 ? this.#front.head() : "",
        }),
    };
  }

  /** By way of links that lead somewhere, from the front page on. */
  *pages(maxDepth: number, revisionOf: (path: string) => number): Generator<SitePage, void> {
    if (this.#count === 0 || this.#around.isDeleted("/")) return;
    const depths = new Map([[0, 0]]);
    for (const [number, depth] of depths) {
      const path = this.pathOf(number);
      yield { path, word: wordOf(number, revisionOf(path)), depth, resends: "never" };
      if (depth === maxDepth) continue;
      for (const next of this.#linksOf(number)) {
        if (!depths.has(next) && !this.#around.isDeleted(this.pathOf(next))) depths.set(next, depth + 1);
      }
    }
  }

  #frontLinks(number: number): readonly string[] {
    return number === 0 ? this.#front.links() : [];
  }

  #linksOf(number: number): number[] {
    const links = new Set<number>();
    for (let i = 1; i <= CHILDREN; i++) {
      const child = number * CHILDREN + i;
      if (child < this.#count) links.add(child);
    }
    if (number > 0) links.add(parentOf(number));
    const dice = diceOf(`${this.#around.seed} links ${number}`);
    for (let i = 0; i < CROSS_LINKS; i++) links.add(Math.floor(dice() * this.#count));
    return [...links].filter((each) => each === 0 || this.#around.isLinked(this.pathOf(each)));
  }
}

function parentOf(number: number): number {
  return Math.floor((number - 1) / CHILDREN);
}

function wordOf(number: number, revision: number): string {
  return editedWord(`yak${number}`, revision);
}

/** Links are written as people write them; all spellings are the same page. */
function spelled(path: string, from: number): string {
  if (from % 7 === 3) return `${path}?utm_source=page${from}&utm_medium=web`;
  if (from % 7 === 5) return `${path}#read-on`;
  return path;
}

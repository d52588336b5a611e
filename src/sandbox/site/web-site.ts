import { ALL_SECTIONS, type SectionName } from "./all-sections.ts";
import { editedWord } from "./render-page.ts";
import { PageTree } from "./sections/page-tree.ts";
import type { MakeSection, SiteAnswer, SiteAround, SiteAsked, SitePage, SiteSection, Trouble } from "./site-section.ts";

export interface SiteCount {
  requests: number;
  /** Answers with status 200 and a body. */
  bodies: number;
  bodyBytes: number;
  notModified: number;
}

export interface Failure {
  /** Every path that begins so. */
  readonly path: string;
  readonly trouble: Trouble;
  /** How many answers; undefined: until it is cleared. */
  times?: number;
}

export interface WebSiteOptions {
  /** Pages of the tree, with the front page; 0: a section has the front page. */
  readonly pages: number;
  readonly seed: string;
  /** Peculiarities it has from the start. */
  readonly sections: readonly MakeSection[];
  readonly origin: string;
  readonly otherOrigin: string;
}

/** A site and what happens to it: pages are edited, deleted, unlinked; the host fails. It knows what a crawl ought to find. */
export class WebSite {
  readonly origin: string;
  readonly seed: string;
  readonly #tree: PageTree;
  readonly #around: SiteAround;
  readonly #sections = new Map<string, SiteSection>();
  readonly #revisions = new Map<string, number>();
  readonly #notes = new Map<string, string>();
  readonly #deleted = new Map<string, 404 | 410>();
  readonly #unlinked = new Set<string>();
  readonly #counts = new Map<string, SiteCount>();
  readonly #asked = new Map<string, number>();
  #failures: Failure[] = [];
  #robots: string | undefined;
  #answers = 0;

  constructor({ pages, seed, sections, origin, otherOrigin }: WebSiteOptions) {
    this.origin = origin;
    this.seed = seed;
    this.#around = {
      seed,
      origin,
      otherOrigin,
      isLinked: (path) => !this.#unlinked.has(path),
      isDeleted: (path) => this.#deleted.has(path),
    };
    this.#tree = new PageTree(this.#around, pages, {
      links: () => this.#each(({ entrances }) => entrances.filter((link) => !this.#unlinked.has(link))),
      head: () => this.#each(({ head }) => head ?? []).join("\n"),
    });
    for (const make of sections) this.#add(make);
  }

  #each<T>(take: (section: SiteSection) => T | readonly T[]): T[] {
    return [...new Set(this.#sections.values())].flatMap(take);
  }

  /** Every page a crawl ought to end up with that begins at the front page and goes so deep: each once. */
  *reachable({ maxDepth = 10 }: { readonly maxDepth?: number } = {}): Generator<SitePage, void> {
    yield* this.#tree.pages(maxDepth, (path) => this.revisionOf(path));
    for (const section of new Set(this.#sections.values())) {
      for (const page of section.pages(maxDepth)) {
        if (page.depth <= maxDepth && !this.#deleted.has(page.path) && !this.#unlinked.has(page.path)) {
          yield { ...page, word: editedWord(page.word, this.revisionOf(page.path.split("?")[0] ?? "")) };
        }
      }
    }
  }

  /** The path of a page of the tree, by its number. */
  pathOf(number: number): string {
    return this.#tree.pathOf(number);
  }

  #add(make: MakeSection): void {
    const section = make(this.#around);
    for (const segment of [section.name, ...(section.alsoAt ?? [])]) this.#sections.set(segment, section);
  }

  switchSections(on: readonly SectionName[], off: readonly SectionName[]): void {
    for (const name of on) this.#add(ALL_SECTIONS[name]);
    for (const name of off) {
      for (const [segment, section] of this.#sections) if (section.name === name) this.#sections.delete(segment);
    }
  }

  sections(): readonly string[] {
    return this.#each(({ name }) => name);
  }

  nextAnswer(): number {
    this.#answers += 1;
    return this.#answers;
  }

  revisionOf(path: string): number {
    return this.#revisions.get(path) ?? 0;
  }

  edit(path: string, note = ""): number {
    const revision = this.revisionOf(path) + 1;
    this.#notes.set(path, note);
    this.#revisions.set(path, revision);
    return revision;
  }

  delete(path: string, status: 404 | 410 = 404): void {
    this.#deleted.set(path, status);
  }

  restore(path: string): void {
    this.#deleted.delete(path);
    this.#unlinked.delete(path);
  }

  /** No page links to it any more; it still answers. */
  unlink(path: string): void {
    this.#unlinked.add(path);
  }

  fail(failure: Failure): void {
    this.#failures.push({ ...failure });
  }

  clearFailures(): void {
    this.#failures = [];
  }

  /** undefined: what its sections ask for. */
  setRobots(text: string | undefined): void {
    this.#robots = text;
  }

  counts(): ReadonlyMap<string, Readonly<SiteCount>> {
    return this.#counts;
  }

  clearCounts(): void {
    this.#counts.clear();
  }

  /** By host and path: what is asked of another host is not asked of this one. */
  countOf(host: string, path: string): SiteCount {
    const key = `${this.origin.endsWith(host) ? "" : `//${host}`}${path}`;
    let count = this.#counts.get(key);
    if (!count) {
      count = { requests: 0, bodies: 0, bodyBytes: 0, notModified: 0 };
      this.#counts.set(key, count);
    }
    return count;
  }

  /** undefined: there is nothing, 404. */
  answer(path: string, query: string): SiteAnswer | undefined {
    const trouble = this.#strike(path);
    if (trouble) return { kind: "trouble", trouble };
    const deleted = this.#deleted.get(path + query) ?? this.#deleted.get(path);
    if (deleted) return { kind: "trouble", trouble: { how: "status", status: deleted } };
    if (path === "/robots.txt") return this.#robotsFile();
    const timesAsked = this.#asked.get(path) ?? 0;
    this.#asked.set(path, timesAsked + 1);
    const asked: SiteAsked = {
      path,
      query,
      timesAsked,
      revision: this.revisionOf(path),
      note: this.#notes.get(path) ?? "",
    };
    const number = this.#tree.numberOf(path);
    if (number >= 0) return this.#tree.document(number, asked);
    return (this.#sections.get(path.split("/", 2)[1] ?? "") ?? this.#sections.get("*"))?.answer(asked);
  }

  #strike(path: string): Trouble | undefined {
    const failure = this.#failures.find((each) => path.startsWith(each.path) && each.times !== 0);
    if (failure?.times !== undefined) failure.times--;
    return failure?.trouble;
  }

  #robotsFile(): SiteAnswer {
    const rules = this.#each(({ robots }) => robots ?? []);
    const disallowed = rules.filter((line) => !line.startsWith("Sitemap:"));
    const sitemaps = rules.filter((line) => line.startsWith("Sitemap:"));
    const text = this.#robots ?? ["User-agent: *", ...disallowed, "", ...sitemaps, ""].join("\n");
    return { kind: "document", contentType: "text/plain; charset=utf-8", validators: "none", body: () => text };
  }
}

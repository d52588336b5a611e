import { plural } from "../../../lib/text.ts";
import type { WebSourceConfig } from "../web-source-codec.ts";

/** Visits, and waiting URLs, per page of `max_pages`. Beyond that the site is endless, or the limit is too low. */
const PER_PAGE = 4;
const AT_LEAST = 1000;

/** Limits of a crawl: pages, depth, and visits that gave no page (redirects, `noindex`, dead links). */
export class CrawlLimits {
  /** Limit for visits, and for waiting URLs. */
  readonly visitLimit: number;
  readonly #config: WebSourceConfig;
  #pages = 0;
  #visits = 0;
  #tooDeep = 0;

  constructor(config: WebSourceConfig) {
    this.#config = config;
    this.visitLimit = config.maxPages * PER_PAGE + AT_LEAST;
  }

  notePage(): void {
    this.#pages += 1;
  }

  noteVisit(): void {
    this.#visits += 1;
  }

  noteTooDeep(): void {
    this.#tooDeep += 1;
  }

  /** `running`: visits under way, each of which may yield a page. */
  allowOneMore(running: number): boolean {
    return this.#pages + running < this.#config.maxPages && this.#visits + running < this.visitLimit;
  }

  problems({ waiting, dropped }: { readonly waiting: number; readonly dropped: number }): string[] {
    const { maxPages, maxDepth } = this.#config;
    const problems: string[] = [];
    const skipped = addresses(waiting + dropped);
    if (waiting + dropped > 0) {
      const isFull = this.#pages >= maxPages;
      const isEndless = this.#visits >= this.visitLimit;
      if (isFull) problems.push(`max_pages (${maxPages}) was reached: ${skipped} not visited`);
      else if (isEndless) {
        problems.push(
          `${addresses(this.#visits)} gave only ${plural(this.#pages, "page")}, and more are not visited while max_pages is ${maxPages}: ${skipped} left; exclude what is no page`,
        );
      } else problems.push(`more than ${addresses(this.visitLimit)} waited at once: ${skipped} not visited`);
    }
    if (this.#tooDeep > 0) {
      problems.push(`max_depth (${maxDepth}) was reached: ${addresses(this.#tooDeep)} not visited`);
    }
    return problems;
  }
}

function addresses(count: number): string {
  return plural(count, "address", "addresses");
}

/** Failures in a row after which a host is left alone. */
const GIVE_UP_AFTER = 30;
const SILENT = " stopped answering";

/** Opens for a host after many failures in a row: it gets no more requests in this crawl. Counts per host. */
export class CircuitBreaker {
  readonly #failures = new Map<string, number>();
  /** By reason. */
  readonly #skipped = new Map<string, number>();

  note(url: string, { isHostFailure = false }: { readonly isHostFailure?: boolean }): void {
    const host = hostOf(url);
    const failures = this.#failures.get(host) ?? 0;
    if (failures < GIVE_UP_AFTER) this.#failures.set(host, isHostFailure ? failures + 1 : 0);
  }

  isOpen(url: string): boolean {
    return (this.#failures.get(hostOf(url)) ?? 0) >= GIVE_UP_AFTER;
  }

  /** Counts a URL that is not visited. `reason`: default is that its host stopped responding. */
  countSkipped(url: string, reason = ""): void {
    const why = reason || `${hostOf(url)}${SILENT}`;
    this.#skipped.set(why, (this.#skipped.get(why) ?? 0) + 1);
  }

  /** Whether the breaker is open for every host. */
  get areAllOpen(): boolean {
    return this.#failures.size > 0 && [...this.#failures.values()].every((failures) => failures >= GIVE_UP_AFTER);
  }

  get problems(): string[] {
    const resumes = this.areAllOpen ? "; the next crawl goes on from there" : "";
    const silent = [...this.#failures].filter(([, failures]) => failures >= GIVE_UP_AFTER);
    const reasons = new Set([...silent.map(([host]) => `${host}${SILENT}`), ...this.#skipped.keys()]);
    return [...reasons].map((why) => {
      const skipped = plural(this.#skipped.get(why) ?? 0, "address", "addresses");
      return `${why}: ${skipped} not visited${resumes}`;
    });
  }
}

function hostOf(url: string): string {
  return new URL(url).host;
}

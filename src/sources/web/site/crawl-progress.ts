import type { Visit } from "../../../contracts/web.ts";
import { plural } from "../../../lib/plural.ts";

const EVERY_MS = 3000;
/** A site of which every page is odd needs no line for each. */
const MAX_REMARKS = 20;

/** Addresses that were not looked at, because they would have shown nothing new. */
export interface PassedOver {
  readonly trapped: number;
  readonly variants: number;
  /** In sentences. */
  readonly calendars: readonly string[];
}

/** Tells whoever watches how far a crawl is, every few seconds. */
export class CrawlProgress {
  readonly #log: (line: string) => void;
  readonly #waiting: () => number;
  readonly #counts: Record<Visit["outcome"], number> = {
    new: 0,
    changed: 0,
    unchanged: 0,
    missing: 0,
    gone: 0,
    refused: 0,
    failed: 0,
  };
  #toldAtMs = performance.now();
  #remarks = 0;

  constructor(log: (line: string) => void, waiting: () => number) {
    this.#log = log;
    this.#waiting = waiting;
  }

  note(outcome: Visit["outcome"]): void {
    this.#counts[outcome] += 1;
    if (performance.now() - this.#toldAtMs < EVERY_MS) return;
    this.#toldAtMs = performance.now();
    this.#log(`${this.#sum()}, ${this.#waiting()} waiting`);
  }

  /** Something about a page that is no failure, but worth knowing. */
  remark(address: string, sentence: string): void {
    this.#remarks += 1;
    if (this.#remarks <= MAX_REMARKS) this.#log(`${address}: ${sentence}`);
  }

  sumUp({ trapped, variants, calendars }: PassedOver): void {
    if (this.#remarks > MAX_REMARKS) this.#log(`The same or the like of ${this.#remarks - MAX_REMARKS} more.`);
    this.#log(`${this.#sum()}.`);
    if (variants > 0) {
      const addresses = plural(variants, "address", "addresses");
      this.#log(`Passed over ${addresses} whose parameters make no other page, as those that were looked at show.`);
    }
    for (const sentence of calendars.slice(0, MAX_REMARKS)) this.#log(sentence);
    if (trapped > 0) {
      const addresses = plural(trapped, "address", "addresses");
      this.#log(
        `Passed over ${addresses} that only a site without end would link to (too long, or repeating themselves).`,
      );
    }
  }

  #sum(): string {
    const counts = this.#counts;
    const looked = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const parts = [`${counts.new} new`, `${counts.changed} changed`];
    if (counts.missing + counts.gone > 0) parts.push(`${counts.missing + counts.gone} not there`);
    if (counts.refused > 0) parts.push(`${counts.refused} refused`);
    if (counts.failed > 0) parts.push(`${counts.failed} failed`);
    return `Looked at ${plural(looked, "page")}, ${parts.join(", ")}`;
  }
}

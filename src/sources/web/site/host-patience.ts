import { plural } from "../../../lib/plural.ts";

/** Failures in a row after which a host is left alone. */
const GIVE_UP_AFTER = 30;
const SILENT = " stopped answering";

/** Which hosts of a site still answer. One that does not is left alone for the rest of the crawl; the others are not. */
export class HostPatience {
  readonly #failures = new Map<string, number>();
  /** By the reason. */
  readonly #passedOver = new Map<string, number>();

  note(url: string, { isHostTrouble = false }: { readonly isHostTrouble?: boolean }): void {
    const host = hostOf(url);
    const failures = this.#failures.get(host) ?? 0;
    if (failures < GIVE_UP_AFTER) this.#failures.set(host, isHostTrouble ? failures + 1 : 0);
  }

  hasGivenUp(url: string): boolean {
    return (this.#failures.get(hostOf(url)) ?? 0) >= GIVE_UP_AFTER;
  }

  /** It is not looked at: its host is left alone. `reason`: because somebody asked for that. */
  passOver(url: string, reason = ""): void {
    const why = reason || `${hostOf(url)}${SILENT}`;
    this.#passedOver.set(why, (this.#passedOver.get(why) ?? 0) + 1);
  }

  /** No host is left that answers. */
  get isOver(): boolean {
    return this.#failures.size > 0 && [...this.#failures.values()].every((failures) => failures >= GIVE_UP_AFTER);
  }

  get problems(): string[] {
    const then = this.isOver ? "; the next crawl goes on from there" : "";
    const silent = [...this.#failures].filter(([, failures]) => failures >= GIVE_UP_AFTER);
    const reasons = new Set([...silent.map(([host]) => `${host}${SILENT}`), ...this.#passedOver.keys()]);
    return [...reasons].map((why) => {
      const left = plural(this.#passedOver.get(why) ?? 0, "address", "addresses");
      return `${why}: ${left} not looked at${then}`;
    });
  }
}

function hostOf(url: string): string {
  return new URL(url).host;
}

import { BadInputError } from "../../../contracts/errors.ts";

/** The time of the tenant: runs with the wall clock until it is set; from then on it moves only when told to. */
export class TenantClock {
  #setMs: number | null = null;

  /** Whole seconds, because SharePoint keeps item times no finer. */
  nowMs(): number {
    return toWholeSeconds(this.#setMs ?? Date.now());
  }

  set(at: string): void {
    this.#setMs = parseInstantMs(at);
  }

  advanceSeconds(seconds: number): void {
    this.#setMs = this.nowMs() + seconds * 1000;
  }

  followWallClock(): void {
    this.#setMs = null;
  }

  /** The instant an operation is to bear: the one it was given, or now. */
  resolveMs(at: string | undefined): number {
    return at === undefined ? this.nowMs() : toWholeSeconds(parseInstantMs(at));
  }
}

function toWholeSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}

function parseInstantMs(at: string): number {
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) throw new BadInputError(`'at' must be an ISO 8601 instant; got '${at}'.`);
  return ms;
}

/** `2024-03-29T17:58:05Z` */
export function toSharePointTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

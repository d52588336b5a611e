import { type Closed, createPace, type Pace, type PaceOptions } from "../../lib/pace.ts";

/** A pace for each host that was asked; those nobody needs are forgotten when there are too many. */
interface HostPaces {
  /** With the port where it is an unusual one: http and https of a host are one server, another port is another. */
  of(host: string): Pace;
  /** Turns away everybody who waits. */
  close(reason: string): void;
}

const MAX_PACES = 5000;

export function createHostPaces(options: PaceOptions): HostPaces {
  const paces = new Map<string, Pace>();
  return {
    of(host) {
      const known = paces.get(host);
      if (known) return known;
      if (paces.size >= MAX_PACES) for (const [name, pace] of paces) if (pace.isIdle()) paces.delete(name);
      const pace = createPace({ ...options, reason: spacingReason(host) });
      paces.set(host, pace);
      return pace;
    },
    close(reason) {
      for (const pace of paces.values()) pace.pause(Number.POSITIVE_INFINITY, reason);
    },
  };
}

export function spacingReason(host: string): string {
  return `${host} wants time between two requests`;
}

/** Nobody is left alone for longer, whatever he asks for. */
export const MAX_WAIT_MS = 3_600_000;
/** So many addresses of a host that ask within this time speak for the host. */
const ADDRESSES_OF_A_HOST = 3;
const WITHIN_MS = 10 * 60_000;
const MAX_URLS = 10_000;
const MAX_HOSTS = 5000;

/** Which addresses asked to be left alone for a while (`Retry-After`). */
export class AskedToWait {
  readonly #nowMs: () => number;
  readonly #until = new Map<string, { readonly reason: string; readonly endMs: number }>();
  /** Of each host the last addresses that asked, and when. */
  readonly #recent = new Map<string, ReadonlyMap<string, number>>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Returns whether the whole host is to be left alone: enough others of it asked lately, too. */
  note({ host, href }: URL, ms: number, reason: string): boolean {
    const now = this.#nowMs();
    this.#until.delete(href);
    this.#until.set(href, { reason, endMs: now + ms });
    if (this.#until.size > MAX_URLS) dropFirst(this.#until);
    const others = [...(this.#recent.get(host) ?? [])].filter(([url, at]) => url !== href && now - at <= WITHIN_MS);
    const recent = new Map([...others, [href, now] as const].slice(-ADDRESSES_OF_A_HOST));
    this.#recent.delete(host);
    this.#recent.set(host, recent);
    if (this.#recent.size > MAX_HOSTS) dropFirst(this.#recent);
    return recent.size >= ADDRESSES_OF_A_HOST;
  }

  /** undefined: it may be asked. */
  of({ href }: URL): Closed | undefined {
    const known = this.#until.get(href);
    if (!known) return undefined;
    const waitMs = Math.ceil(known.endMs - this.#nowMs());
    if (waitMs > 0) return { reason: known.reason, waitMs };
    this.#until.delete(href);
    return undefined;
  }
}

function dropFirst(map: Map<string, unknown>): void {
  const [first] = map.keys();
  if (first !== undefined) map.delete(first);
}

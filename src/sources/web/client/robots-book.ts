import type { WebAnswer } from "../../../contracts/web.ts";
import { followRedirects, MAX_REDIRECTS } from "./follow-redirects.ts";
import { ALLOWS_ALL, parseRobots, type RobotsRules } from "./robots-rules.ts";

/** What the robots.txt of an origin says; where it cannot be had, why its pages cannot be asked for either. */
export type Robots = { readonly kind: "rules"; readonly rules: RobotsRules } | Exclude<WebAnswer, { kind: "response" }>;

export interface RobotsBookOptions {
  readonly token: string;
  /** Asks for an address as for any other, without asking robots.txt. */
  readonly send: (url: URL, maxBytes: number) => Promise<WebAnswer>;
  /** How long one that could not be read is not asked for again, unless its server says. */
  readonly restMs: number;
  readonly nowMs: () => number;
}

/** The robots.txt of each origin, asked for when needed and remembered for a while. */
export interface RobotsBook {
  /** At once where it is known, and was read no longer ago than that. Never rejects. */
  of(origin: string, maxAgeMs?: number): Robots | Promise<Robots>;
}

const MAX_AGE_MS = 24 * 3_600_000;
/** Some servers say that nothing may be remembered at all; asking before each page would be worse for them. */
const MIN_AGE_MS = 5 * 60_000;
/** What follows is not even waited for: the rules are read up to where RFC 9309 lets everybody stop, long before. */
const MAX_BYTES = 5 * 1024 * 1024;
const MAX_ORIGINS = 5000;

/** RFC 9309: where there is no robots.txt, or none after that many redirects, everything may be asked for. */
const NONE: Robots = { kind: "rules", rules: ALLOWS_ALL };

interface Entry {
  readonly robots: Robots | Promise<Robots>;
  readonly readAt: number;
  readonly goodUntil: number;
}

interface Found {
  readonly robots: Robots;
  readonly forMs: number;
}

export function createRobotsBook(options: RobotsBookOptions): RobotsBook {
  const entries = new Map<string, Entry>();
  const { nowMs } = options;
  return {
    of(origin, maxAgeMs = Number.POSITIVE_INFINITY) {
      const known = entries.get(origin);
      const now = nowMs();
      if (known && now < known.goodUntil && now - known.readAt <= maxAgeMs) return known.robots;
      const [oldest] = entries.keys();
      if (entries.size >= MAX_ORIGINS && oldest !== undefined) entries.delete(oldest);
      const robots = find(origin, options).then(({ robots, forMs }) => {
        entries.delete(origin);
        const readAt = nowMs();
        entries.set(origin, { robots, readAt, goodUntil: readAt + forMs });
        return robots;
      });
      entries.set(origin, { robots, readAt: Number.POSITIVE_INFINITY, goodUntil: Number.POSITIVE_INFINITY });
      return robots;
    },
  };
}

async function find(origin: string, { token, send, restMs }: RobotsBookOptions): Promise<Found> {
  try {
    const ask = (url: string): Promise<WebAnswer> => send(new URL(url), MAX_BYTES);
    const { answer, redirects } = await followRedirects(`${origin}/robots.txt`, ask);
    if (redirects > MAX_REDIRECTS) return { robots: NONE, forMs: MAX_AGE_MS };
    // No page of a host that must not be asked can be, either; for where its robots.txt leads it is not to blame.
    const isOwnAddress = redirects === 0 && answer.kind === "refused" && answer.why === "address";
    if (isOwnAddress) return { robots: answer, forMs: restMs };
    // It is the host that is left alone, whatever of it is asked for.
    if (answer.kind === "unavailable" && answer.isUnasked) return { robots: answer, forMs: 0 };
    if (answer.kind !== "response") return waiting(origin, answer, restMs);
    const forMs = ageMs(answer.headers.get("cache-control"));
    if (answer.status >= 200 && answer.status < 300) {
      return { robots: { kind: "rules", rules: parseRobots(await answer.body(), token) }, forMs };
    }
    await answer.cancel();
    return { robots: NONE, forMs };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return waiting(origin, { kind: "unavailable", reason }, restMs);
  }
}

/** Without it nobody knows what may be asked for, so it is not now, however long that lasts. */
function waiting(origin: string, answer: Exclude<WebAnswer, { kind: "response" }>, restMs: number): Found {
  const reason = `the robots.txt of ${origin} cannot be read, and without it nothing is asked for: ${answer.reason}`;
  if (answer.kind === "refused") return { robots: { kind: "unavailable", reason }, forMs: restMs };
  return { robots: { ...answer, reason }, forMs: answer.retryAfterMs ?? restMs };
}

function ageMs(cacheControl: string | undefined): number {
  const seconds = /(?:^|[\s,])max-age\s*=\s*"?(\d+)/i.exec(cacheControl ?? "")?.[1];
  const asked = seconds === undefined ? MAX_AGE_MS : Number(seconds) * 1000;
  return Math.min(Math.max(asked, MIN_AGE_MS), MAX_AGE_MS);
}

import type { WebResult } from "../../contracts/web.ts";
import { followRedirects, MAX_REDIRECTS } from "./follow-redirects.ts";

/** The rules of an origin's robots.txt, or why it could not be fetched: then no page of the origin is requested. */
type Robots = { readonly kind: "rules"; readonly rules: RobotsRules } | Exclude<WebResult, { kind: "response" }>;

interface RobotsCacheOptions {
  readonly token: string;
  /** Requests a URL without checking robots.txt. */
  readonly send: (url: URL, maxBytes: number) => Promise<WebResult>;
  /** How long a failure is cached if the server sends no Retry-After. */
  readonly restMs: number;
  readonly nowMs: () => number;
}

/** Caches the robots.txt of each origin. */
interface RobotsCache {
  /** Returns at once if it is cached and not older than `maxAgeMs`. Never rejects. */
  of(origin: string, maxAgeMs?: number): Robots | Promise<Robots>;
}

const MAX_AGE_MS = 24 * 3_600_000;
/** Some servers forbid caching; a request before each page would cost them more. */
const MIN_AGE_MS = 5 * 60_000;
/** Longer files are truncated. RFC 9309 needs only the first 500 KiB. */
const MAX_BYTES = 5 * 1024 * 1024;
const MAX_ORIGINS = 5000;

/** RFC 9309: without a robots.txt, or after too many redirects, everything is allowed. */
const ALLOW_ALL: Robots = { kind: "rules", rules: { allows: () => true, crawlDelayMs: 0, sitemaps: [] } };

interface Entry {
  readonly robots: Robots | Promise<Robots>;
  readonly readAt: number;
  readonly goodUntil: number;
}

interface FetchedRobots {
  readonly robots: Robots;
  readonly forMs: number;
}

export function createRobotsCache(options: RobotsCacheOptions): RobotsCache {
  const entries = new Map<string, Entry>();
  const { nowMs } = options;
  return {
    of(origin, maxAgeMs = Number.POSITIVE_INFINITY) {
      const known = entries.get(origin);
      const now = nowMs();
      if (known && now < known.goodUntil && now - known.readAt <= maxAgeMs) return known.robots;
      const [oldest] = entries.keys();
      if (entries.size >= MAX_ORIGINS && oldest !== undefined) entries.delete(oldest);
      const robots = fetchRobots(origin, options).then(({ robots, forMs }) => {
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

async function fetchRobots(origin: string, { token, send, restMs }: RobotsCacheOptions): Promise<FetchedRobots> {
  try {
    const request = (url: string): Promise<WebResult> => send(new URL(url), MAX_BYTES);
    const { answer, redirects } = await followRedirects(`${origin}/robots.txt`, request);
    if (redirects > MAX_REDIRECTS) return { robots: ALLOW_ALL, forMs: MAX_AGE_MS };
    // The host itself has a private address: none of its pages may be requested. A redirect target with one is a failure.
    const isOwnAddress = redirects === 0 && answer.kind === "refused" && answer.why === "address";
    if (isOwnAddress) return { robots: answer, forMs: restMs };
    // The whole host is paused, so this is not the fault of its robots.txt.
    if (answer.kind === "unavailable" && answer.isDeferred) return { robots: answer, forMs: 0 };
    if (answer.kind !== "response") return unreachable(origin, answer, restMs);
    const forMs = ageMs(answer.headers.get("cache-control"));
    if (answer.status >= 200 && answer.status < 300) {
      return { robots: { kind: "rules", rules: parseRobots(await answer.body(), token) }, forMs };
    }
    await answer.cancel();
    return { robots: ALLOW_ALL, forMs };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return unreachable(origin, { kind: "unavailable", reason }, restMs);
  }
}

/** RFC 9309: while robots.txt is unreachable, nothing may be requested. */
function unreachable(origin: string, answer: Exclude<WebResult, { kind: "response" }>, restMs: number): FetchedRobots {
  const reason = `the robots.txt of ${origin} cannot be read, and without it nothing is requested: ${answer.reason}`;
  if (answer.kind === "refused") return { robots: { kind: "unavailable", reason }, forMs: restMs };
  return { robots: { ...answer, reason }, forMs: answer.retryAfterMs ?? restMs };
}

function ageMs(cacheControl: string | undefined): number {
  const seconds = /(?:^|[\s,])max-age\s*=\s*"?(\d+)/i.exec(cacheControl ?? "")?.[1];
  const maxAgeMs = seconds === undefined ? MAX_AGE_MS : Number(seconds) * 1000;
  return Math.min(Math.max(maxAgeMs, MIN_AGE_MS), MAX_AGE_MS);
}

/** The rules for one crawler, by RFC 9309. */
interface RobotsRules {
  /** `path`: path and query of the URL, as sent. */
  allows(path: string): boolean;
  /** 0 if there is none. */
  readonly crawlDelayMs: number;
  /** As written, in order, without repeats. */
  readonly sitemaps: readonly string[];
}

interface Group {
  readonly rules: Rule[];
  crawlDelayMs: number;
}

/** Matches a path that begins with `start`, contains the parts of `middle` in order, and ends with `end`. */
interface Rule {
  readonly isAllowed: boolean;
  readonly start: string;
  readonly middle: readonly string[];
  readonly end: string | undefined;
  /** Matches only a path equal to `start`. */
  readonly isExact: boolean;
  readonly length: number;
}

/** RFC 9309 requires this much; the rest is ignored. */
const MAX_PARSED_BYTES = 500 * 1024;

/** Merges all groups for `token` (in lower case); without any, those for `*`. */
export function parseRobots(bytes: Uint8Array, token: string): RobotsRules {
  const mine: Group = { rules: [], crawlDelayMs: 0 };
  const everybody: Group = { rules: [], crawlDelayMs: 0 };
  const sitemaps = new Set<string>();
  let open: Group[] = [];
  let isNamed = false;
  let isNaming = false;
  for (const { key, value } of linesOf(bytes)) {
    if (key === "sitemap" && value !== "") sitemaps.add(value);
    if (key === "user-agent") {
      if (!isNaming) open = [];
      isNaming = true;
      // A version after the name is not part of it.
      const name = /^(\*|[a-z_-]*)/i.exec(value)?.[0].toLowerCase();
      if (name === token) isNamed = true;
      if (name === token) open.push(mine);
      else if (name === "*") open.push(everybody);
    }
    // Only these lines belong to a group. They end its list of user agents.
    if (key !== "allow" && key !== "disallow" && key !== "crawl-delay") continue;
    isNaming = false;
    for (const group of open) addLine(group, key, value);
  }
  const { rules, crawlDelayMs } = isNamed ? mine : everybody;
  rules.sort((a, b) => b.length - a.length || Number(b.isAllowed) - Number(a.isAllowed));
  return { allows: (path) => isAllowed(rules, path), crawlDelayMs, sitemaps: [...sitemaps] };
}

function addLine(group: Group, key: string, value: string): void {
  if (key === "crawl-delay") {
    const seconds = Number(value);
    if (seconds > 0 && Number.isFinite(seconds)) group.crawlDelayMs = Math.max(group.crawlDelayMs, seconds * 1000);
  } else if (value.startsWith("/") || value.startsWith("*")) {
    group.rules.push(toRule(key === "allow", value));
  }
}

function* linesOf(bytes: Uint8Array): Generator<{ readonly key: string; readonly value: string }> {
  for (const line of decode(bytes).split(/[\r\n]+/)) {
    const text = line.replace(/#.*/, "");
    const colon = text.indexOf(":");
    if (colon < 0) continue;
    yield { key: text.slice(0, colon).trim().toLowerCase(), value: text.slice(colon + 1).trim() };
  }
}

/** Returns one character per byte: paths are compared by bytes, whatever the file's encoding. */
function decode(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, MAX_PARSED_BYTES));
  if (head[0] === 0xff && head[1] === 0xfe) return toBytes(head.toString("utf16le", 2));
  const hasByteOrderMark = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf;
  return head.toString("latin1", hasByteOrderMark ? 3 : 0);
}

function toBytes(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}

function toRule(isAllowed: boolean, pattern: string): Rule {
  const hasEnd = pattern.endsWith("$");
  const text = normalise(hasEnd ? pattern.slice(0, -1) : pattern).replaceAll("$", "%24");
  const [start = "", ...middle] = text.split(/\*+/);
  const isExact = hasEnd && middle.length === 0;
  const end = hasEnd ? middle.pop() : undefined;
  return { isAllowed, start, middle, end, isExact, length: text.length + Number(hasEnd) };
}

function isAllowed(rules: readonly Rule[], path: string): boolean {
  if (rules.length === 0 || path === "/robots.txt") return true;
  const text = normalise(toBytes(path)).replaceAll("*", "%2A").replaceAll("$", "%24");
  return rules.find((rule) => matches(rule, text))?.isAllowed ?? true;
}

/** Takes the leftmost match of each part: if any placement matches, this one does. */
function matches({ start, middle, end, isExact }: Rule, text: string): boolean {
  if (!text.startsWith(start)) return false;
  if (isExact) return text.length === start.length;
  let at = start.length;
  for (const part of middle) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return end === undefined || (text.endsWith(end) && text.length - end.length >= at);
}

/** Characters that mean the same escaped and unescaped. In a query these include slash and question mark. */
const PLAIN_IN_PATH = /[\w\-.~!'(),:;@[\]]/;
const PLAIN_IN_QUERY = /[\w\-.~!'(),:;@[\]/?]/;

function normalise(text: string): string {
  const query = text.indexOf("?");
  if (query < 0) return unify(text, PLAIN_IN_PATH);
  return unify(text.slice(0, query), PLAIN_IN_PATH) + unify(text.slice(query), PLAIN_IN_QUERY);
}

function unify(text: string, plain: RegExp): string {
  return text.replaceAll(/%[0-9a-f]{2}|[^!-~]|["<>\\^`{|}]/gi, (found) => {
    const code = found.length === 3 ? Number.parseInt(found.slice(1), 16) : found.charCodeAt(0);
    const character = String.fromCharCode(code);
    return plain.test(character) ? character : `%${code.toString(16).toUpperCase().padStart(2, "0")}`;
  });
}

/** What a robots.txt asks of one crawler, by RFC 9309. */
export interface RobotsRules {
  /** `path` is that of the address with its query, as it is sent. */
  allows(path: string): boolean;
  /** 0 when nothing is asked for. */
  readonly crawlDelayMs: number;
  /** As they are written, in their order, each once. */
  readonly sitemaps: readonly string[];
}

interface Group {
  readonly rules: Rule[];
  crawlDelayMs: number;
}

/** A path that begins with `start`, then has the parts of `middle` in their order, and at its end `end`, if there is one. */
interface Rule {
  readonly isAllowed: boolean;
  readonly start: string;
  readonly middle: readonly string[];
  readonly end: string | undefined;
  /** There is nothing but the start. */
  readonly isExact: boolean;
  readonly length: number;
}

/** RFC 9309 wants this much to be read; what follows is left out. */
const MAX_BYTES = 500 * 1024;

export const ALLOWS_ALL: RobotsRules = { allows: () => true, crawlDelayMs: 0, sitemaps: [] };

/** Groups for `token` count, all of them together; without any, those for everybody. `token` is in lower case. */
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
      // Whatever follows the name, such as a version, is not part of it.
      const name = /^(\*|[a-z_-]*)/i.exec(value)?.[0].toLowerCase();
      if (name === token) isNamed = true;
      if (name === token) open.push(mine);
      else if (name === "*") open.push(everybody);
    }
    // A delay belongs to the group it stands in, and so ends the names as a rule does; other lines are none of the group's.
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

/** One character for each byte: paths are compared by their bytes, whatever encoding somebody saved the file in. */
function decode(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, MAX_BYTES));
  if (head[0] === 0xff && head[1] === 0xfe) return toBytes(head.toString("utf16le", 2));
  const isMarked = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf;
  return head.toString("latin1", isMarked ? 3 : 0);
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

/** Leftmost places first: if any placing of the parts fits, this one does. */
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

/** What means the same escaped and not; in a query slashes and question marks do, too. */
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

/** One request the sandbox answered, the control API's own excepted. */
export interface LogEntry {
  readonly number: number;
  readonly at: string;
  readonly method: string;
  /** As sent, still encoded. */
  readonly url: string;
  /** 0 when the connection was ended without an answer. */
  readonly status: number;
  /** Of the body that was sent, which a fault may have cut short. */
  readonly bytes: number;
  readonly durationMs: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The fault that struck, null for none. */
  readonly fault: number | null;
}

const CAPACITY = 20_000;
const KEPT_HEADERS = ["accept", "user-agent", "range", "if-range", "if-none-match", "content-type", "prefer"];

const DECORATED = /\b(NON)?ISV\|[^|]+\|[^|]+/;

/** Remembers the latest requests; older ones fall off, their numbers are not used again. */
export class RequestLog {
  #entries: LogEntry[] = [];
  #next = 1;
  /** How many came without the decoration SharePoint asks of polite traffic: `NONISV|Company|App/Version`. */
  undecorated = 0;

  add(entry: Omit<LogEntry, "number">): void {
    if (!DECORATED.test(entry.headers["user-agent"] ?? "")) this.undecorated++;
    this.#entries.push({ number: this.#next++, ...entry });
    // Cut in slices: shifting one by one would move the whole log for each request.
    if (this.#entries.length > CAPACITY * 1.1) this.#entries = this.#entries.slice(-CAPACITY);
  }

  entries(): readonly LogEntry[] {
    return this.#entries.slice(-CAPACITY);
  }

  clear(): void {
    this.#entries = [];
    this.undecorated = 0;
  }
}

/** The token itself is not kept, only that there was one. */
export function keptHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of KEPT_HEADERS) if (headers[name] !== undefined) kept[name] = String(headers[name]);
  const authorization = headers["authorization"];
  if (typeof authorization === "string") kept["authorization"] = authorization.split(" ")[0] ?? "";
  return kept;
}

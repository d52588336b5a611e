import type { Asked } from "../http-reply.ts";
import type { OperationCall } from "./operations.ts";

/** What happens to a request a fault strikes. Parts combine: operations run first, then the delay, then the rest. */
export interface FaultEffect {
  /** Operations of the control API, carried out just before the answer is made: "meanwhile somebody deleted it". */
  readonly run?: readonly OperationCall[];
  readonly delayMs?: number;
  /** Instead of an answer: "reset" sends RST, "drop" closes. */
  readonly connection?: "reset" | "drop";
  /** Instead of the real answer. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The body stops here and the connection stays open. */
  readonly stallAfterBytes?: number;
  /** The body stops here and ends as `ending` says. */
  readonly truncateAfterBytes?: number;
  /**
   * "close" (default) and "reset" break a promised Content-Length; "clean" promises none and ends like a whole body,
   * which only a comparison with the listed size can tell.
   */
  readonly ending?: "close" | "reset" | "clean";
}

export interface FaultMatch {
  readonly method?: string;
  /** A regular expression without flags, tried on the address as sent and decoded, case ignored. */
  readonly url?: string;
  /** The first matching request to strike, from 1. */
  readonly nth?: number;
  /** Then every so-manieth. */
  readonly every?: number;
  readonly times?: number | "always";
}

export interface Fault {
  readonly id: number;
  readonly match: FaultMatch;
  readonly effect: FaultEffect;
  /** How many requests matched so far, and how many of them were struck. */
  readonly seen: number;
  readonly struck: number;
}

interface Planned extends Fault {
  readonly pattern: RegExp;
  seen: number;
  struck: number;
}

/** Faults by plan, never by chance: the same requests in the same order meet the same faults. */
export class FaultPlan {
  #faults: Planned[] = [];
  #nextId = 1;

  /** Throws SyntaxError when `url` is no regular expression. */
  add(match: FaultMatch, effect: FaultEffect): Fault {
    const fault = {
      id: this.#nextId++,
      match,
      effect,
      seen: 0,
      struck: 0,
      pattern: new RegExp(match.url ?? "", "i"),
    };
    this.#faults.push(fault);
    return describe(fault);
  }

  list(): Fault[] {
    return this.#faults.map(describe);
  }

  clear(id?: number): void {
    this.#faults = id === undefined ? [] : this.#faults.filter((fault) => fault.id !== id);
  }

  /** Every matching fault counts the request; the first that is due strikes it. */
  strike(asked: Asked): Fault | undefined {
    const matching = this.#faults.filter((fault) => isMatch(fault, asked));
    for (const fault of matching) fault.seen++;
    const due = matching.find(isDue);
    if (due) due.struck++;
    return due;
  }
}

function describe({ pattern: _, ...fault }: Planned): Fault {
  return { ...fault };
}

function isMatch({ match, pattern }: Planned, asked: Asked): boolean {
  if (match.method !== undefined && match.method.toUpperCase() !== asked.method) return false;
  const url = asked.rawQuery === "" ? asked.rawPath : `${asked.rawPath}?${asked.rawQuery}`;
  return pattern.test(url) || pattern.test(decodeLoosely(url));
}

function isDue({ match, seen, struck }: Planned): boolean {
  const { nth = 1, every = 1, times = 1 } = match;
  return seen >= nth && (seen - nth) % every === 0 && (times === "always" || struck < times);
}

function decodeLoosely(url: string): string {
  try {
    return decodeURIComponent(url.replaceAll("+", " "));
  } catch {
    return url;
  }
}

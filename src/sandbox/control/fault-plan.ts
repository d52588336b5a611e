import { createHash } from "node:crypto";
import type { Asked } from "../http-reply.ts";
import type { FaultEffect } from "./fault-effect.ts";

export type { FaultEffect } from "./fault-effect.ts";

export interface FaultMatch {
  readonly method?: string;
  /** A regular expression without flags, tried on the address as sent and decoded, case ignored. */
  readonly url?: string;
  /** The first matching request to strike, from 1. */
  readonly nth?: number;
  /** Then every so-manieth. */
  readonly every?: number;
  /** 1 unless said otherwise; "always" with a share. */
  readonly times?: number | "always";
  /** Instead of nth and every: this part of the matching requests, from 0 to 1, spread by the seed. */
  readonly share?: number;
  /** Another seed strikes other requests, and chooses otherwise among the effects of `oneOf`. */
  readonly seed?: number;
}

interface Fault {
  readonly id: number;
  readonly match: FaultMatch;
  readonly effect: FaultEffect;
  /** How many requests matched so far, and how many of them were struck. */
  readonly seen: number;
  readonly struck: number;
}

interface Planned extends Fault {
  readonly pattern: RegExp;
  /** How often each address was asked: what decides about a request besides the seed. */
  readonly asked: Map<string, number>;
  seen: number;
  struck: number;
}

/**
 * Faults by plan, never by chance: the same requests in the same order meet the same faults. With a share not even the
 * order between different addresses matters, so workers may overtake each other and the history still repeats.
 */
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
      asked: new Map<string, number>(),
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

  /** Every matching fault counts the request; the first that is due strikes it, with the effect chosen for this one. */
  strike(asked: Asked): { id: number; effect: FaultEffect } | undefined {
    let struck: { id: number; effect: FaultEffect } | undefined;
    for (const fault of this.#faults.filter((each) => isMatch(each, asked))) {
      const { chance, choice } = isSeeded(fault) ? rollFor(fault, addressOf(asked)) : { chance: 0, choice: 0 };
      fault.seen++;
      if (struck || !isDue(fault, chance)) continue;
      fault.struck++;
      const { oneOf, ...effect } = fault.effect;
      const chosen = oneOf?.[Math.floor(choice * oneOf.length)];
      struck = { id: fault.id, effect: { ...effect, ...chosen } };
    }
    return struck;
  }
}

function describe({ pattern: _, asked: __, ...fault }: Planned): Fault {
  return { ...fault };
}

function isMatch({ match, pattern }: Planned, asked: Asked): boolean {
  if (match.method !== undefined && match.method.toUpperCase() !== asked.method) return false;
  const url = urlOf(asked);
  return pattern.test(url) || pattern.test(decodeLoosely(url));
}

function isDue({ match, seen, struck }: Planned, chance: number): boolean {
  const { nth = 1, every = 1, share } = match;
  const times = match.times ?? (share === undefined ? 1 : "always");
  if (times !== "always" && struck >= times) return false;
  return share === undefined ? seen >= nth && (seen - nth) % every === 0 : chance < share;
}

/** The sign-in library puts a random id into the address: it must not decide anything. */
function addressOf(asked: Asked): string {
  return `${asked.method} ${urlOf(asked).replace(/([?&])client-request-id=[^&]*/i, "$1")}`;
}

function isSeeded({ match, effect }: Planned): boolean {
  return match.share !== undefined || effect.oneOf !== undefined;
}

function rollFor({ asked: counts, match }: Planned, address: string): { chance: number; choice: number } {
  const count = (counts.get(address) ?? 0) + 1;
  counts.set(address, count);
  return decide(match.seed ?? 0, address, count);
}

function urlOf(asked: Asked): string {
  return asked.rawQuery === "" ? asked.rawPath : `${asked.rawPath}?${asked.rawQuery}`;
}

function decodeLoosely(url: string): string {
  try {
    return decodeURIComponent(url.replaceAll("+", " "));
  } catch {
    return url;
  }
}

/** Two numbers from 0 up to, not including, 1: whether the request is struck, and which of several effects it meets. */
function decide(seed: number, address: string, count: number): { chance: number; choice: number } {
  const digest = createHash("sha256").update(`${seed}\n${address}\n${count}`).digest();
  return { chance: digest.readUInt32BE(0) / 2 ** 32, choice: digest.readUInt32BE(4) / 2 ** 32 };
}

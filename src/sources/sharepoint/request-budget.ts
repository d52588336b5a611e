import { first, type Headers } from "./retry.ts";

/** What the tenant says is left for us: its RateLimit headers, which come when most of it is used. */
export interface RequestBudget {
  /** 0 when it does not tell. */
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

/** undefined: the answer says nothing about it. */
export function readBudget(headers: Headers): RequestBudget | undefined {
  const remaining = wholeNumber(headers["ratelimit-remaining"]);
  const resetSeconds = wholeNumber(headers["ratelimit-reset"]);
  if (remaining === undefined || resetSeconds === undefined) return undefined;
  return { limit: wholeNumber(headers["ratelimit-limit"]) ?? 0, remaining, resetMs: resetSeconds * 1000 };
}

/** Left alone, because we are not the only ones who spend, and a request may cost more than one. */
const RESERVED_SHARE = 0.05;

/** How far apart requests must start so that what is left, less the reserve, lasts until the reset; Infinity: it does not. */
export function intervalMsFor(budget: RequestBudget): number {
  const spendable = budget.remaining - Math.ceil(budget.limit * RESERVED_SHARE);
  return spendable > 0 ? budget.resetMs / spendable : Number.POSITIVE_INFINITY;
}

function wholeNumber(header: string | string[] | undefined): number | undefined {
  const text = first(header).trim();
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

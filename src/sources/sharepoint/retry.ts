import { RemoteError } from "../../contracts/errors.ts";
import { backoffMs, jitter, type RetryLimits } from "../../lib/backoff.ts";
import type { OnWait, Pace, Slot } from "../../lib/pace.ts";
import { type AnswerHeaders, headerOf, readNumber, readRetryAfterMs } from "../../lib/retry-after.ts";
import { sleep } from "../../lib/time.ts";
import { throwIfCancelled } from "./cancelled.ts";
import type { ErrorBody } from "./error-body.ts";

/** `attempts`: when the server or the line fails, or the server is too busy to say for how long. */
export interface RetryPolicy extends RetryLimits {
  /** Being told when to come back is no failure and does not use up attempts; only this much time. */
  readonly patienceMs: number;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  attempts: 6,
  firstMs: 2_000,
  longestMs: 120_000,
  patienceMs: 30 * 60_000,
};

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Worth another try. `error` is what is thrown when there is none left. */
export class TransientFailure extends Error {
  readonly error: RemoteError;
  readonly throttled: boolean;
  /** How long the server asked us to wait, undefined when it did not. */
  readonly askedMs: number | undefined;
  constructor(error: RemoteError, options?: { throttled?: boolean; askedMs?: number | undefined }) {
    super(error.message, { cause: error });
    this.error = error;
    this.throttled = options?.throttled ?? false;
    this.askedMs = options?.askedMs;
  }
}

interface RetryContext {
  readonly policy: RetryPolicy;
  readonly pace: Pace;
  readonly signal: AbortSignal;
  readonly onWait: OnWait;
}

/**
 * Runs `attempt` at the pace until it succeeds or throws anything but a TransientFailure.
 * A successful attempt releases its slot itself, because a streamed answer goes on after it returned.
 */
export async function withRetries<T>(context: RetryContext, attempt: (slot: Slot) => Promise<T>): Promise<T> {
  const { policy, pace, signal, onWait } = context;
  const startedAt = performance.now();
  let failures = 0;
  for (;;) {
    const slot = await enter(context);
    try {
      const value = await attempt(slot);
      pace.recordSuccess(slot);
      return value;
    } catch (error) {
      slot.release();
      throwIfCancelled(signal);
      if (!(error instanceof TransientFailure)) throw error;
      const asked = error.throttled ? error.askedMs : undefined;
      if (asked === undefined) failures += 1;
      const waitMs = error.askedMs ?? jitter(backoffMs(failures, policy));
      const tooLong = performance.now() + waitMs - startedAt > policy.patienceMs;
      // Whoever gives up leaves the pause behind: the others must not ask either.
      if (error.throttled) pace.pause(waitMs, error.message);
      if (failures >= policy.attempts || tooLong) throw error.error;
      if (!error.throttled) {
        onWait(error.message, Math.ceil(waitMs));
        await sleep(waitMs, signal);
      }
    }
  }
}

/** After a pause that is longer than patience, asking would earn nothing but a longer one, and waiting would look like hanging. */
async function enter({ pace, signal, onWait }: RetryContext): Promise<Slot> {
  throwIfCancelled(signal);
  const entered = await pace.acquire(signal, onWait).catch((error: unknown) => {
    throwIfCancelled(signal);
    throw error;
  });
  if (!("waitMs" in entered)) return entered;
  throw new RemoteError(`SharePoint wants no requests for another ${Math.ceil(entered.waitMs / 60_000)} minutes`);
}

/** The longer of Retry-After and RateLimit-Reset, which is in seconds. */
export function askedWaitMs(headers: AnswerHeaders, nowMs?: number): number | undefined {
  const resetSeconds = readNumber(headerOf(headers, "ratelimit-reset"));
  const waits = [readRetryAfterMs(headers, nowMs), resetSeconds === undefined ? undefined : resetSeconds * 1000];
  const known = waits.filter((ms) => ms !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
}

export function first(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? value[0] : value) ?? "";
}

/** The list view threshold: a 500 that will be a 500 for ever. */
export const QUERY_THROTTLED = -2147024860;
const PERMANENT_CODES: ReadonlySet<number | undefined> = new Set([QUERY_THROTTLED, -2147024809]);
const PERMANENT_EXCEPTION = /(SPQueryThrottledException|InvalidClientQueryException|ArgumentException)$/;
/** A looked-up value that is empty where SharePoint cannot bear it. */
const PROJECTION = /projected field/i;

/** What an error status means for the next try. */
export function judgeStatus(
  status: number,
  body: ErrorBody,
  method: "GET" | "POST" = "GET",
): "throttled" | "fault" | "final" {
  if (status === 429 || status === 503) return "throttled";
  // Seen in the wild: a 401 whose body says it is a 429.
  if (status === 401 && /^429\b/.test(body.message)) return "throttled";
  if (status === 408 || status === 502 || status === 504) return "fault";
  // SharePoint refuses a question it was posted with a 500 too: an old change token, a bad query.
  if (status !== 500 || method === "POST") return "final";
  if (PROJECTION.test(body.message)) return "final";
  return PERMANENT_CODES.has(body.code) || PERMANENT_EXCEPTION.test(body.exception) ? "final" : "fault";
}

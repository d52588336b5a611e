import { RemoteError } from "../../contracts/errors.ts";
import { sleep } from "../../lib/time.ts";
import { throwIfCancelled } from "./cancelled.ts";
import type { ErrorBody } from "./error-body.ts";
import type { OnWait, Slot, ThrottleGate } from "./throttle-gate.ts";

export interface RetryPolicy {
  /** Tries in all when the server or the line fails, or the server is too busy to say for how long. */
  readonly attempts: number;
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
  /** Being told when to come back is no failure and does not use up attempts; only this much time. */
  readonly patienceMs: number;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  attempts: 6,
  firstWaitMs: 2_000,
  longestWaitMs: 120_000,
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
  readonly gate: ThrottleGate;
  readonly signal: AbortSignal;
  readonly onWait: OnWait;
}

/**
 * Runs `attempt` inside the gate until it succeeds or throws anything but a TransientFailure.
 * A successful attempt releases its slot itself, because a streamed answer goes on after it returned.
 */
export async function withRetries<T>(context: RetryContext, attempt: (slot: Slot) => Promise<T>): Promise<T> {
  const { policy, gate, signal, onWait } = context;
  const startedAt = performance.now();
  let failures = 0;
  for (;;) {
    refuseLongPause(context);
    const slot = await gate.enter(signal, onWait);
    try {
      return await attempt(slot);
    } catch (error) {
      slot.release();
      throwIfCancelled(signal);
      if (!(error instanceof TransientFailure)) throw error;
      const asked = error.throttled ? error.askedMs : undefined;
      if (asked === undefined) failures += 1;
      const waitMs = error.askedMs ?? backoffMs(policy, failures);
      const tooLong = performance.now() + waitMs - startedAt > policy.patienceMs;
      // Whoever gives up leaves the pause behind: the others must not ask either.
      if (error.throttled) gate.pause(waitMs, error.message);
      if (failures >= policy.attempts || tooLong) throw error.error;
      if (!error.throttled) {
        onWait(error.message, Math.ceil(waitMs));
        await sleep(waitMs, signal);
      }
    }
  }
}

/** Asking would earn nothing but a longer pause, and waiting would look like hanging. */
function refuseLongPause({ gate, policy }: RetryContext): void {
  const closedMs = gate.closedForMs();
  if (closedMs <= policy.patienceMs) return;
  throw new RemoteError(`SharePoint wants no requests for another ${Math.ceil(closedMs / 60_000)} minutes`);
}

/** Doubling, capped, and anywhere between half of it and all of it, so that those who failed together do not return together. */
function backoffMs(policy: RetryPolicy, failures: number): number {
  const fullMs = Math.min(policy.longestWaitMs, policy.firstWaitMs * 2 ** (failures - 1));
  return fullMs * (0.5 + Math.random() / 2);
}

/** The longer of Retry-After (seconds or a date) and RateLimit-Reset (seconds). */
export function askedWaitMs(headers: Headers, nowMs: number = serverNowMs(headers)): number | undefined {
  const waits = [retryAfterMs(first(headers["retry-after"]), nowMs), secondsMs(first(headers["ratelimit-reset"]))];
  const known = waits.filter((ms) => ms !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
}

/** A date is meant by the server's clock, not by ours. */
function serverNowMs(headers: Headers): number {
  const atMs = Date.parse(first(headers["date"]));
  return Number.isNaN(atMs) ? Date.now() : atMs;
}

function retryAfterMs(text: string, nowMs: number): number | undefined {
  const seconds = secondsMs(text);
  if (seconds !== undefined) return seconds;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

function secondsMs(text: string): number | undefined {
  return /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) * 1000 : undefined;
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

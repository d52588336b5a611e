import type { Dispatcher } from "undici";
import { CancelledError, RemoteError } from "../../contracts/errors.ts";
import { errorCode, explainNetwork, isPermanent } from "../../lib/explain-network.ts";
import type { OnWait, Pace, Slot } from "../../lib/pace.ts";
import { createProxyAgent } from "../../lib/proxy-agent.ts";
import {
  type AnswerHeaders,
  backoffMs,
  headerOf,
  jitter,
  type RetryLimits,
  readNumber,
  readRetryAfterMs,
} from "../../lib/retry.ts";
import { sleep } from "../../lib/time.ts";

/** An error response, from JSON, XML or plain text. */
export interface ErrorBody {
  /** SharePoint's number, which does not depend on the language of the site; undefined when it gave none. */
  readonly code: number | undefined;
  /** The exception class behind it, e.g. `System.IO.FileNotFoundException`; "" when it gave none. */
  readonly exception: string;
  /** For people, one line; "" when it said nothing usable. */
  readonly message: string;
}

export interface Timeouts {
  readonly connectMs: number;
  readonly headersMs: number;
  /** Between two pieces of a body; a body may take as long as it likes while it keeps coming. */
  readonly idleMs: number;
}

export const DEFAULT_TIMEOUTS: Timeouts = { connectMs: 10_000, headersMs: 60_000, idleMs: 60_000 };

interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Dispatcher.ResponseData["body"];
}

/** Sends single requests: no retries, no redirects, no interpretation. Throws TransientFailure for network errors that may pass. */
export interface HttpTransport {
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>;
  /** Returns the whole body as text; it can be read once. */
  readText(response: HttpResponse, signal: AbortSignal): Promise<string>;
  readonly timeouts: Timeouts;
  close(): Promise<void>;
}

export function createHttpTransport(
  timeouts: Timeouts,
  onResponse: (response: HttpResponse) => void = () => undefined,
): HttpTransport {
  const dispatcher = createProxyAgent({
    connectTimeout: timeouts.connectMs,
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.idleMs,
    // Over HTTP/1.1 a cut body is always recognisable by its length or its last chunk.
    allowH2: false,
  });
  return {
    timeouts,
    async send(request, signal) {
      const url = new URL(request.url);
      try {
        const response = await dispatcher.request({
          origin: url.origin,
          path: `${url.pathname}${url.search}`,
          method: request.method,
          headers: request.headers,
          body: request.body ?? null,
          signal,
        });
        const { statusCode: status, headers, body } = response;
        onResponse({ status, headers, body });
        return { status, headers, body };
      } catch (error) {
        throw transportFailure(url.host, error, signal);
      }
    },
    async readText(response, signal) {
      try {
        return await response.body.text();
      } catch (error) {
        throw transportFailure("", error, signal);
      }
    },
    close: () => dispatcher.destroy(),
  };
}

/** Returns a TransientFailure for a network error, or a RemoteError where a retry cannot help (certificate, unknown host). */
export function transportFailure(host: string, error: unknown, signal: AbortSignal): Error {
  throwIfCancelled(signal);
  const code = errorCode(error);
  const reason = explainNetwork(code) ?? (error instanceof Error ? error.message || code : String(error));
  const remote = new RemoteError(`${host ? `reach ${host}` : "read the answer"}: ${reason}`, { cause: error });
  return isPermanent(code) ? remote : new TransientFailure(remote);
}

/** `attempts`: for failures of server or network, and for throttling without Retry-After. */
export interface RetryPolicy extends RetryLimits {
  /** How long throttling is waited for in all. A wait that the server asked for does not count as a failed attempt. */
  readonly maxWaitMs: number;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  attempts: 6,
  firstMs: 2_000,
  longestMs: 120_000,
  maxWaitMs: 30 * 60_000,
};

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** A failure that is worth a retry. `error` is thrown when no attempt is left. */
export class TransientFailure extends Error {
  readonly error: RemoteError;
  readonly throttled: boolean;
  /** How long the server asked us to wait; undefined when it did not. */
  readonly retryAfterMs: number | undefined;
  constructor(error: RemoteError, options?: { throttled?: boolean; retryAfterMs?: number | undefined }) {
    super(error.message, { cause: error });
    this.error = error;
    this.throttled = options?.throttled ?? false;
    this.retryAfterMs = options?.retryAfterMs;
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
    const slot = await acquireSlot(context);
    try {
      const value = await attempt(slot);
      pace.recordSuccess(slot);
      return value;
    } catch (error) {
      slot.release();
      throwIfCancelled(signal);
      if (!(error instanceof TransientFailure)) throw error;
      const requestedMs = error.throttled ? error.retryAfterMs : undefined;
      if (requestedMs === undefined) failures += 1;
      const waitMs = error.retryAfterMs ?? jitter(backoffMs(failures, policy));
      const tooLong = performance.now() + waitMs - startedAt > policy.maxWaitMs;
      // The pause stays after we give up: other requests must not be sent either.
      if (error.throttled) pace.pause(waitMs, error.message);
      if (failures >= policy.attempts || tooLong) throw error.error;
      if (!error.throttled) {
        onWait(error.message, Math.ceil(waitMs));
        await sleep(waitMs, signal);
      }
    }
  }
}

/** Throws rather than wait for a pause longer than `maxWaitMs`: a request would only prolong it, and waiting would look like hanging. */
async function acquireSlot({ pace, signal, onWait }: RetryContext): Promise<Slot> {
  throwIfCancelled(signal);
  const slot = await pace.acquire(signal, onWait).catch((error: unknown) => {
    throwIfCancelled(signal);
    throw error;
  });
  if (!("waitMs" in slot)) return slot;
  throw new RemoteError(`SharePoint accepts no requests for another ${Math.ceil(slot.waitMs / 60_000)} minutes`);
}

/** Returns the longer of Retry-After and RateLimit-Reset (seconds), or undefined when there is neither. */
export function requestedWaitMs(headers: AnswerHeaders, nowMs?: number): number | undefined {
  const resetSeconds = readNumber(headerOf(headers, "ratelimit-reset"));
  const waits = [readRetryAfterMs(headers, nowMs), resetSeconds === undefined ? undefined : resetSeconds * 1000];
  const known = waits.filter((ms) => ms !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
}

export function firstValue(value: string | string[] | undefined): string {
  return (Array.isArray(value) ? value[0] : value) ?? "";
}

/** The list view threshold: a 500 that no retry changes. */
export const QUERY_THROTTLED = -2147024860;
const PERMANENT_CODES: ReadonlySet<number | undefined> = new Set([QUERY_THROTTLED, -2147024809]);
const PERMANENT_EXCEPTION = /(SPQueryThrottledException|InvalidClientQueryException|ArgumentException)$/;
/** SharePoint fails on an empty lookup value. */
const PROJECTION = /projected field/i;

/** Says whether an error response is throttling, a passing fault, or final. */
export function classifyStatus(
  status: number,
  body: ErrorBody,
  method: "GET" | "POST" = "GET",
): "throttled" | "fault" | "final" {
  if (status === 429 || status === 503) return "throttled";
  // Seen in the wild: a 401 whose body says it is a 429.
  if (status === 401 && /^429\b/.test(body.message)) return "throttled";
  if (status === 408 || status === 502 || status === 504) return "fault";
  // SharePoint also rejects a POSTed query with a 500: an old change token, a bad query.
  if (status !== 500 || method === "POST") return "final";
  if (PROJECTION.test(body.message)) return "final";
  return PERMANENT_CODES.has(body.code) || PERMANENT_EXCEPTION.test(body.exception) ? "final" : "fault";
}

/** Reports a pause once, although several requests wait for it. */
export function oncePerPause(onWait: OnWait | undefined): OnWait {
  let toldUntilMs = 0;
  return (reason, ms) => {
    const untilMs = performance.now() + ms;
    if (!onWait || untilMs <= toldUntilMs + SAME_PAUSE_MS) return;
    toldUntilMs = untilMs;
    onWait(reason, ms);
  };
}

/** The computed end of one pause differs by about this much between requests. */
const SAME_PAUSE_MS = 50;

/** Throws if the signal is aborted: its own CancelledError where it carries one, so that the reason survives. */
export function throwIfCancelled(signal: AbortSignal): void {
  if (!signal.aborted) return;
  if (signal.reason instanceof CancelledError) throw signal.reason;
  throw new CancelledError("read SharePoint: stopped", { cause: signal.reason });
}

/** Waits for a shared promise. Our signal ends our waiting, not the work. */
export async function unlessCancelled<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  throwIfCancelled(signal);
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } catch (error) {
    throwIfCancelled(signal);
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

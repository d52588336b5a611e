import type { LookupFunction } from "node:net";
import { CancelledError, RemoteError } from "../../contracts/errors.ts";
import type { Tell, WebClient, WebRequest, WebResponse, WebResult } from "../../contracts/web.ts";
import { memoize } from "../../lib/once.ts";
import {
  type Closed,
  createPace,
  type OnWait,
  type Pace,
  type PaceClock,
  type PaceOptions,
  type Slot,
  SYSTEM_CLOCK,
} from "../../lib/pace.ts";
import { backoffMs, readRetryAfterMs } from "../../lib/retry.ts";
import {
  ACCEPTED_CODINGS,
  AddressRefused,
  describeNetworkError,
  exchange,
  isConnectionLost,
  openTransport,
  readCodings,
} from "./http-transport.ts";
import { createRobotsCache } from "./robots.ts";

export interface WebClientOptions {
  /** The full User-Agent header. */
  readonly userAgent: string;
  /** Whether loopback, link-local, private and metadata addresses may be requested. */
  readonly allowPrivateNetworks: boolean;
  readonly requestsPerHost: number;
  /** Minimum interval between two requests to a host; a crawl delay in its robots.txt may be longer. */
  readonly hostDelayMs: number;
  /** Limit for the response to begin, and for each pause between two chunks of it. */
  readonly timeoutMs: number;
  /** Longest pause a request waits for. If its host pauses for longer, the request fails at once. */
  readonly patienceMs?: number;
  /** First backoff after failures of a host that sends no Retry-After. */
  readonly restMs?: number;
  /** Resolves host names; default: the system's resolver. */
  readonly lookup?: LookupFunction;
  /** Default: the system's clock. */
  readonly clock?: PaceClock;
}

const ROBOTS_TOKEN = "lockstep";
const MAX_CRAWL_DELAY_MS = 60_000;
const SITEMAPS_AGE_MS = 60_000;
const NEVER = new AbortController().signal;
const ROBOTS_REQUEST = { method: "GET", excess: "cut off", signal: NEVER, accept: "text/plain, */*;q=0.5" } as const;

export function createWebClient(options: WebClientOptions): WebClient {
  const restMs = options.restMs ?? 5000;
  const sender = createSender({ patienceMs: 30_000, ...options, restMs });
  const robots = createRobotsCache({
    token: ROBOTS_TOKEN,
    // Several requests wait for the same robots.txt, so cancelling the first of them must not cancel it.
    send: (url, maxBytes) => sender.send(url, { ...ROBOTS_REQUEST, url: url.href, maxBytes }),
    restMs,
    nowMs: (options.clock ?? SYSTEM_CLOCK).nowMs,
  });

  return {
    async send(request) {
      throwIfAborted(request.signal);
      const url = URL.parse(request.url);
      if (url?.protocol !== "http:" && url?.protocol !== "https:") {
        return {
          kind: "refused",
          why: "address",
          reason: "only URLs that begin with http:// or https:// can be requested",
        };
      }
      const known = robots.of(url.origin, request.robotsMaxAgeMs);
      const answer = known instanceof Promise ? await orCancelled(known, request.signal) : known;
      if (answer.kind !== "rules") return answer;
      sender.slowDown(url.host, Math.min(answer.rules.crawlDelayMs, MAX_CRAWL_DELAY_MS));
      if (!answer.rules.allows(`${url.pathname}${url.search}`)) {
        return { kind: "refused", why: "robots", reason: `the robots.txt of ${url.origin} disallows it` };
      }
      return sender.send(url, request);
    },
    async sitemapsOf(origin, signal) {
      const answer = await orCancelled(Promise.resolve(robots.of(new URL(origin).origin, SITEMAPS_AGE_MS)), signal);
      if (answer.kind !== "rules") throw new RemoteError(answer.reason);
      const addresses = answer.rules.sitemaps.map((text) => URL.parse(text, origin));
      return addresses.flatMap((url) => (url && /^https?:$/.test(url.protocol) ? [url.href] : []));
    },
    close: () => sender.close(),
  };
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new CancelledError("the request was cancelled", { cause: signal.reason });
}

/** Rejects with CancelledError if the signal aborts first. The work goes on. */
async function orCancelled<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  throwIfAborted(signal);
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(new CancelledError("the request was cancelled", { cause: signal.reason }));
  });
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

interface SenderOptions {
  readonly userAgent: string;
  readonly allowPrivateNetworks: boolean;
  readonly requestsPerHost: number;
  readonly hostDelayMs: number;
  readonly timeoutMs: number;
  readonly patienceMs: number;
  readonly restMs: number;
  readonly lookup?: LookupFunction;
  readonly clock?: PaceClock;
}

/** Sends requests within the limits of their hosts and interprets the responses. Does not check robots.txt. */
interface Sender {
  /** Throws only CancelledError, when the signal aborts. */
  send(url: URL, request: WebRequest): Promise<WebResult>;
  /** Sets the minimum interval between two requests to the host. */
  slowDown(host: string, intervalMs: number): void;
  close(): Promise<void>;
}

const USUAL_ACCEPT = "text/html, application/xhtml+xml, */*;q=0.8";
const MAX_CONNECT_MS = 10_000;
/** A server may close an idle connection just as it is reused. */
const MAX_TRIES = 2;

/** Shorter waits are not logged. */
const LOGGED_WAIT_MS = 3000;
/** Memoized: the pace recognises a listener by identity and reports each pause to it once. */
const onWaitOf = memoize(
  (tell: Tell): OnWait =>
    (reason, ms) =>
      tell(`Waiting ${Math.ceil(ms / 1000)} s: ${reason}`),
);

export function createSender(options: SenderOptions): Sender {
  const { requestsPerHost, timeoutMs, restMs, patienceMs } = options;
  const transport = openTransport({
    allowPrivateNetworks: options.allowPrivateNetworks,
    connectionsPerOrigin: requestsPerHost,
    connectMs: Math.min(timeoutMs, MAX_CONNECT_MS),
    lookup: options.lookup,
  });
  const { clock = SYSTEM_CLOCK } = options;
  const paces = createHostPaces({
    concurrency: requestsPerHost,
    intervalMs: options.hostDelayMs,
    easedMs: restMs / 5,
    patienceMs,
    tellFromMs: LOGGED_WAIT_MS,
    clock,
  });
  const deferred = new DeferredUrls(clock.nowMs);

  async function send(url: URL, request: WebRequest, triesLeft: number): Promise<WebResult> {
    const { method, maxBytes, excess = "refused", signal, tell } = request;
    const { host, hostname } = url;
    const pace = paces.of(host);
    const sent = { url, deferred, request, pace, restMs };
    let slot: Slot | undefined;
    try {
      await transport.check(hostname);
      const deferral = deferred.of(url);
      if (deferral && deferral.waitMs > patienceMs) return deferredResult(deferral);
      if (deferral) await pause(deferral, clock, request);
      const entered = await pace.acquire(signal, tell && onWaitOf(tell));
      if ("waitMs" in entered) return deferredResult(entered);
      slot = entered;
      const { cookies } = request;
      const headers = headersOf(url, request, options.userAgent);
      const onCookies = cookies && ((fields: readonly string[]) => cookies.take(url, fields));
      const httpRequest = {
        url,
        method,
        headers,
        maxBytes,
        excess,
        timeoutMs,
        signal,
        onCookies,
        onClosed: slot.release,
      };
      return judgeResponse(await exchange(transport.dispatcher, httpRequest), { ...sent, slot });
    } catch (error) {
      if (signal.aborted) throw new CancelledError("the request was cancelled", { cause: error });
      if (triesLeft > 1 && isConnectionLost(error)) return send(url, request, triesLeft - 1);
      return judgeNetworkError(error, { ...sent, slot });
    }
  }

  return {
    send: (url, request) => send(url, request, MAX_TRIES),
    slowDown: (host, intervalMs) => paces.of(host).space(intervalMs, spacingReason(host)),
    async close() {
      paces.close("the web client was closed");
      await transport.dispatcher.destroy();
    },
  };
}

function deferredResult({ reason, waitMs }: Closed): WebResult {
  return {
    kind: "unavailable",
    reason: `${reason}; requests to it are paused`,
    retryAfterMs: waitMs,
    isDeferred: true,
  };
}

/** Waits. Rejects with the signal's reason if it aborts first. */
function pause({ waitMs, reason }: Closed, clock: PaceClock, { signal, tell }: WebRequest): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason);
  if (tell && waitMs >= LOGGED_WAIT_MS) onWaitOf(tell)(reason, waitMs);
  return new Promise((resolve, reject) => {
    const giveUp = (): void => {
      callOff();
      reject(signal.reason);
    };
    const callOff = clock.after(waitMs, () => {
      signal.removeEventListener("abort", giveUp);
      resolve();
    });
    signal.addEventListener("abort", giveUp, { once: true });
  });
}

function headersOf(
  url: URL,
  { accept, etag, lastModified, excess, cookies }: WebRequest,
  userAgent: string,
): Record<string, string> {
  const cookie = cookies?.of(url) ?? "";
  return {
    ...(cookie && { cookie }),
    "user-agent": userAgent,
    accept: accept || USUAL_ACCEPT,
    "accept-encoding": excess === "cut off" ? "identity" : ACCEPTED_CODINGS,
    "accept-language": "*",
    ...(etag && { "if-none-match": etag }),
    ...(lastModified && { "if-modified-since": asHttpDate(lastModified) }),
  };
}

/** Converts an ISO instant to an HTTP date: some servers compare the header as text. */
function asHttpDate(instant: string): string {
  return /^\d{4}-/.test(instant) ? new Date(instant).toUTCString() : instant;
}

/** A sent request, and the state of its host. */
interface Sent {
  readonly url: URL;
  readonly deferred: DeferredUrls;
  readonly request: WebRequest;
  readonly pace: Pace;
  /** undefined: it was not sent. */
  readonly slot: Slot | undefined;
  /** First backoff of a host that sends no Retry-After; it doubles with each further failure. */
  readonly restMs: number;
}

const MAX_REST_MS = 5 * 60_000;
/** After this many failures in a row (no response, or a temporary error), the host is paused. */
const FAILURES_BEFORE_REST = 5;
/** Temporary errors below 500. */
const TEMPORARY_STATUSES: ReadonlySet<number> = new Set([408, 425, 429]);
const OVERLOAD_STATUSES: ReadonlySet<number> = new Set([429, 503]);

/** Interprets a response and updates the host's pace. Cancels a response that is not returned. */
function judgeResponse(response: WebResponse, sent: Sent): WebResult {
  const isTemporary = response.status >= 500 || TEMPORARY_STATUSES.has(response.status);
  if (!isTemporary && sent.slot) sent.pace.recordSuccess(sent.slot);
  const problem = isTemporary ? judgeUnavailable(response, sent) : findProblem(response, sent);
  if (problem) void response.cancel();
  return problem ?? response;
}

/** Interprets a failure without a response. */
function judgeNetworkError(error: unknown, { url: { host }, pace, slot, restMs }: Sent): WebResult {
  if (error instanceof AddressRefused) return { kind: "refused", why: "address", reason: error.message };
  const reason = describeNetworkError(host, error);
  const failures = slot ? pace.recordFailure(slot) : 0;
  pauseAfterFailures(failures, reason, { pace, restMs });
  return { kind: "unavailable", reason };
}

/** Retry-After applies to the URL; after several URLs of a host, to the host. Status 429 always slows the host down. */
function judgeUnavailable({ status, headers }: WebResponse, { url, deferred, pace, slot, restMs }: Sent): WebResult {
  const retryAfterMs = readRetryAfterMs(headers);
  const askedMs = retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, MAX_WAIT_MS);
  const answer = `answered ${status}${askedMs === undefined ? "" : " and asks to wait"}`;
  const reason = `${url.host} ${answer}`;
  const urlReason = askedMs === undefined ? reason : `${url.host}${url.pathname}${url.search} ${answer}`;
  const failures = slot ? pace.recordFailure(slot) : 0;
  if (status === 429) pace.ease();
  if (askedMs !== undefined && deferred.note(url, askedMs, urlReason)) pace.pause(askedMs, reason);
  else if (failures > 0 && OVERLOAD_STATUSES.has(status) && (askedMs === undefined || status === 429)) {
    pace.pause(Math.min(pauseMs(failures, restMs), askedMs ?? MAX_REST_MS), reason);
  } else pauseAfterFailures(failures, reason, { pace, restMs });
  return { kind: "unavailable", reason: urlReason, status, ...(askedMs !== undefined && { retryAfterMs: askedMs }) };
}

function pauseAfterFailures(failures: number, reason: string, { pace, restMs }: Pick<Sent, "pace" | "restMs">): void {
  if (failures < FAILURES_BEFORE_REST) return;
  pace.pause(pauseMs(failures - FAILURES_BEFORE_REST + 1, restMs), reason);
}

function pauseMs(times: number, restMs: number): number {
  return backoffMs(times, { firstMs: restMs, longestMs: MAX_REST_MS });
}

/** Returns why a successful response cannot be used; undefined if it can. */
function findProblem({ status, headers }: WebResponse, { url: { host }, request }: Sent): WebResult | undefined {
  if (status === 304 && !request.etag && !request.lastModified) {
    return { kind: "unavailable", status, reason: `${host} says "not modified" where nothing was known before` };
  }
  if (request.method === "HEAD" || status < 200 || status > 299) return undefined;
  const bytes = Number(headers.get("content-length") ?? 0);
  if (bytes > request.maxBytes && request.excess !== "cut off") {
    const reason = `it has ${bytes} bytes; the limit is ${request.maxBytes}`;
    return { kind: "refused", why: "too large", reason };
  }
  const coding = headers.get("content-encoding");
  if (readCodings(coding)) return undefined;
  const reason = `its Content-Encoding is not supported: ${coding?.slice(0, 60)}`;
  return { kind: "refused", why: "broken", reason };
}

/** One pace per host. Idle ones are dropped when there are too many. */
interface HostPaces {
  /** `host` includes a non-default port. HTTP and HTTPS of a host share a pace; another port is another server. */
  of(host: string): Pace;
  /** Rejects all waiting requests. */
  close(reason: string): void;
}

const MAX_PACES = 5000;

function createHostPaces(options: PaceOptions): HostPaces {
  const paces = new Map<string, Pace>();
  return {
    of(host) {
      const known = paces.get(host);
      if (known) return known;
      if (paces.size >= MAX_PACES) for (const [name, pace] of paces) if (pace.isIdle()) paces.delete(name);
      const pace = createPace({ ...options, reason: spacingReason(host) });
      paces.set(host, pace);
      return pace;
    },
    close(reason) {
      for (const pace of paces.values()) pace.pause(Number.POSITIVE_INFINITY, reason);
    },
  };
}

function spacingReason(host: string): string {
  return `${host} is requested at a minimum interval`;
}

/** Longest Retry-After that is obeyed. */
const MAX_WAIT_MS = 3_600_000;
/** After this many URLs with Retry-After within this time, the whole host is paused. */
const URLS_BEFORE_HOST_PAUSE = 3;
const WITHIN_MS = 10 * 60_000;
const MAX_URLS = 10_000;
const MAX_HOSTS = 5000;

/** URLs that sent `Retry-After`, and until when they are not requested. */
class DeferredUrls {
  readonly #nowMs: () => number;
  readonly #until = new Map<string, { readonly reason: string; readonly endMs: number }>();
  /** By host: the last URLs that sent it, and when. */
  readonly #recent = new Map<string, ReadonlyMap<string, number>>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Records a Retry-After. Returns whether the whole host should pause: enough of its URLs sent one lately. */
  note({ host, href }: URL, ms: number, reason: string): boolean {
    const now = this.#nowMs();
    this.#until.delete(href);
    this.#until.set(href, { reason, endMs: now + ms });
    if (this.#until.size > MAX_URLS) dropFirst(this.#until);
    const others = [...(this.#recent.get(host) ?? [])].filter(([url, at]) => url !== href && now - at <= WITHIN_MS);
    const recent = new Map([...others, [href, now] as const].slice(-URLS_BEFORE_HOST_PAUSE));
    this.#recent.delete(host);
    this.#recent.set(host, recent);
    if (this.#recent.size > MAX_HOSTS) dropFirst(this.#recent);
    return recent.size >= URLS_BEFORE_HOST_PAUSE;
  }

  /** Returns the remaining wait; undefined if the URL may be requested. */
  of({ href }: URL): Closed | undefined {
    const known = this.#until.get(href);
    if (!known) return undefined;
    const waitMs = Math.ceil(known.endMs - this.#nowMs());
    if (waitMs > 0) return { reason: known.reason, waitMs };
    this.#until.delete(href);
    return undefined;
  }
}

function dropFirst(map: Map<string, unknown>): void {
  const [first] = map.keys();
  if (first !== undefined) map.delete(first);
}

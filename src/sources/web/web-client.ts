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
  /** The whole User-Agent. */
  readonly userAgent: string;
  /** Loopback, link-local, private and metadata addresses may be asked, too. */
  readonly allowPrivateNetworks: boolean;
  readonly requestsPerHost: number;
  /** At least so long between two requests to a host; a crawl delay in its robots.txt may be longer. */
  readonly hostDelayMs: number;
  /** For an answer to begin, and between two pieces of it. */
  readonly timeoutMs: number;
  /** A host that asks to be left alone for longer is not waited for: requests come back at once. */
  readonly patienceMs?: number;
  /** How long a host that is not well is left alone at first, when it does not say itself. */
  readonly restMs?: number;
  /** Asked for the addresses of a host; the system's by default. */
  readonly lookup?: LookupFunction;
  /** By which it waits; the system's by default. */
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
    // Others wait for the same file: it is not called off with whoever asked first.
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
          reason: "only addresses that begin with http:// or https:// can be asked",
        };
      }
      const known = robots.of(url.origin, request.robotsMaxAgeMs);
      const said = known instanceof Promise ? await orCancelled(known, request.signal) : known;
      if (said.kind !== "rules") return said;
      sender.slowDown(url.host, Math.min(said.rules.crawlDelayMs, MAX_CRAWL_DELAY_MS));
      if (!said.rules.allows(`${url.pathname}${url.search}`)) {
        return { kind: "refused", why: "robots", reason: `the robots.txt of ${url.origin} asks not to visit it` };
      }
      return sender.send(url, request);
    },
    async sitemapsOf(origin, signal) {
      const said = await orCancelled(Promise.resolve(robots.of(new URL(origin).origin, SITEMAPS_AGE_MS)), signal);
      if (said.kind !== "rules") throw new RemoteError(said.reason);
      const addresses = said.rules.sitemaps.map((text) => URL.parse(text, origin));
      return addresses.flatMap((url) => (url && /^https?:$/.test(url.protocol) ? [url.href] : []));
    },
    close: () => sender.close(),
  };
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new CancelledError("the request was cancelled", { cause: signal.reason });
}

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

/** Sends requests at the pace of their hosts, and says what their answers mean. Knows nothing of robots.txt. */
interface Sender {
  /** Throws CancelledError when the signal aborts, and nothing else. */
  send(url: URL, request: WebRequest): Promise<WebResult>;
  /** At least so long between two requests to the host. */
  slowDown(host: string, intervalMs: number): void;
  close(): Promise<void>;
}

const USUAL_ACCEPT = "text/html, application/xhtml+xml, */*;q=0.8";
const MAX_CONNECT_MS = 10_000;
/** A server may close an idle connection in the very moment it is used again. */
const MAX_TRIES = 2;

/** A wait that somebody watching would wonder about. */
const WORTH_TELLING_MS = 3000;
/** The same for the same listener: who was told is known by it. */
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
    tellFromMs: WORTH_TELLING_MS,
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
        onOver: slot.release,
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
    reason: `${reason}, so it is left alone for now`,
    retryAfterMs: waitMs,
    isDeferred: true,
  };
}

/** Rejects with the signal's reason when that aborts first. */
function pause({ waitMs, reason }: Closed, clock: PaceClock, { signal, tell }: WebRequest): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason);
  if (tell && waitMs >= WORTH_TELLING_MS) onWaitOf(tell)(reason, waitMs);
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

/** Some servers compare it as text: in the one spelling that all of them write. */
function asHttpDate(instant: string): string {
  return /^\d{4}-/.test(instant) ? new Date(instant).toUTCString() : instant;
}

/** A request that was sent, and how its host is left alone if that went wrong. */
interface Sent {
  readonly url: URL;
  readonly deferred: DeferredUrls;
  readonly request: WebRequest;
  readonly pace: Pace;
  /** undefined: it was never sent. */
  readonly slot: Slot | undefined;
  /** The first rest of a host that does not say itself how long; each further one is twice as long. */
  readonly restMs: number;
}

const MAX_REST_MS = 5 * 60_000;
/** So many requests in a row without an answer, or with one that says no more than "not now", and the host is left alone for a while. */
const FAILURES_BEFORE_REST = 5;
/** "Not now" beside those from 500 on. */
const NOT_NOW: ReadonlySet<number> = new Set([408, 425, 429]);
const TOO_MUCH: ReadonlySet<number> = new Set([429, 503]);

/** What an answer means, for the caller and for the host's pace. One that is not handed on is cancelled. */
function judgeResponse(response: WebResponse, sent: Sent): WebResult {
  const isNotNow = response.status >= 500 || NOT_NOW.has(response.status);
  if (!isNotNow && sent.slot) sent.pace.recordSuccess(sent.slot);
  const problem = isNotNow ? judgeUnavailable(response, sent) : findProblem(response, sent);
  if (problem) void response.cancel();
  return problem ?? response;
}

/** What it means that no answer came. */
function judgeNetworkError(error: unknown, { url: { host }, pace, slot, restMs }: Sent): WebResult {
  if (error instanceof AddressRefused) return { kind: "refused", why: "address", reason: error.message };
  const reason = describeNetworkError(host, error);
  const failures = slot ? pace.recordFailure(slot) : 0;
  pauseAfterFailures(failures, reason, { pace, restMs });
  return { kind: "unavailable", reason };
}

/** A wish to wait is the address's; of several addresses, the host's. "Too many requests" slows the host down whatever it wishes. */
function judgeUnavailable({ status, headers }: WebResponse, { url, deferred, pace, slot, restMs }: Sent): WebResult {
  const wishMs = readRetryAfterMs(headers);
  const askedMs = wishMs === undefined ? undefined : Math.min(wishMs, MAX_WAIT_MS);
  const said = `answered ${status}${askedMs === undefined ? "" : " and asks to wait"}`;
  const reason = `${url.host} ${said}`;
  const own = askedMs === undefined ? reason : `${url.host}${url.pathname}${url.search} ${said}`;
  const failures = slot ? pace.recordFailure(slot) : 0;
  if (status === 429) pace.ease();
  if (askedMs !== undefined && deferred.note(url, askedMs, own)) pace.pause(askedMs, reason);
  else if (failures > 0 && TOO_MUCH.has(status) && (askedMs === undefined || status === 429)) {
    pace.pause(Math.min(pauseMs(failures, restMs), askedMs ?? MAX_REST_MS), reason);
  } else pauseAfterFailures(failures, reason, { pace, restMs });
  return { kind: "unavailable", reason: own, status, ...(askedMs !== undefined && { retryAfterMs: askedMs }) };
}

function pauseAfterFailures(failures: number, reason: string, { pace, restMs }: Pick<Sent, "pace" | "restMs">): void {
  if (failures < FAILURES_BEFORE_REST) return;
  pace.pause(pauseMs(failures - FAILURES_BEFORE_REST + 1, restMs), reason);
}

function pauseMs(times: number, restMs: number): number {
  return backoffMs(times, { firstMs: restMs, longestMs: MAX_REST_MS });
}

/** What keeps a good answer from being taken. */
function findProblem({ status, headers }: WebResponse, { url: { host }, request }: Sent): WebResult | undefined {
  if (status === 304 && !request.etag && !request.lastModified) {
    return { kind: "unavailable", status, reason: `${host} says "not modified" where nothing was known before` };
  }
  if (request.method === "HEAD" || status < 200 || status > 299) return undefined;
  const bytes = Number(headers.get("content-length") ?? 0);
  if (bytes > request.maxBytes && request.excess !== "cut off") {
    const reason = `it has ${bytes} bytes, more than the ${request.maxBytes} that are taken`;
    return { kind: "refused", why: "too large", reason };
  }
  const coding = headers.get("content-encoding");
  if (readCodings(coding)) return undefined;
  const reason = `it is packed in a way that cannot be unpacked here: ${coding?.slice(0, 60)}`;
  return { kind: "refused", why: "broken", reason };
}

/** A pace for each host that was asked; those nobody needs are forgotten when there are too many. */
interface HostPaces {
  /** With the port where it is an unusual one: http and https of a host are one server, another port is another. */
  of(host: string): Pace;
  /** Turns away everybody who waits. */
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
  return `${host} wants time between two requests`;
}

/** Nobody is left alone for longer, whatever he asks for. */
const MAX_WAIT_MS = 3_600_000;
/** So many addresses of a host that ask within this time speak for the host. */
const ADDRESSES_OF_A_HOST = 3;
const WITHIN_MS = 10 * 60_000;
const MAX_URLS = 10_000;
const MAX_HOSTS = 5000;

/** Which addresses asked to be left alone for a while (`Retry-After`). */
class DeferredUrls {
  readonly #nowMs: () => number;
  readonly #until = new Map<string, { readonly reason: string; readonly endMs: number }>();
  /** Of each host the last addresses that asked, and when. */
  readonly #recent = new Map<string, ReadonlyMap<string, number>>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** Returns whether the whole host is to be left alone: enough others of it asked lately, too. */
  note({ host, href }: URL, ms: number, reason: string): boolean {
    const now = this.#nowMs();
    this.#until.delete(href);
    this.#until.set(href, { reason, endMs: now + ms });
    if (this.#until.size > MAX_URLS) dropFirst(this.#until);
    const others = [...(this.#recent.get(host) ?? [])].filter(([url, at]) => url !== href && now - at <= WITHIN_MS);
    const recent = new Map([...others, [href, now] as const].slice(-ADDRESSES_OF_A_HOST));
    this.#recent.delete(host);
    this.#recent.set(host, recent);
    if (this.#recent.size > MAX_HOSTS) dropFirst(this.#recent);
    return recent.size >= ADDRESSES_OF_A_HOST;
  }

  /** undefined: it may be asked. */
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

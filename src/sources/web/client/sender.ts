import type { LookupFunction } from "node:net";
import { promisify } from "node:util";
import type { Agent, Dispatcher } from "undici";
import { CancelledError, explain } from "../../../contracts/errors.ts";
import { BodyError, type Tell, type WebAnswer, type WebRequest, type WebResponse } from "../../../contracts/web.ts";
import { backoffMs } from "../../../lib/backoff.ts";
import { later } from "../../../lib/later.ts";
import { oncePer } from "../../../lib/once-per.ts";
import {
  type Closed,
  createPace,
  type OnWait,
  type Pace,
  type PaceClock,
  type PaceOptions,
  type Slot,
  SYSTEM_CLOCK,
} from "../../../lib/pace.ts";
import { createProxyAgent } from "../../../lib/proxy-agent.ts";
import { readRetryAfterMs } from "../../../lib/retry-after.ts";
import { AddressRefused, isLiteralAddress, mayBePublicHost, onlyPublic, refuseAddress } from "./address-filter.ts";
import { AskedToWait, MAX_WAIT_MS } from "./asked-to-wait.ts";
import { describeTrouble, isBrokenLine } from "./line-trouble.ts";
import { ACCEPTED_CODINGS, notWhole, readCodings, tooLarge, unpackBody } from "./unpack-body.ts";

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
  send(url: URL, request: WebRequest): Promise<WebAnswer>;
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
const onWaitOf = oncePer(
  (tell: Tell): OnWait =>
    (reason, ms) =>
      tell(`Waiting ${Math.ceil(ms / 1000)} s: ${reason}`),
);

export function createSender(options: SenderOptions): Sender {
  const { requestsPerHost, timeoutMs, restMs, patienceMs } = options;
  const line = openLine({
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
  const waits = new AskedToWait(clock.nowMs);

  async function send(url: URL, request: WebRequest, triesLeft: number): Promise<WebAnswer> {
    const { method, maxBytes, excess = "refused", signal, tell } = request;
    const { host, hostname } = url;
    const pace = paces.of(host);
    const sent = { url, waits, request, pace, restMs };
    let slot: Slot | undefined;
    try {
      await line.check(hostname);
      const bound = waits.of(url);
      if (bound && bound.waitMs > patienceMs) return unasked(bound);
      if (bound) await pause(bound, clock, request);
      const entered = await pace.acquire(signal, tell && onWaitOf(tell));
      if ("waitMs" in entered) return unasked(entered);
      slot = entered;
      const { cookies } = request;
      const headers = headersOf(url, request, options.userAgent);
      const onCookies = cookies && ((fields: readonly string[]) => cookies.take(url, fields));
      const order = { url, method, headers, maxBytes, excess, timeoutMs, signal, onCookies, onOver: slot.release };
      return judgeResponse(await exchange(line.dispatcher, order), { ...sent, slot });
    } catch (error) {
      if (signal.aborted) throw new CancelledError("the request was cancelled", { cause: error });
      if (triesLeft > 1 && isBrokenLine(error)) return send(url, request, triesLeft - 1);
      return judgeSilence(error, { ...sent, slot });
    }
  }

  return {
    send: (url, request) => send(url, request, MAX_TRIES),
    slowDown: (host, intervalMs) => paces.of(host).space(intervalMs, spacingReason(host)),
    async close() {
      paces.close("the web client was closed");
      await line.dispatcher.destroy();
    },
  };
}

function unasked({ reason, waitMs }: Closed): WebAnswer {
  return {
    kind: "unavailable",
    reason: `${reason}, so it is left alone for now`,
    retryAfterMs: waitMs,
    isUnasked: true,
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

interface Order {
  readonly url: URL;
  readonly method: "GET" | "HEAD";
  readonly headers: Readonly<Record<string, string>>;
  readonly maxBytes: number;
  readonly excess: "refused" | "cut off";
  /** For the connection and the headers, and then between two pieces of the body. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Hears what is in `Set-Cookie`. */
  readonly onCookies?: ((fields: readonly string[]) => void) | undefined;
  /** Called once, when nothing more is under way, however it ended. */
  readonly onOver: () => void;
}

/** A body that brings less than this each second, over its whole time, only keeps the line busy. */
const MIN_BYTES_PER_SECOND = 16 * 1024;
/** Kept before anybody asks for the body; small pages need no second look at the socket. */
const EAGER_BYTES = 64 * 1024;
/** A rest as small as this is read to keep the connection; for more a new one is cheaper. */
const DRAIN_BYTES = 64 * 1024;

/** One request on the wire. Rejects when no answer begins; what happens to the body is told by `body()`. */
function exchange(line: Dispatcher, order: Order): Promise<WebResponse> {
  return new Promise((resolve, reject) => {
    const handler = new Exchange(order, resolve, reject);
    const { url, method, headers } = order;
    line.dispatch({ origin: url.origin, path: `${url.pathname}${url.search}`, method, headers }, handler);
  });
}

class Exchange implements Dispatcher.DispatchHandler, WebResponse {
  readonly kind = "response";
  status = 0;
  headers: ReadonlyMap<string, string> = new Map();
  readonly #order: Order;
  readonly #resolve: (response: WebResponse) => void;
  readonly #reject: (error: unknown) => void;
  readonly #onAbort = (): void => this.#stop(new CancelledError("the request was cancelled"));
  #controller: Dispatcher.DispatchController | undefined;
  #timer: NodeJS.Timeout;
  #startedAt = performance.now();
  #heardAt = this.#startedAt;
  #pieces: Uint8Array[] = [];
  #received = 0;
  #use: "none" | "read" | "discarded" = "none";
  #end: { readonly error?: unknown } | undefined;
  #told: (() => void) | undefined;

  constructor(order: Order, resolve: (response: WebResponse) => void, reject: (error: unknown) => void) {
    this.#order = order;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => this.#checkPace(), order.timeoutMs);
    order.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#end) controller.abort(new CancelledError("the request was cancelled"));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200 || this.#end) return;
    this.status = status;
    this.headers = readHeaders(headers);
    const cookies = headers["set-cookie"];
    if (cookies) this.#order.onCookies?.([cookies].flat());
    this.#startedAt = this.#heardAt = performance.now();
    this.#resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Uint8Array): void {
    this.#received += piece.byteLength;
    this.#heardAt = performance.now();
    if (this.#use === "discarded") {
      if (this.#received > DRAIN_BYTES) this.#stop(undefined);
      return;
    }
    const excess = this.#received - this.#order.maxBytes;
    if (excess > 0 && !this.#isCutOff) {
      this.#stop(tooLarge(this.#order.maxBytes));
      return;
    }
    this.#pieces.push(excess > 0 ? piece.subarray(0, -excess) : piece);
    if (excess > 0) this.#stop(undefined);
    else if (this.#use === "none" && this.#received > EAGER_BYTES) controller.pause();
  }

  onResponseEnd(): void {
    this.#finish({});
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish({ error });
  }

  async body(): Promise<Uint8Array> {
    if (this.#use !== "none") throw new Error("the body was taken already");
    this.#use = "read";
    if (!this.#end) {
      this.#controller?.resume();
      await new Promise<void>((told) => {
        this.#told = told;
      });
    }
    const pieces = this.#pieces;
    this.#pieces = [];
    try {
      if (this.#end?.error) throw this.#end.error;
      const [only] = pieces;
      const packed = pieces.length === 1 && only ? only : Buffer.concat(pieces);
      const codings = readCodings(this.headers.get("content-encoding"));
      if (!codings) throw new BodyError("it is packed in a way that cannot be unpacked here", "broken");
      return codings.length === 0 ? packed : await unpackBody(packed, codings, this.#order.maxBytes);
    } catch (error) {
      throw this.#bodyFailure(error);
    }
  }

  async cancel(): Promise<void> {
    if (this.#end || this.#use === "read") return;
    this.#use = "discarded";
    this.#pieces = [];
    if (Number(this.headers.get("content-length") ?? 0) > DRAIN_BYTES) this.#stop(undefined);
    else this.#controller?.resume();
  }

  /** The beginning of packed bytes may not unpack to anything. */
  get #isCutOff(): boolean {
    return this.#order.excess === "cut off" && readCodings(this.headers.get("content-encoding"))?.length === 0;
  }

  #bodyFailure(error: unknown): Error {
    if (error instanceof CancelledError) return error;
    const cause = error instanceof BodyError ? error : notWhole(error);
    const { origin, pathname } = this.#order.url;
    return new BodyError(`read ${origin}${pathname}: ${explain(cause)}`, cause.why, { cause: error });
  }

  #checkPace(): void {
    const { timeoutMs } = this.#order;
    const paceMs = timeoutMs + (this.#received / MIN_BYTES_PER_SECOND) * 1000;
    const leftMs = Math.min(this.#heardAt + timeoutMs, this.#startedAt + paceMs) - performance.now();
    if (leftMs > 0) this.#timer = setTimeout(() => this.#checkPace(), Math.ceil(leftMs));
    else this.#stop(new Error(this.status === 0 ? "no answer within the time limit" : "it took too long"));
  }

  /** Breaks the connection off: what else would come is not wanted. */
  #stop(error: Error | undefined): void {
    this.#finish(error ? { error } : {});
    this.#controller?.abort(error ?? new CancelledError("the rest is not wanted"));
  }

  #finish(end: { readonly error?: unknown }): void {
    if (this.#end) return;
    this.#end = end;
    clearTimeout(this.#timer);
    this.#order.signal.removeEventListener("abort", this.#onAbort);
    this.#order.onOver();
    if (this.status === 0) this.#reject(end.error);
    else this.#told?.();
  }
}

/** Fields that mean nothing twice: some servers and their proxies both set them. */
const SINGLE: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "date",
  "etag",
  "expires",
  "last-modified",
  "location",
  "retry-after",
]);
/** Addresses are sent in UTF-8 where they are not escaped. Validators are given back byte by byte, and so stay as they came. */
const IN_UTF8: ReadonlySet<string> = new Set(["location", "link"]);

/** Several fields of a name are one, joined as HTTP says. Cookies are nobody's business here. */
function readHeaders(fields: Record<string, string | string[] | undefined>): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const [field, value] of Object.entries(fields)) {
    const name = field.toLowerCase();
    if (value === undefined || name === "set-cookie") continue;
    const one = typeof value === "string" ? value : SINGLE.has(name) ? (value[0] ?? "") : value.join(", ");
    headers.set(name, IN_UTF8.has(name) ? fromUtf8(one) : one);
  }
  return headers;
}

function fromUtf8(bytes: string): string {
  if (!/[^\0-\x7f]/.test(bytes)) return bytes;
  const text = Buffer.from(bytes, "latin1").toString("utf8");
  return text.includes("\ufffd") ? bytes : text;
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

/** A request that was sent, and how its host is left alone if that went wrong. */
interface Sent {
  readonly url: URL;
  readonly waits: AskedToWait;
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
function judgeResponse(response: WebResponse, sent: Sent): WebAnswer {
  const isNotNow = response.status >= 500 || NOT_NOW.has(response.status);
  if (!isNotNow && sent.slot) sent.pace.recordSuccess(sent.slot);
  const problem = isNotNow ? notNow(response, sent) : findProblem(response, sent);
  if (problem) void response.cancel();
  return problem ?? response;
}

/** What it means that no answer came. */
function judgeSilence(error: unknown, { url: { host }, pace, slot, restMs }: Sent): WebAnswer {
  if (error instanceof AddressRefused) return { kind: "refused", why: "address", reason: error.message };
  const reason = describeTrouble(host, error);
  const failures = slot ? pace.recordFailure(slot) : 0;
  restAfterMany(failures, reason, { pace, restMs });
  return { kind: "unavailable", reason };
}

/** A wish to wait is the address's; of several addresses, the host's. "Too many requests" slows the host down whatever it wishes. */
function notNow({ status, headers }: WebResponse, { url, waits, pace, slot, restMs }: Sent): WebAnswer {
  const wishMs = readRetryAfterMs(headers);
  const askedMs = wishMs === undefined ? undefined : Math.min(wishMs, MAX_WAIT_MS);
  const said = `answered ${status}${askedMs === undefined ? "" : " and asks to wait"}`;
  const reason = `${url.host} ${said}`;
  const own = askedMs === undefined ? reason : `${url.host}${url.pathname}${url.search} ${said}`;
  const failures = slot ? pace.recordFailure(slot) : 0;
  if (status === 429) pace.ease();
  if (askedMs !== undefined && waits.note(url, askedMs, own)) pace.pause(askedMs, reason);
  else if (failures > 0 && TOO_MUCH.has(status) && (askedMs === undefined || status === 429)) {
    pace.pause(Math.min(restFor(failures, restMs), askedMs ?? MAX_REST_MS), reason);
  } else restAfterMany(failures, reason, { pace, restMs });
  return { kind: "unavailable", reason: own, status, ...(askedMs !== undefined && { retryAfterMs: askedMs }) };
}

function restAfterMany(failures: number, reason: string, { pace, restMs }: Pick<Sent, "pace" | "restMs">): void {
  if (failures < FAILURES_BEFORE_REST) return;
  pace.pause(restFor(failures - FAILURES_BEFORE_REST + 1, restMs), reason);
}

function restFor(times: number, restMs: number): number {
  return backoffMs(times, { firstMs: restMs, longestMs: MAX_REST_MS });
}

/** What keeps a good answer from being taken. */
function findProblem({ status, headers }: WebResponse, { url: { host }, request }: Sent): WebAnswer | undefined {
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

interface LineOptions {
  readonly allowPrivateNetworks: boolean;
  readonly connectionsPerOrigin: number;
  readonly connectMs: number;
  readonly lookup?: LookupFunction | undefined;
}

/** The way to all servers: one dispatcher, which connects to public addresses only unless others are allowed. */
interface Line {
  /** Its requests fail with AddressRefused where the address that would be connected to is not public. */
  readonly dispatcher: Dispatcher;
  /**
   * To be called before a request; throws AddressRefused. What a proxy connects to cannot be seen from here, so with one
   * the host is looked up, too; a host without addresses fails, because nobody could tell where it leads.
   */
  check(hostname: string): Promise<void> | undefined;
}

const undici = later<typeof import("undici")>("undici");
const PROXY_SETTINGS = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"];
const MAX_HEADER_BYTES = 64 * 1024;

function openLine({ allowPrivateNetworks, connectionsPerOrigin, connectMs, lookup }: LineOptions): Line {
  const isProxied = PROXY_SETTINGS.some((name) => process.env[name]);
  const guarded = onlyPublic(lookup);
  const used = allowPrivateNetworks ? lookup : guarded;
  const connector = undici().buildConnector({ timeout: connectMs, allowH2: false, ...(used && { lookup: used }) });
  const options: Agent.Options = {
    // Literal addresses are not looked up, so they are judged here.
    connect: (target, callback) =>
      allowPrivateNetworks || mayBePublicHost(target.hostname)
        ? connector(target, callback)
        : callback(refuseAddress(target.hostname), null),
    connections: connectionsPerOrigin,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Exchange has a clock of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Over HTTP/1.1 a cut body is always recognisable by its length or its last chunk.
    allowH2: false,
  };
  return {
    dispatcher: isProxied ? createProxyAgent(options) : new (undici().Agent)(options),
    check(hostname) {
      if (allowPrivateNetworks) return undefined;
      if (!mayBePublicHost(hostname)) throw refuseAddress(hostname);
      return isProxied && !isLiteralAddress(hostname) ? lookUp(guarded, hostname) : undefined;
    },
  };
}

async function lookUp(guarded: LookupFunction, hostname: string): Promise<void> {
  try {
    await promisify(guarded)(hostname, { all: true });
  } catch (error) {
    if (error instanceof AddressRefused) throw error;
    const way = "WEB_ALLOW_PRIVATE_NETWORKS=true leaves that to the proxy";
    throw new Error(`it cannot be looked up here, so nobody can tell whether its address is a public one; ${way}`, {
      cause: error,
    });
  }
}

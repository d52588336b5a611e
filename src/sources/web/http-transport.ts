import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { promisify } from "node:util";
import { brotliDecompress, constants, gunzip, inflate, inflateRaw, zstdDecompress } from "node:zlib";
import ipaddr from "ipaddr.js";
import type { Agent, Dispatcher } from "undici";
import { CancelledError, explain } from "../../contracts/errors.ts";
import { BodyError, type WebResponse } from "../../contracts/web.ts";
import { errorCode, explainNetwork } from "../../lib/explain-network.ts";
import { later } from "../../lib/later.ts";
import { createProxyAgent } from "../../lib/proxy-agent.ts";
import { trimEnd } from "../../lib/text.ts";

interface TransportOptions {
  readonly allowPrivateNetworks: boolean;
  readonly connectionsPerOrigin: number;
  readonly connectMs: number;
  readonly lookup?: LookupFunction | undefined;
}

/** Connects to all servers through one dispatcher; to public addresses only, unless private networks are allowed. */
interface HttpTransport {
  /** Its requests fail with AddressRefused if the resolved address is not public. */
  readonly dispatcher: Dispatcher;
  /**
   * Call it before each request; throws AddressRefused. With a proxy the dispatcher does not see the target's address, so
   * the host is resolved here, too; a failed lookup throws, because the address may be private.
   */
  check(hostname: string): Promise<void> | undefined;
}

const undici = later<typeof import("undici")>("undici");
const PROXY_SETTINGS = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"];
const MAX_HEADER_BYTES = 64 * 1024;

export function openTransport({
  allowPrivateNetworks,
  connectionsPerOrigin,
  connectMs,
  lookup,
}: TransportOptions): HttpTransport {
  const isProxied = PROXY_SETTINGS.some((name) => process.env[name]);
  const guarded = onlyPublic(lookup);
  const used = allowPrivateNetworks ? lookup : guarded;
  const connector = undici().buildConnector({ timeout: connectMs, allowH2: false, ...(used && { lookup: used }) });
  const options: Agent.Options = {
    // Literal addresses skip the lookup, so they are checked here.
    connect: (target, callback) =>
      allowPrivateNetworks || mayBePublicHost(target.hostname)
        ? connector(target, callback)
        : callback(refuseAddress(target.hostname), null),
    connections: connectionsPerOrigin,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Exchange has its own timer.
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
      return isProxied && !isLiteralAddress(hostname) ? resolvePublic(guarded, hostname) : undefined;
    },
  };
}

/** Throws AddressRefused if the host has a private address, and an Error if it cannot be resolved. */
async function resolvePublic(guarded: LookupFunction, hostname: string): Promise<void> {
  try {
    await promisify(guarded)(hostname, { all: true });
  } catch (error) {
    if (error instanceof AddressRefused) throw error;
    const remedy = "WEB_ALLOW_PRIVATE_NETWORKS=true leaves the check to the proxy";
    throw new Error(`resolve '${hostname}': DNS lookup failed, it may be a private address; ${remedy}`, {
      cause: error,
    });
  }
}

interface HttpRequest {
  readonly url: URL;
  readonly method: "GET" | "HEAD";
  readonly headers: Readonly<Record<string, string>>;
  readonly maxBytes: number;
  readonly excess: "refused" | "cut off";
  /** Limit for connecting and receiving the headers, then for each pause between two chunks of the body. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Receives the `Set-Cookie` fields. */
  readonly onCookies?: ((fields: readonly string[]) => void) | undefined;
  /** Called once when the exchange is over, whether it succeeded or failed. */
  readonly onClosed: () => void;
}

/** Minimum average rate of a body; a slower one is aborted because it only occupies a connection. */
const MIN_BYTES_PER_SECOND = 16 * 1024;
/** Buffered before `body()` is called; reading then pauses. Small pages arrive without a pause. */
const EAGER_BYTES = 64 * 1024;
/** A discarded body up to this size is read to the end so that the connection can be reused; a larger one is aborted. */
const DRAIN_BYTES = 64 * 1024;

/** Sends one request. Rejects if no response begins; errors of the body are thrown by `body()`. */
export function exchange(dispatcher: Dispatcher, request: HttpRequest): Promise<WebResponse> {
  return new Promise((resolve, reject) => {
    const handler = new Exchange(request, resolve, reject);
    const { url, method, headers } = request;
    dispatcher.dispatch({ origin: url.origin, path: `${url.pathname}${url.search}`, method, headers }, handler);
  });
}

class Exchange implements Dispatcher.DispatchHandler, WebResponse {
  readonly kind = "response";
  status = 0;
  headers: ReadonlyMap<string, string> = new Map();
  readonly #request: HttpRequest;
  readonly #resolve: (response: WebResponse) => void;
  readonly #reject: (error: unknown) => void;
  readonly #onAbort = (): void => this.#abort(new CancelledError("the request was cancelled"));
  #controller: Dispatcher.DispatchController | undefined;
  #timer: NodeJS.Timeout;
  #startedAt = performance.now();
  #receivedAt = this.#startedAt;
  #pieces: Uint8Array[] = [];
  #received = 0;
  #use: "none" | "read" | "discarded" = "none";
  #end: { readonly error?: unknown } | undefined;
  #onEnd: (() => void) | undefined;

  constructor(request: HttpRequest, resolve: (response: WebResponse) => void, reject: (error: unknown) => void) {
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(() => this.#checkPace(), request.timeoutMs);
    request.signal.addEventListener("abort", this.#onAbort, { once: true });
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
    if (cookies) this.#request.onCookies?.([cookies].flat());
    this.#startedAt = this.#receivedAt = performance.now();
    this.#resolve(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Uint8Array): void {
    this.#received += piece.byteLength;
    this.#receivedAt = performance.now();
    if (this.#use === "discarded") {
      if (this.#received > DRAIN_BYTES) this.#abort(undefined);
      return;
    }
    const excess = this.#received - this.#request.maxBytes;
    if (excess > 0 && !this.#isCutOff) {
      this.#abort(tooLarge(this.#request.maxBytes));
      return;
    }
    this.#pieces.push(excess > 0 ? piece.subarray(0, -excess) : piece);
    if (excess > 0) this.#abort(undefined);
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
      await new Promise<void>((resolve) => {
        this.#onEnd = resolve;
      });
    }
    const pieces = this.#pieces;
    this.#pieces = [];
    try {
      if (this.#end?.error) throw this.#end.error;
      const [only] = pieces;
      const packed = pieces.length === 1 && only ? only : Buffer.concat(pieces);
      const codings = readCodings(this.headers.get("content-encoding"));
      if (!codings) throw new BodyError("its Content-Encoding is not supported", "broken");
      return codings.length === 0 ? packed : await unpackBody(packed, codings, this.#request.maxBytes);
    } catch (error) {
      throw this.#bodyFailure(error);
    }
  }

  async cancel(): Promise<void> {
    if (this.#end || this.#use === "read") return;
    this.#use = "discarded";
    this.#pieces = [];
    if (Number(this.headers.get("content-length") ?? 0) > DRAIN_BYTES) this.#abort(undefined);
    else this.#controller?.resume();
  }

  /** Whether an oversized body is truncated. A compressed one is not: its beginning may not decompress. */
  get #isCutOff(): boolean {
    return this.#request.excess === "cut off" && readCodings(this.headers.get("content-encoding"))?.length === 0;
  }

  #bodyFailure(error: unknown): Error {
    if (error instanceof CancelledError) return error;
    const cause = error instanceof BodyError ? error : notWhole(error);
    const { origin, pathname } = this.#request.url;
    return new BodyError(`read ${origin}${pathname}: ${explain(cause)}`, cause.why, { cause: error });
  }

  /** Aborts when nothing arrived for `timeoutMs`, or the average rate is below the minimum; else sets the timer again. */
  #checkPace(): void {
    const { timeoutMs } = this.#request;
    const paceMs = timeoutMs + (this.#received / MIN_BYTES_PER_SECOND) * 1000;
    const leftMs = Math.min(this.#receivedAt + timeoutMs, this.#startedAt + paceMs) - performance.now();
    if (leftMs > 0) this.#timer = setTimeout(() => this.#checkPace(), Math.ceil(leftMs));
    else this.#abort(new Error(this.status === 0 ? "no answer within the time limit" : "it took too long"));
  }

  /** Ends the exchange and aborts the connection. Without `error` it counts as finished. */
  #abort(error: Error | undefined): void {
    this.#finish(error ? { error } : {});
    this.#controller?.abort(error ?? new CancelledError("the rest is not wanted"));
  }

  #finish(end: { readonly error?: unknown }): void {
    if (this.#end) return;
    this.#end = end;
    clearTimeout(this.#timer);
    this.#request.signal.removeEventListener("abort", this.#onAbort);
    this.#request.onClosed();
    if (this.status === 0) this.#reject(end.error);
    else this.#onEnd?.();
  }
}

/** Fields that occur once. Some servers and their proxies both set them: the first one counts. */
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
/** Unescaped URLs are sent in UTF-8. Validators are sent back byte by byte and stay latin1. */
const IN_UTF8: ReadonlySet<string> = new Set(["location", "link"]);

/** Joins repeated fields with a comma, as HTTP says. Leaves out cookies, which `onCookies` receives. */
function readHeaders(fields: Record<string, string | string[] | undefined>): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const [field, value] of Object.entries(fields)) {
    const name = field.toLowerCase();
    if (value === undefined || name === "set-cookie") continue;
    const text = typeof value === "string" ? value : SINGLE.has(name) ? (value[0] ?? "") : value.join(", ");
    headers.set(name, IN_UTF8.has(name) ? fromUtf8(text) : text);
  }
  return headers;
}

function fromUtf8(bytes: string): string {
  if (!/[^\0-\x7f]/.test(bytes)) return bytes;
  const text = Buffer.from(bytes, "latin1").toString("utf8");
  return text.includes("\ufffd") ? bytes : text;
}

type Unpack = (bytes: Uint8Array, limit: { maxOutputLength: number }) => Promise<Uint8Array>;

const GUNZIP: Unpack = promisify(gunzip);
const INFLATE: Unpack = promisify(inflate);
const INFLATE_RAW: Unpack = promisify(inflateRaw);
const UNZSTD: (bytes: Uint8Array, options: object) => Promise<Uint8Array> = promisify(zstdDecompress);
/** RFC 9659: the web needs no window above 8 MiB; it is allocated before the first byte is decompressed. */
const ZSTD_WINDOW = { [constants.ZSTD_d_windowLogMax]: 23 };

const CODINGS: ReadonlyMap<string, Unpack> = new Map([
  ["gzip", GUNZIP],
  ["x-gzip", GUNZIP],
  // Servers send it with and without the two-byte zlib header.
  ["deflate", (bytes, limit) => (hasZlibHeader(bytes) ? INFLATE : INFLATE_RAW)(bytes, limit)],
  ["br", promisify(brotliDecompress)],
  ["zstd", (bytes, limit) => UNZSTD(bytes, { ...limit, params: ZSTD_WINDOW })],
]);

export const ACCEPTED_CODINGS = "gzip, br, zstd, deflate";
const MAX_CODINGS = 3;

/** Returns the codings in the order they were applied; undefined if one is unknown or there are too many. */
export function readCodings(contentEncoding: string | undefined): readonly string[] | undefined {
  if (!contentEncoding) return [];
  const names = contentEncoding.split(",").map((name) => name.trim().toLowerCase());
  const codings = names.filter((name) => name !== "" && name !== "identity");
  return codings.length <= MAX_CODINGS && codings.every((name) => CODINGS.has(name)) ? codings : undefined;
}

/** Decompresses a body. Throws BodyError if the output would exceed `maxBytes`, or is damaged. */
async function unpackBody(packed: Uint8Array, codings: readonly string[], maxBytes: number): Promise<Uint8Array> {
  let bytes = packed;
  for (const coding of codings.toReversed()) {
    const unpack = CODINGS.get(coding);
    if (bytes.byteLength === 0 || !unpack) return bytes;
    try {
      bytes = await unpack(bytes, { maxOutputLength: maxBytes });
    } catch (error) {
      throw unpackError(error, coding, maxBytes);
    }
  }
  return bytes;
}

export function tooLarge(maxBytes: number): BodyError {
  return new BodyError(`it is larger than the limit of ${maxBytes} bytes`, "too large");
}

function notWhole(cause?: unknown): BodyError {
  return new BodyError("it was not received completely", "unavailable", { cause });
}

function unpackError(error: unknown, coding: string, maxBytes: number): BodyError {
  const code = errorCode(error);
  if (code === "ERR_BUFFER_TOO_LARGE") return tooLarge(maxBytes);
  if (code === "Z_BUF_ERROR") return notWhole(error);
  return new BodyError(`it cannot be decompressed (${coding})`, "broken", { cause: error });
}

function hasZlibHeader(bytes: Uint8Array): boolean {
  const [method = 0, flags = 0] = bytes;
  return (method & 0x0f) === 8 && ((method << 8) | flags) % 31 === 0;
}

/** Public addresses of cloud infrastructure: at this one, Azure's host returns credentials. */
const CLOUD_ADDRESSES: ReadonlySet<string> = new Set(["168.63.129.16"]);

/** The host has no public address. The message is for users. */
export class AddressRefused extends Error {
  override readonly name: string = "AddressRefused";
}

function refuseAddress(host: string): AddressRefused {
  return new AddressRefused(
    `${host} is not a public address of the internet, and only those are requested; WEB_ALLOW_PRIVATE_NETWORKS=true permits the others`,
  );
}

/** Whether an address is reachable from the internet. An embedded IPv4 address decides; doubtful ranges are not public. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === "ipv4") return parsed.range() === "unicast" && !CLOUD_ADDRESSES.has(parsed.toString());
  const bytes = parsed.toByteArray();
  switch (parsed.range()) {
    case "unicast":
      // Only 2000::/3 is allocated; IPv4-compatible addresses, for example, lie outside.
      return (bytes[0] ?? 0) >> 5 === 1;
    case "ipv4Mapped":
      return isPublicAddress(bytes.slice(12).join("."));
    case "rfc6052":
      // 64:ff9b:1::/48 is for local networks.
      return parsed.match(ipaddr.parseCIDR("64:ff9b::/96")) && isPublicAddress(bytes.slice(12).join("."));
    case "6to4":
      return isPublicAddress(bytes.slice(2, 6).join("."));
    default:
      return false;
  }
}

/** `hostname` as in a URL: IPv6 in brackets. */
function isLiteralAddress(hostname: string): boolean {
  return isIP(withoutBrackets(hostname)) !== 0;
}

/** Checks a host without a lookup: false for literal addresses that are not public, and for localhost. */
export function mayBePublicHost(hostname: string): boolean {
  const name = trimEnd(hostname.toLowerCase(), ".");
  if (name === "localhost" || name.endsWith(".localhost")) return false;
  return !isLiteralAddress(name) || isPublicAddress(withoutBrackets(name));
}

function withoutBrackets(hostname: string): string {
  return hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname;
}

/** Wraps a lookup. Fails unless all addresses of the host are public, because the connector may choose any of them. */
function onlyPublic(lookup: LookupFunction = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, addresses, family) => {
      if (error) return callback(error, addresses, family);
      const all = typeof addresses === "string" ? [addresses] : addresses.map(({ address }) => address);
      if (all.length > 0 && all.every(isPublicAddress)) callback(null, addresses, family);
      else callback(refuseAddress(hostname), []);
    });
  };
}

const NOT_HTTP = /^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES)/;
const CONNECTION_LOST = /^(UND_ERR_SOCKET|ECONNRESET|EPIPE)$/;

/** Whether the connection broke before a response began. A server may close an idle connection just as it is reused: retry. */
export function isConnectionLost(error: unknown): boolean {
  return CONNECTION_LOST.test(errorCode(error));
}

/** Returns a sentence for users. It names only the host: the rest of the URL may hold secrets. */
export function describeNetworkError(host: string, error: unknown): string {
  const code = errorCode(error);
  const isGarbled = NOT_HTTP.test(code) || (error instanceof Error && error.name === "HTTPParserError");
  if (isGarbled) return `${host} does not speak HTTP (${code || "no HTTP"})`;
  return `reach ${host}: ${explainNetwork(code) ?? (error instanceof Error ? error.message : String(error))}`;
}

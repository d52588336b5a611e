import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { promisify } from "node:util";
import { brotliDecompress, constants, gunzip, inflate, inflateRaw, zstdDecompress } from "node:zlib";
import ipaddr from "ipaddr.js";
import type { Agent, Dispatcher } from "undici";
import { CancelledError, explain } from "../../contracts/errors.ts";
import { BodyError, type WebResponse } from "../../contracts/web.ts";
import { later } from "../../lib/later.ts";
import { createProxyAgent } from "../../lib/proxy-agent.ts";
import { trimEnd } from "../../lib/text.ts";

interface TransportOptions {
  readonly allowPrivateNetworks: boolean;
  readonly connectionsPerOrigin: number;
  readonly connectMs: number;
  readonly lookup?: LookupFunction | undefined;
}

/** The way to all servers: one dispatcher, which connects to public addresses only unless others are allowed. */
interface HttpTransport {
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
      return isProxied && !isLiteralAddress(hostname) ? resolvePublic(guarded, hostname) : undefined;
    },
  };
}

async function resolvePublic(guarded: LookupFunction, hostname: string): Promise<void> {
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

interface HttpRequest {
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
  readonly #onAbort = (): void => this.#stop(new CancelledError("the request was cancelled"));
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
      if (this.#received > DRAIN_BYTES) this.#stop(undefined);
      return;
    }
    const excess = this.#received - this.#request.maxBytes;
    if (excess > 0 && !this.#isCutOff) {
      this.#stop(tooLarge(this.#request.maxBytes));
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
        this.#onEnd = told;
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
      return codings.length === 0 ? packed : await unpackBody(packed, codings, this.#request.maxBytes);
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
    return this.#request.excess === "cut off" && readCodings(this.headers.get("content-encoding"))?.length === 0;
  }

  #bodyFailure(error: unknown): Error {
    if (error instanceof CancelledError) return error;
    const cause = error instanceof BodyError ? error : notWhole(error);
    const { origin, pathname } = this.#request.url;
    return new BodyError(`read ${origin}${pathname}: ${explain(cause)}`, cause.why, { cause: error });
  }

  #checkPace(): void {
    const { timeoutMs } = this.#request;
    const paceMs = timeoutMs + (this.#received / MIN_BYTES_PER_SECOND) * 1000;
    const leftMs = Math.min(this.#receivedAt + timeoutMs, this.#startedAt + paceMs) - performance.now();
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
    this.#request.signal.removeEventListener("abort", this.#onAbort);
    this.#request.onOver();
    if (this.status === 0) this.#reject(end.error);
    else this.#onEnd?.();
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

type Unpack = (bytes: Uint8Array, limit: { maxOutputLength: number }) => Promise<Uint8Array>;

const GUNZIP: Unpack = promisify(gunzip);
const INFLATE: Unpack = promisify(inflate);
const INFLATE_RAW: Unpack = promisify(inflateRaw);
const UNZSTD: (bytes: Uint8Array, options: object) => Promise<Uint8Array> = promisify(zstdDecompress);
/** RFC 9659: on the web nobody needs a window larger than 8 MiB, which is memory taken before a byte comes out. */
const ZSTD_WINDOW = { [constants.ZSTD_d_windowLogMax]: 23 };

const CODINGS: ReadonlyMap<string, Unpack> = new Map([
  ["gzip", GUNZIP],
  ["x-gzip", GUNZIP],
  // Servers send it with and without the two bytes of zlib in front.
  ["deflate", (bytes, limit) => (hasZlibHeader(bytes) ? INFLATE : INFLATE_RAW)(bytes, limit)],
  ["br", promisify(brotliDecompress)],
  ["zstd", (bytes, limit) => UNZSTD(bytes, { ...limit, params: ZSTD_WINDOW })],
]);

export const ACCEPTED_CODINGS = "gzip, br, zstd, deflate";
const MAX_CODINGS = 3;

/** The codings in the order they were applied; undefined when there is one that nobody here knows, or suspiciously many. */
export function readCodings(contentEncoding: string | undefined): readonly string[] | undefined {
  if (!contentEncoding) return [];
  const names = contentEncoding.split(",").map((name) => name.trim().toLowerCase());
  const codings = names.filter((name) => name !== "" && name !== "identity");
  return codings.length <= MAX_CODINGS && codings.every((name) => CODINGS.has(name)) ? codings : undefined;
}

/** However small the packed bytes are, no more than `maxBytes` come out. */
export async function unpackBody(
  packed: Uint8Array,
  codings: readonly string[],
  maxBytes: number,
): Promise<Uint8Array> {
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
  return new BodyError(`it is larger than the ${maxBytes} bytes that are taken`, "too large");
}

export function notWhole(cause?: unknown): BodyError {
  return new BodyError("it did not arrive whole", "unavailable", { cause });
}

function unpackError(error: unknown, coding: string, maxBytes: number): BodyError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ERR_BUFFER_TOO_LARGE") return tooLarge(maxBytes);
  if (code === "Z_BUF_ERROR") return notWhole(error);
  return new BodyError(`it is not packed as it says (${coding})`, "broken", { cause: error });
}

function hasZlibHeader(bytes: Uint8Array): boolean {
  const [method = 0, flags = 0] = bytes;
  return (method & 0x0f) === 8 && ((method << 8) | flags) % 31 === 0;
}

/** A public address that leads to the machinery of the cloud the process runs in: Azure's host answers there, with credentials. */
const INNER_ADDRESSES: ReadonlySet<string> = new Set(["168.63.129.16"]);

/** The address is not one that everybody can reach. The message is for people. */
export class AddressRefused extends Error {
  override readonly name: string = "AddressRefused";
}

export function refuseAddress(host: string): AddressRefused {
  return new AddressRefused(
    `${host} is not a public address of the internet, and only those are asked; WEB_ALLOW_PRIVATE_NETWORKS=true permits the others`,
  );
}

/** May everybody reach it? Addresses that carry another one inside are judged by that. What is in doubt is not public. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === "ipv4") return parsed.range() === "unicast" && !INNER_ADDRESSES.has(parsed.toString());
  const bytes = parsed.toByteArray();
  switch (parsed.range()) {
    case "unicast":
      // 2000::/3 is all that has been given out; IPv4-compatible addresses, for one, lie outside.
      return (bytes[0] ?? 0) >> 5 === 1;
    case "ipv4Mapped":
      return isPublicAddress(bytes.slice(12).join("."));
    case "rfc6052":
      // 64:ff9b:1::/48 is for networks of one's own.
      return parsed.match(ipaddr.parseCIDR("64:ff9b::/96")) && isPublicAddress(bytes.slice(12).join("."));
    case "6to4":
      return isPublicAddress(bytes.slice(2, 6).join("."));
    default:
      return false;
  }
}

/** As it stands in an address of the web: IPv6 in brackets. */
export function isLiteralAddress(hostname: string): boolean {
  return isIP(withoutBrackets(hostname)) !== 0;
}

/** What can be said of a host without asking for its addresses: false for literal addresses that are not public, and for this machine. */
export function mayBePublicHost(hostname: string): boolean {
  const name = trimEnd(hostname.toLowerCase(), ".");
  if (name === "localhost" || name.endsWith(".localhost")) return false;
  return !isLiteralAddress(name) || isPublicAddress(withoutBrackets(name));
}

function withoutBrackets(hostname: string): string {
  return hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname;
}

/** Looks a host up and hands on its addresses only if all of them are public: which one is connected to is chosen later. */
export function onlyPublic(lookup: LookupFunction = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, addresses, family) => {
      if (error) return callback(error, addresses, family);
      const all = typeof addresses === "string" ? [addresses] : addresses.map(({ address }) => address);
      if (all.length > 0 && all.every(isPublicAddress)) callback(null, addresses, family);
      else callback(refuseAddress(hostname), []);
    });
  };
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nobody answers at that address (connection refused)",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed",
  EHOSTUNREACH: "there is no way to that host",
  ENETUNREACH: "there is no way to that network",
  ENOTFOUND: "there is no such host; check the address and the network",
  EAI_AGAIN: "the host name could not be looked up just now",
  ETIMEDOUT: "no connection within the time limit",
  UND_ERR_CONNECT_TIMEOUT: "no connection within the time limit",
  UND_ERR_SOCKET: "the connection was closed before an answer came",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet; check the clock of this machine",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    "its certificate is signed by itself; NODE_EXTRA_CA_CERTS names a file of certificates to trust",
  SELF_SIGNED_CERT_IN_CHAIN:
    "its certificate is signed by an authority that is not known here; NODE_EXTRA_CA_CERTS names a file of certificates to trust",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    "its certificate is signed by an authority that is not known here; NODE_EXTRA_CA_CERTS names a file of certificates to trust",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "it does not send the certificates between its own and a known authority; NODE_EXTRA_CA_CERTS can name a file with them",
};

const NOT_HTTP = /^(HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES)/;
const CONNECTION_LOST = /^(UND_ERR_SOCKET|ECONNRESET|EPIPE)$/;

/** It broke before an answer began: so it is when a server closes an idle connection just as it is used again, and a new one helps. */
export function isConnectionLost(error: unknown): boolean {
  return CONNECTION_LOST.test(codeOf(error));
}

/** A sentence for people. Nothing of the address but its host is repeated: the rest may hold secrets. */
export function describeNetworkError(host: string, error: unknown): string {
  const code = codeOf(error);
  const isGarbled = NOT_HTTP.test(code) || (error instanceof Error && error.name === "HTTPParserError");
  if (isGarbled) return `${host} does not answer as a web server does (${code || "no HTTP"})`;
  const said = /^(ERR_SSL|EPROTO)/.test(code) ? "a secure connection could not be agreed on" : REASONS[code];
  return `reach ${host}: ${said ?? (error instanceof Error ? error.message : String(error))}`;
}

/** Where several addresses of a host were tried, the code of the first failure. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

import { pipeline, Readable, type Transform } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import busboy from "busboy";
import { type Dispatcher, request as send } from "undici";
import { RemoteError } from "../../contracts/errors.ts";
import { parseJsonObject } from "../../lib/json-object.ts";
import { createProxyAgent } from "../../lib/proxy-agent.ts";
import { readUpTo } from "../../lib/text.ts";
import { type OpenAiOptions, readAzureEndpoint } from "./connection.ts";

/** Reverse proxy: streams requests to the service, and its responses back. */
interface Proxy {
  /** Paths as `/files`. Never rejects: errors become error responses, and `tell` gets the cause. */
  forward(request: Request, tell?: (failure: unknown) => void): Promise<Response>;
  close(): Promise<void>;
}

export interface ProxyLimits {
  /** Time until the response begins, and between two chunks of it. */
  readonly idleTimeoutMs?: number;
}

const ASSISTANTS_BETA = /^\/(assistants|threads|vector_stores)(\/|$)/;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const FIRST_PIECE_MS = 10;
const FILE_CONTENT = /\/files\/[^/]+\/content\/?$/;
const NOTHING = new Uint8Array();
const DECOMPRESSORS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export function createProxy(options: OpenAiOptions, { idleTimeoutMs = 300_000 }: ProxyLimits = {}): Proxy {
  const service = serviceAddress(options);
  const deployment = { deployments: service.deployments, model: options.model ?? "" };
  const dispatcher = createProxyAgent({ headersTimeout: idleTimeoutMs, bodyTimeout: idleTimeoutMs, allowH2: false });

  async function forward(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    if (addressOf(service, pathname, search) === undefined) return noSuchPath();
    const body = request.body ? Readable.fromWeb(request.body as Parameters<typeof Readable.fromWeb>[0]) : null;
    const incoming = {
      method: request.method,
      path: pathname,
      contentType: request.headers.get("content-type") ?? "",
      body,
    };
    const routed = await withDeployment(incoming, deployment);
    if ("status" in routed) return proxyError(routed.status, routed.message, routed.param);
    const address = addressOf(service, routed.path, search);
    if (address === undefined) return noSuchPath();
    const headers = requestHeaders(request.headers, service.credentials);
    if (ASSISTANTS_BETA.test(pathname)) headers["openai-beta"] ??= "assistants=v2";
    if (routed.body) headers["content-length"] = String(routed.body.byteLength);
    const method = request.method as Dispatcher.HttpMethod;
    const sent = { dispatcher, method, headers, body: routed.body ?? body, signal: request.signal };
    return toResponse(await send(address, sent), { method: request.method, path: pathname, key: options.apiKey });
  }

  return {
    async forward(request, tell) {
      try {
        return await forward(request);
      } catch (error) {
        tell?.(error);
        return toErrorResponse(error);
      }
    },
    // Cuts off open streams: the server waits for them before it closes the proxy.
    close: () => dispatcher.destroy(),
  };
}

function noSuchPath(): Response {
  return proxyError(400, "The path is not one of the service's: it leads out of it.");
}

interface ResponseContext {
  readonly method: string;
  readonly path: string;
  readonly key: string;
}

/** Hides the key in all responses except file contents: the service may repeat what it was sent. */
async function toResponse(answer: Dispatcher.ResponseData, { method, path, key }: ResponseContext): Promise<Response> {
  const { statusCode: status, body } = answer;
  if (REDIRECTS.has(status)) {
    await body.dump();
    // Following it would send the key to another address; returning it would send the client past this server.
    throw new RemoteError("The service behind this server answered with a redirect: its address is not set right.");
  }
  const headers = responseHeaders(answer.headers);
  for (const [name, value] of headers) headers.set(name, hideKeyIn(value, key));
  if (method === "HEAD" || WITHOUT_BODY.has(status)) {
    await body.dump();
    return new Response(null, { status, headers });
  }
  const isContent = status < 300 && FILE_CONTENT.test(path);
  const hider = isContent ? undefined : createKeyHider(key);
  if (!hider) return new Response(asStream(body), { status, headers });
  const plain = decompressed(body, headers);
  return new Response(asStream(plain, hider), { status, headers });
}

/** Decompresses a response that the service compressed although it was asked not to, so that the key can be found in it. */
function decompressed(body: Readable, headers: Headers): Readable {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity" || encoding === "") return body;
  const create = DECOMPRESSORS[encoding];
  if (!create) {
    body.on("error", () => undefined).destroy();
    throw new RemoteError("The service behind this server packed its answer in a way that was not asked for.");
  }
  headers.delete("content-encoding");
  headers.delete("content-length");
  const decompressor = create();
  pipeline(body, decompressor, () => undefined);
  return decompressor;
}

/** Reads a chunk when the client wants one. Fails where the service breaks off; closes the connection when the client leaves. */
function asStream(body: Readable, hider?: KeyHider): ReadableStream<Uint8Array> {
  // The reader of the chunks gets the error; there may be no reader yet, or any more.
  body.on("error", () => undefined);
  const pieces = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await pieces.next().catch(brokenOff);
          const shown = done ? (hider?.end() ?? NOTHING) : (hider?.push(value) ?? value);
          if (shown.length > 0) controller.enqueue(shown);
          if (done) controller.close();
          if (done || shown.length > 0) return;
        }
      },
      cancel() {
        body.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The server takes an error with the first chunk for the end of the response, and cuts the connection for any later one. */
async function brokenOff(): Promise<never> {
  await setTimeout(FIRST_PIECE_MS);
  throw new RemoteError("The service behind this server broke off its answer.");
}

/** What is shorter, or made up for a server that wants none, is no secret, and may be a word of the answer. */
function isSecret(key: string): boolean {
  return key.length >= 16 || (key.length >= 8 && key.startsWith("sk-"));
}

/** Takes a key out of bytes that come in pieces. */
interface KeyHider {
  /** What is certain not to be a part of the key; its beginning is held back until more is known. */
  push(piece: Uint8Array): Uint8Array;
  end(): Uint8Array;
}

/** Replaces the key by as many asterisks, so that content-length stays right. Returns undefined if there is no key. */
function createKeyHider(key: string): KeyHider | undefined {
  if (!isSecret(key)) return undefined;
  // Plain, and as JSON may escape it.
  const spellings = [key, JSON.stringify(key).slice(1, -1), key.replaceAll("/", "\\/")];
  const needles = [...new Set(spellings)].map((text) => Buffer.from(text));
  let held = Buffer.alloc(0);
  return {
    push(piece) {
      const bytes = Buffer.concat([held, piece]);
      for (const needle of needles) mask(bytes, needle);
      const certain = bytes.length - Math.max(...needles.map((needle) => beginningOf(needle, bytes)));
      held = bytes.subarray(certain);
      return bytes.subarray(0, certain);
    },
    end() {
      return held;
    },
  };
}

function hideKeyIn(text: string, key: string): string {
  return isSecret(key) ? text.replaceAll(key, "*".repeat(key.length)) : text;
}

function mask(bytes: Buffer, needle: Buffer): void {
  for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + needle.length)) {
    bytes.fill("*", at, at + needle.length);
  }
}

/** Returns how many of the last bytes may be the beginning of the needle. */
function beginningOf(needle: Buffer, bytes: Buffer): number {
  for (let length = Math.min(needle.length - 1, bytes.length); length > 0; length--) {
    if (bytes.subarray(bytes.length - length).equals(needle.subarray(0, length))) return length;
  }
  return 0;
}

type Pairs = Iterable<readonly [string, string]>;

/** Headers of one connection, not of the message. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
];

/** Request headers that are not forwarded: the client's identity and origin, and the account to use. */
const DROPPED_REQUEST_HEADERS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  "host",
  "expect",
  "accept-encoding",
  "authorization",
  "api-key",
  "x-api-key",
  "openai-organization",
  "openai-project",
  "cookie",
  "origin",
  "referer",
  "forwarded",
  "x-real-ip",
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
]);
const DROPPED_REQUEST_PREFIX = /^(sec-|x-forwarded-)/;

/** Response headers that a browser would take for ours: cookies, CORS, where and how this server is reached. */
const DROPPED_RESPONSE_HEADERS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  "set-cookie",
  "set-cookie2",
  "alt-svc",
  "clear-site-data",
  "strict-transport-security",
]);
const DROPPED_RESPONSE_PREFIX = /^access-control-/;

// Header values are bytes; other characters cannot be sent.
const SENDABLE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Returns the client's headers that the service may see, with our credentials. */
function requestHeaders(given: Headers, credentials: Readonly<Record<string, string>>): Record<string, string> {
  const passed = pass(given, (name) => DROPPED_REQUEST_HEADERS.has(name) || DROPPED_REQUEST_PREFIX.test(name));
  // Uncompressed: no hop holds tokens back to compress them, and length and encoding stay right.
  return { ...Object.fromEntries(passed), "accept-encoding": "identity", ...credentials };
}

/** Returns the service's headers that the client may see. */
function responseHeaders(given: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const pairs = Object.entries(given).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => [name.toLowerCase(), one] as const),
  );
  const headers = new Headers();
  for (const [name, value] of pass(
    pairs,
    (one) => DROPPED_RESPONSE_HEADERS.has(one) || DROPPED_RESPONSE_PREFIX.test(one),
  )) {
    if (SENDABLE.test(value)) headers.append(name, value);
  }
  return headers;
}

function pass(given: Pairs, isDropped: (name: string) => boolean): (readonly [string, string])[] {
  const pairs = [...given];
  const named = pairs
    .filter(([name]) => name === "connection")
    .flatMap(([, value]) => value.split(",").map((one) => one.trim().toLowerCase()));
  return pairs.filter(([name]) => !isDropped(name) && !named.includes(name));
}

/** Makes an error response of the protocol. */
function proxyError(status: number, message: string, param: string | null = null): Response {
  const type = status >= 500 ? "server_error" : "invalid_request_error";
  return Response.json({ error: { message, type, param, code: null } }, { status });
}

const TIMEOUTS: ReadonlySet<string> = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT"]);

/** Shows the client the error code only: the rest of the message has internal addresses. */
function toErrorResponse(error: unknown): Response {
  if (error instanceof RemoteError) return proxyError(502, error.message);
  const code = codeOf(error);
  const why = code ? ` (${code})` : "";
  return TIMEOUTS.has(code)
    ? proxyError(504, `The service behind this server did not answer in time${why}.`)
    : proxyError(502, `The service behind this server could not be reached${why}.`);
}

function codeOf(error: unknown): string {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth += 1) {
    if ("code" in at && typeof at.code === "string") return at.code;
    if (at instanceof AggregateError && at.errors.length > 0) return codeOf(at.errors[0]);
  }
  return "";
}

/** Address and credentials of the service. */
interface ServiceAddress {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** "" where versions are not asked for. */
  readonly apiVersion: string;
  /** true: the model is part of the path, as `/deployments/{model}/chat/completions`. */
  readonly deployments: boolean;
  readonly credentials: Readonly<Record<string, string>>;
}

function serviceAddress(options: OpenAiOptions): ServiceAddress {
  const { kind, apiKey, apiVersion = "", organization } = options;
  if (kind === "openai") {
    const baseUrl = (options.baseUrl || "https://api.openai.com/v1").replace(/\/+$/, "");
    const credentials = {
      // Local servers often need no key.
      ...(apiKey && { authorization: `Bearer ${apiKey}` }),
      ...(organization && { "openai-organization": organization }),
    };
    return { baseUrl, apiVersion: "", deployments: false, credentials };
  }
  const endpoint = readAzureEndpoint(options.baseUrl);
  const credentials = { "api-key": apiKey };
  return apiVersion && apiVersion !== "v1"
    ? { baseUrl: `${endpoint}/openai`, apiVersion, deployments: true, credentials }
    : { baseUrl: `${endpoint}/openai/v1`, apiVersion: "", deployments: false, credentials };
}

/** Returns undefined if the path would leave the base URL, in whatever encoding. */
function addressOf(service: ServiceAddress, path: string, search: string): string | undefined {
  if (!path.startsWith("/") || escapesBase(path)) return undefined;
  const others = search
    .replace(/^\?/, "")
    .split("&")
    .filter((pair) => pair !== "" && !/^api-version(=|$)/i.test(pair));
  const query = service.apiVersion ? [...others, `api-version=${encodeURIComponent(service.apiVersion)}`] : others;
  return `${service.baseUrl}${path}${query.length > 0 ? `?${query.join("&")}` : ""}`;
}

/** Decodes repeatedly, as servers on the way may: a name may have an encoded slash, but no `..`. */
function escapesBase(path: string): boolean {
  for (let at = path, last = ""; at !== last; ) {
    if (at.split(/[/\\]/).some((part) => part === "." || part === "..")) return true;
    last = at;
    try {
      at = decodeURIComponent(at);
    } catch {
      return true;
    }
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
  return /[\u0000-\u001f\u007f]/.test(decodeURIComponent(path));
}

/** Limit for bodies that are read to find the model. Audio of 25 MB, the limit of the service, fits. */
const MAX_BYTES = 32 * 1024 * 1024;
const WITH_DEPLOYMENT = /^\/(chat\/completions|completions|embeddings|audio\/[^/]+|images\/[^/]+)$/;
const DEPLOYMENT = /^\/deployments\/([^/]+)(\/.+)$/;

interface Routed {
  readonly path: string;
  /** undefined if the body was not read. */
  readonly body?: Buffer;
}

/** Why a request cannot be forwarded, for the client. */
interface Unroutable {
  readonly status: 400 | 413;
  readonly message: string;
  readonly param: string | null;
}

interface ProxyRequest {
  readonly method: string;
  readonly path: string;
  readonly contentType: string;
  readonly body: Readable | null;
}

/**
 * Azure's dated versions have the model in the path, all others in the body; clients of either kind are served. The body is
 * read only if the two differ, because its model must be known or changed before the first byte is forwarded.
 */
async function withDeployment(
  request: ProxyRequest,
  service: { readonly deployments: boolean; readonly model: string },
): Promise<Routed | Unroutable> {
  const named = DEPLOYMENT.exec(request.path);
  if (service.deployments) {
    if (named || request.method !== "POST" || !WITH_DEPLOYMENT.test(request.path)) return { path: request.path };
    return await findDeployment(request, service.model);
  }
  if (!named) return { path: request.path };
  const [, deployment = "", path = ""] = named;
  if (!request.body || !/json/i.test(request.contentType)) return { path };
  const body = await readUpTo(request.body, MAX_BYTES);
  if (!body) return TOO_LARGE;
  return { path, body: withModel(body, decodeURIComponent(deployment)) };
}

const TOO_LARGE: Unroutable = {
  status: 413,
  message: `The body is larger than ${MAX_BYTES} bytes: send it to deployments/{model}/…, where it need not be read to find its model.`,
  param: null,
};

async function findDeployment(
  { path, body, contentType }: ProxyRequest,
  fallback: string,
): Promise<Routed | Unroutable> {
  const bytes = body ? await readUpTo(body, MAX_BYTES) : Buffer.alloc(0);
  if (!bytes) return TOO_LARGE;
  const model = (await modelIn(bytes, contentType)) || fallback;
  if (!model) return { status: 400, message: "Missing required parameter: 'model'.", param: "model" };
  return { path: `/deployments/${encodeURIComponent(model)}${path}`, body: bytes };
}

async function modelIn(body: Buffer, contentType: string): Promise<string> {
  if (/^multipart\/form-data/i.test(contentType)) return modelInForm(body, contentType);
  const model = parseJsonObject(body.toString("utf8"))?.["model"];
  return typeof model === "string" ? model : "";
}

/** Returns "" if the form is invalid or has no model: the service reports that. */
async function modelInForm(body: Buffer, contentType: string): Promise<string> {
  try {
    const form = busboy({ headers: { "content-type": contentType } });
    return await new Promise<string>((resolve, reject) => {
      let model = "";
      form.on("field", (name, value) => {
        if (name === "model") model = value;
      });
      form.on("file", (_name, stream) => stream.resume());
      form.on("close", () => resolve(model));
      form.on("error", reject);
      form.end(body);
    });
  } catch {
    return "";
  }
}

/** The path's model wins, as it does at Azure. */
function withModel(body: Buffer, model: string): Buffer {
  const fields = parseJsonObject(body.toString("utf8"));
  return !fields || fields["model"] === model ? body : Buffer.from(JSON.stringify({ ...fields, model }));
}

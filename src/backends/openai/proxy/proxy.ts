import { pipeline, Readable, type Transform } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { type Dispatcher, EnvHttpProxyAgent, request as send } from "undici";
import { RemoteError } from "../../../contracts/errors.ts";
import type { OpenAiOptions } from "../connection.ts";
import { createKeyHider, hideKeyIn, type KeyHider } from "./hide-key.ts";
import { requestHeaders, responseHeaders } from "./pass-headers.ts";
import { noAnswer, proxyError } from "./proxy-error.ts";
import { addressOf, serviceAddress } from "./service-address.ts";
import { withDeployment } from "./with-deployment.ts";

/** Passes requests on to the service, and its answers back, as they come. */
export interface Proxy {
  /** Paths as `/files`. Never rejects: what goes wrong on the way becomes an error response, and `tell` hears the reason. */
  forward(request: Request, tell?: (failure: unknown) => void): Promise<Response>;
  close(): Promise<void>;
}

export interface ProxyLimits {
  /** How long the service may think before its answer begins, and be silent within it. */
  readonly silenceMs?: number;
}

const ASSISTANTS_BETA = /^\/(assistants|threads|vector_stores)(\/|$)/;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const FIRST_PIECE_MS = 10;
const FILE_CONTENT = /\/files\/[^/]+\/content\/?$/;
const NOTHING = new Uint8Array();
const UNPACKERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

export function createProxy(options: OpenAiOptions, { silenceMs = 300_000 }: ProxyLimits = {}): Proxy {
  const service = serviceAddress(options);
  const deployment = { deployments: service.deployments, model: options.model ?? "" };
  const dispatcher = new EnvHttpProxyAgent({ headersTimeout: silenceMs, bodyTimeout: silenceMs, allowH2: false });

  async function forward(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    if (addressOf(service, pathname, search) === undefined) return noSuchPath();
    const body = request.body ? Readable.fromWeb(request.body as Parameters<typeof Readable.fromWeb>[0]) : null;
    const asked = {
      method: request.method,
      path: pathname,
      contentType: request.headers.get("content-type") ?? "",
      body,
    };
    const routed = await withDeployment(asked, deployment);
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
        return noAnswer(error);
      }
    },
    // Streams under way are cut off: whoever closes the server has waited for them already.
    close: () => dispatcher.destroy(),
  };
}

function noSuchPath(): Response {
  return proxyError(400, "The path is not one of the service's: it leads out of it.");
}

interface Answered {
  readonly method: string;
  readonly path: string;
  readonly key: string;
}

/** Contents of files are theirs, whatever is in them; everything else that the service says may repeat what it was sent. */
async function toResponse(answer: Dispatcher.ResponseData, { method, path, key }: Answered): Promise<Response> {
  const { statusCode: status, body } = answer;
  if (REDIRECTS.has(status)) {
    await body.dump();
    // Following it would carry the key to another address; handing it on would send the client past this server.
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
  const plain = unpacked(body, headers);
  return new Response(asStream(plain, hider), { status, headers });
}

/** Services are asked not to pack. What one packs all the same is unpacked, to be looked into. */
function unpacked(body: Readable, headers: Headers): Readable {
  const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity" || encoding === "") return body;
  const unpack = UNPACKERS[encoding];
  if (!unpack) {
    body.on("error", () => undefined).destroy();
    throw new RemoteError("The service behind this server packed its answer in a way that was not asked for.");
  }
  headers.delete("content-encoding");
  headers.delete("content-length");
  const unpacker = unpack();
  pipeline(body, unpacker, () => undefined);
  return unpacker;
}

/** Reads a piece when one is asked for. Breaks where the service breaks off; the service is told when nobody listens any more. */
function asStream(body: Readable, hider?: KeyHider): ReadableStream<Uint8Array> {
  // Whoever reads the pieces hears of it; nobody may be reading yet, or any more.
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

/** The server takes an error that comes with the first piece for the end of the answer, and cuts the connection for any later one. */
async function brokenOff(): Promise<never> {
  await setTimeout(FIRST_PIECE_MS);
  throw new RemoteError("The service behind this server broke off its answer.");
}

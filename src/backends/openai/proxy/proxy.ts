import { Readable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { type Dispatcher, EnvHttpProxyAgent, request as send } from "undici";
import { RemoteError } from "../../../contracts/errors.ts";
import type { OpenAiOptions } from "../connection.ts";
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
    return toResponse(await send(address, sent), request.method);
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

async function toResponse(answer: Dispatcher.ResponseData, method: string): Promise<Response> {
  const { statusCode: status, body } = answer;
  if (REDIRECTS.has(status)) {
    await body.dump();
    // Following it would carry the key to another address; handing it on would send the client past this server.
    throw new RemoteError("The service behind this server answered with a redirect: its address is not set right.");
  }
  const headers = responseHeaders(answer.headers);
  if (method === "HEAD" || WITHOUT_BODY.has(status)) {
    await body.dump();
    return new Response(null, { status, headers });
  }
  return new Response(asStream(body), { status, headers });
}

/** Reads a piece when one is asked for. Breaks where the service breaks off; the service is told when nobody listens any more. */
function asStream(body: Readable): ReadableStream<Uint8Array> {
  // Whoever reads the pieces hears of it; nobody may be reading yet, or any more.
  body.on("error", () => undefined);
  const pieces = body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next().catch(brokenOff);
        if (done) controller.close();
        else controller.enqueue(value);
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

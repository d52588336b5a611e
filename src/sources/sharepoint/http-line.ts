import type { Dispatcher } from "undici";
import { RemoteError } from "../../contracts/errors.ts";
import { createProxyAgent } from "../../lib/proxy-agent.ts";
import { throwIfCancelled } from "./cancelled.ts";
import { type Headers, TransientFailure } from "./retry.ts";

export interface Timeouts {
  readonly connectMs: number;
  readonly headersMs: number;
  /** Between two pieces of a body; a body may take as long as it likes while it keeps coming. */
  readonly idleMs: number;
}

export const DEFAULT_TIMEOUTS: Timeouts = { connectMs: 10_000, headersMs: 60_000, idleMs: 60_000 };

export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Dispatcher.ResponseData["body"];
}

/** One request, one answer: no retries, no redirects, no meaning. Trouble on the line is a TransientFailure. */
export interface HttpLine {
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>;
  /** The whole body as text; the answer is used up. */
  readText(answer: HttpAnswer, signal: AbortSignal): Promise<string>;
  readonly timeouts: Timeouts;
  close(): Promise<void>;
}

export function createHttpLine(timeouts: Timeouts, onAnswer: (answer: HttpAnswer) => void = () => undefined): HttpLine {
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
        const answer = await dispatcher.request({
          origin: url.origin,
          path: `${url.pathname}${url.search}`,
          method: request.method,
          headers: request.headers,
          body: request.body ?? null,
          signal,
        });
        const { statusCode: status, headers, body } = answer;
        onAnswer({ status, headers, body });
        return { status, headers, body };
      } catch (error) {
        throw lineFailure(url.host, error, signal);
      }
    },
    async readText(answer, signal) {
      try {
        return await answer.body.text();
      } catch (error) {
        throw lineFailure("", error, signal);
      }
    },
    close: () => dispatcher.destroy(),
  };
}

/** A line that broke may work the next time, except where the certificate or the name says it will not. */
export function lineFailure(host: string, error: unknown, signal: AbortSignal): Error {
  throwIfCancelled(signal);
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = REASONS[code] ?? (error instanceof Error ? error.message || code : String(error));
  const remote = new RemoteError(`${host ? `reach ${host}` : "read the answer"}: ${reason}`, { cause: error });
  return PERMANENT_LINE.test(code) ? remote : new TransientFailure(remote);
}

const PERMANENT_LINE = /^(ENOTFOUND$|CERT_|ERR_TLS_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_)/;

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nobody answers at that address (connection refused)",
  ECONNRESET: "the connection was reset",
  ENOTFOUND: "there is no such host; check the address and the network",
  EAI_AGAIN: "the host name could not be looked up just now",
  ETIMEDOUT: "the connection timed out",
  UND_ERR_CONNECT_TIMEOUT: "no connection within the time limit",
  UND_ERR_HEADERS_TIMEOUT: "no answer within the time limit",
  UND_ERR_BODY_TIMEOUT: "the answer stopped coming",
  UND_ERR_SOCKET: "the connection was closed in the middle",
};

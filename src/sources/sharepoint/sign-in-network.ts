import type { INetworkModule } from "@azure/msal-node";
import { RemoteError } from "../../contracts/errors.ts";
import { isObject } from "./error-body.ts";
import type { HttpLine } from "./http-line.ts";
import { askedWaitMs, first, type RetryPolicy, TransientFailure, withRetries } from "./retry.ts";
import { createThrottleGate, type OnWait } from "./throttle-gate.ts";

type NetworkAnswer = Awaited<ReturnType<INetworkModule["sendPostRequestAsync"]>>;

/** What msal hides behind its own errors: the last word of the sign-in server, or why there was none. */
export interface SignInTrace {
  readonly said: () => { readonly description: string; readonly codes: readonly number[] };
  readonly failure: () => Error | undefined;
}

/** Entra's "try again" that comes as an ordinary error: transient fault, throttled. */
const TRANSIENT_CODES: ReadonlySet<number> = new Set([90033, 90055]);

/**
 * msal's way to the network, with our proxies, timeouts and retries. msal sees final answers only: it takes an
 * empty 503 for a success without a token and refuses on its own to ask again after a 429.
 */
export function createSignInNetwork(
  line: HttpLine,
  context: { readonly policy: RetryPolicy; readonly signal: AbortSignal; readonly onWait: OnWait },
): INetworkModule & SignInTrace {
  const gate = createThrottleGate(1);
  let failure: Error | undefined;
  let lastBody: Record<string, unknown> = {};

  async function send(
    method: "GET" | "POST",
    url: string,
    options: { readonly headers?: Record<string, string>; readonly body?: string } | undefined,
  ): Promise<NetworkAnswer> {
    const request = { method, url, headers: options?.headers ?? {}, ...(options?.body ? { body: options.body } : {}) };
    try {
      return await withRetries({ ...context, gate }, async (slot) => {
        const answer = await line.send(request, context.signal);
        const body = parseBody(await line.readText(answer, context.signal), answer.status);
        lastBody = body;
        throwIfTransient(answer.status, body, askedWaitMs(answer.headers));
        slot.release();
        return { status: answer.status, body, headers: flatten(answer.headers) };
      });
    } catch (error) {
      failure = error instanceof Error ? error : new RemoteError(String(error));
      throw error;
    }
  }

  return {
    // msal's interface promises its caller whatever type it asks for; the wire cannot.
    sendGetRequestAsync: (url, options) => send("GET", url, options) as Promise<never>,
    sendPostRequestAsync: (url, options) => send("POST", url, options) as Promise<never>,
    failure: () => failure,
    said: () => ({
      description: typeof lastBody["error_description"] === "string" ? lastBody["error_description"] : "",
      codes: errorCodes(lastBody),
    }),
  };
}

function parseBody(text: string, status: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Falls through: not JSON and not an object are the same trouble.
  }
  throw new TransientFailure(new RemoteError(`the sign-in server answered ${status} without valid JSON`));
}

function throwIfTransient(status: number, body: Record<string, unknown>, askedMs: number | undefined): void {
  const busy = status === 408 || status === 429 || status >= 500;
  if (!busy && !errorCodes(body).some((code) => TRANSIENT_CODES.has(code))) return;
  const error = new RemoteError(`the sign-in server answered ${status}`);
  throw new TransientFailure(error, { throttled: status === 429 || status === 503, askedMs });
}

function errorCodes(body: Record<string, unknown>): readonly number[] {
  const codes: unknown = body["error_codes"];
  return Array.isArray(codes) ? codes.filter((code) => typeof code === "number") : [];
}

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, first(value)]));
}

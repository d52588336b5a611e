import type { LookupFunction } from "node:net";
import { CancelledError } from "../../../contracts/errors.ts";
import type { WebAnswer, WebRequest } from "../../../contracts/web.ts";
import { AskedToWait } from "./asked-to-wait.ts";
import { exchange } from "./exchange.ts";
import { type Closed, type GateClock, type Place, SYSTEM_CLOCK, WORTH_TELLING_MS } from "./host-gate.ts";
import { createHostGates } from "./host-gates.ts";
import { judgeResponse, judgeSilence } from "./judge-answer.ts";
import { isBrokenLine } from "./line-trouble.ts";
import { openLine } from "./open-line.ts";
import { ACCEPTED_CODINGS } from "./unpack-body.ts";

export interface SenderOptions {
  readonly userAgent: string;
  readonly allowPrivateNetworks: boolean;
  readonly requestsPerHost: number;
  readonly hostDelayMs: number;
  readonly timeoutMs: number;
  readonly patienceMs: number;
  readonly restMs: number;
  readonly lookup?: LookupFunction;
  readonly clock?: GateClock;
}

/** Sends requests at the pace of their hosts, and says what their answers mean. Knows nothing of robots.txt. */
export interface Sender {
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

export function createSender(options: SenderOptions): Sender {
  const { requestsPerHost, timeoutMs, restMs, patienceMs } = options;
  const line = openLine({
    allowPrivateNetworks: options.allowPrivateNetworks,
    connectionsPerOrigin: requestsPerHost,
    connectMs: Math.min(timeoutMs, MAX_CONNECT_MS),
    lookup: options.lookup,
  });
  const { clock = SYSTEM_CLOCK } = options;
  const pace = { requestsAtOnce: requestsPerHost, intervalMs: options.hostDelayMs, easedMs: restMs / 5, patienceMs };
  const gates = createHostGates({ ...pace, clock });
  const waits = new AskedToWait(clock.nowMs);

  async function send(url: URL, request: WebRequest, triesLeft: number): Promise<WebAnswer> {
    const { method, maxBytes, excess = "refused", signal, tell } = request;
    const { host, hostname } = url;
    const gate = gates.of(host);
    const sent = { url, waits, request, gate, restMs };
    let place: Place | undefined;
    try {
      await line.check(hostname);
      const bound = waits.of(url);
      if (bound && bound.waitMs > patienceMs) return unasked(bound);
      if (bound) await pause(bound, clock, request);
      const entered = await gate.enter(signal, tell);
      if ("waitMs" in entered) return unasked(entered);
      place = entered;
      const { cookies } = request;
      const headers = headersOf(url, request, options.userAgent);
      const onCookies = cookies && ((fields: readonly string[]) => cookies.take(url, fields));
      const order = { url, method, headers, maxBytes, excess, timeoutMs, signal, onCookies, onOver: place.leave };
      return judgeResponse(await exchange(line.dispatcher, order), { ...sent, place });
    } catch (error) {
      if (signal.aborted) throw new CancelledError("the request was cancelled", { cause: error });
      if (triesLeft > 1 && isBrokenLine(error)) return send(url, request, triesLeft - 1);
      return judgeSilence(error, { ...sent, place });
    }
  }

  return {
    send: (url, request) => send(url, request, MAX_TRIES),
    slowDown: (host, intervalMs) => gates.of(host).slowDown(intervalMs),
    async close() {
      gates.close("the web client was closed");
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
function pause({ waitMs, reason }: Closed, clock: GateClock, { signal, tell }: WebRequest): Promise<void> {
  if (signal.aborted) return Promise.reject(signal.reason);
  if (waitMs >= WORTH_TELLING_MS) tell?.(`Waiting ${Math.ceil(waitMs / 1000)} s: ${reason}`);
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

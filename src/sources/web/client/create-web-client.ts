import type { LookupFunction } from "node:net";
import { CancelledError, RemoteError } from "../../../contracts/errors.ts";
import type { WebClient } from "../../../contracts/web.ts";
import { type PaceClock, SYSTEM_CLOCK } from "../../../lib/pace.ts";
import { createRobotsBook } from "./robots-book.ts";
import { createSender } from "./sender.ts";

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
  const robots = createRobotsBook({
    token: ROBOTS_TOKEN,
    // Others wait for the same file: it is not called off with whoever asked first.
    send: (url, maxBytes) => sender.send(url, { ...ROBOTS_REQUEST, url: url.href, maxBytes }),
    restMs,
    nowMs: (options.clock ?? SYSTEM_CLOCK).nowMs,
  });

  return {
    async ask(request) {
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

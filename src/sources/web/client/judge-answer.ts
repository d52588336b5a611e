import type { WebAnswer, WebRequest, WebResponse } from "../../../contracts/web.ts";
import { readRetryAfterMs } from "../../../lib/retry-after.ts";
import { AddressRefused } from "./address-filter.ts";
import { type AskedToWait, MAX_WAIT_MS } from "./asked-to-wait.ts";
import type { HostGate, Place } from "./host-gate.ts";
import { describeTrouble } from "./line-trouble.ts";
import { readCodings } from "./unpack-body.ts";

/** A request that was sent, and how its host is left alone if that went wrong. */
export interface Sent {
  readonly url: URL;
  readonly waits: AskedToWait;
  readonly request: WebRequest;
  readonly gate: HostGate;
  /** undefined: it was never sent. */
  readonly place: Place | undefined;
  /** The first rest of a host that does not say itself how long; each further one is twice as long. */
  readonly restMs: number;
}

const MAX_REST_MS = 5 * 60_000;
/** So many requests in a row without an answer, or with one that says no more than "not now", and the host is left alone for a while. */
const FAILURES_BEFORE_REST = 5;
/** "Not now" beside those from 500 on. */
const NOT_NOW: ReadonlySet<number> = new Set([408, 425, 429]);
const TOO_MUCH: ReadonlySet<number> = new Set([429, 503]);

/** What an answer means, for the caller and for the host's gate. One that is not handed on is cancelled. */
export function judgeResponse(response: WebResponse, sent: Sent): WebAnswer {
  const isNotNow = response.status >= 500 || NOT_NOW.has(response.status);
  if (!isNotNow) sent.gate.wentWell();
  const problem = isNotNow ? notNow(response, sent) : findProblem(response, sent);
  if (problem) void response.cancel();
  return problem ?? response;
}

/** What it means that no answer came. */
export function judgeSilence(error: unknown, { url: { host }, gate, place, restMs }: Sent): WebAnswer {
  if (error instanceof AddressRefused) return { kind: "refused", why: "address", reason: error.message };
  const reason = describeTrouble(host, error);
  const failures = place ? gate.wentWrong(place) : 0;
  restAfterMany(failures, reason, { gate, restMs });
  return { kind: "unavailable", reason };
}

/** A wish to wait is the address's; of several addresses, the host's. "Too many requests" slows the host down whatever it wishes. */
function notNow({ status, headers }: WebResponse, { url, waits, gate, place, restMs }: Sent): WebAnswer {
  const wishMs = readRetryAfterMs(headers.get("retry-after"), new Date());
  const askedMs = wishMs === undefined ? undefined : Math.min(wishMs, MAX_WAIT_MS);
  const said = `answered ${status}${askedMs === undefined ? "" : " and asks to wait"}`;
  const reason = `${url.host} ${said}`;
  const own = askedMs === undefined ? reason : `${url.host}${url.pathname}${url.search} ${said}`;
  const failures = place ? gate.wentWrong(place) : 0;
  if (status === 429) gate.ease();
  if (askedMs !== undefined && waits.note(url, askedMs, own)) gate.rest(askedMs, reason);
  else if (failures > 0 && TOO_MUCH.has(status) && (askedMs === undefined || status === 429)) {
    gate.rest(Math.min(backoffMs(restMs, failures - 1), askedMs ?? MAX_REST_MS), reason);
  } else restAfterMany(failures, reason, { gate, restMs });
  return { kind: "unavailable", reason: own, status, ...(askedMs !== undefined && { retryAfterMs: askedMs }) };
}

function restAfterMany(failures: number, reason: string, { gate, restMs }: Pick<Sent, "gate" | "restMs">): void {
  if (failures >= FAILURES_BEFORE_REST) gate.rest(backoffMs(restMs, failures - FAILURES_BEFORE_REST), reason);
}

function backoffMs(restMs: number, doublings: number): number {
  return Math.min(restMs * 2 ** Math.min(doublings, 20), MAX_REST_MS);
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

import { RemoteError } from "../../contracts/errors.ts";
import { isJsonObject, parseJsonObject } from "../../lib/json-object.ts";
import type { OnWait, Pace, Slot } from "../../lib/pace.ts";
import {
  classifyStatus,
  type ErrorBody,
  firstValue,
  type Headers,
  type HttpResponse,
  type HttpTransport,
  type RetryPolicy,
  requestedWaitMs,
  TransientFailure,
  withRetries,
} from "./http.ts";
import type { SignIn } from "./sign-in.ts";

/** An error response that no retry will change. */
export class SharePointError extends RemoteError {
  readonly status: number;
  /** SharePoint's error code; undefined when the response has none. */
  readonly code: number | undefined;
  readonly exception: string;
  /** SharePoint's message, or "". */
  readonly serverMessage: string;
  constructor(
    message: string,
    details: { status: number; code: number | undefined; exception: string; serverMessage: string },
  ) {
    super(message);
    this.status = details.status;
    this.code = details.code;
    this.exception = details.exception;
    this.serverMessage = details.serverMessage;
  }
}

export interface CallContext {
  readonly signal: AbortSignal;
  readonly onWait: OnWait;
}

/** A response whose body is being received. The slot is released when the body ends, fails or is destroyed. */
export interface StreamedResponse {
  /** 200, or 206 where a range was asked for. */
  readonly status: number;
  readonly headers: HttpResponse["headers"];
  readonly body: HttpResponse["body"];
}

/** Reads from SharePoint, with sign-in, throttling and retries. Throws SharePointError or RemoteError after the last attempt. */
export interface RestClient {
  getJson(url: string, call: CallContext): Promise<Record<string, unknown>>;
  /** For queries that SharePoint expects as a POST. They only read, so they may be retried. */
  postJson(url: string, restRequest: unknown, call: CallContext): Promise<Record<string, unknown>>;
  /** `range`: request headers for a part of the file; a server may send all of it nevertheless. */
  open(url: string, call: CallContext, range?: Readonly<Record<string, string>>): Promise<StreamedResponse>;
  readonly idleMs: number;
}

interface RestClientOptions {
  readonly transport: HttpTransport;
  readonly pace: Pace;
  readonly signIn: SignIn;
  readonly policy: RetryPolicy;
  readonly userAgent: string;
}

interface RestRequest {
  readonly url: string;
  readonly accept: string;
  /** JSON; undefined for a GET. */
  readonly body?: string;
  readonly range?: Readonly<Record<string, string>>;
}

const JSON_TYPE = "application/json;odata=nometadata";

export function createRestClient(options: RestClientOptions): RestClient {
  const { transport, pace, signIn, policy } = options;

  async function request<T>(
    restRequest: RestRequest,
    call: CallContext,
    consume: (response: HttpResponse, slot: Slot) => Promise<T>,
  ): Promise<T> {
    const { url, accept, body, range = {} } = restRequest;
    const { origin } = new URL(url);
    let rejected = "";
    return await withRetries({ policy, pace, ...call }, async (slot) => {
      for (;;) {
        const token = await signIn.token(origin, rejected, call);
        const headers = { accept, authorization: `Bearer ${token}`, "user-agent": options.userAgent };
        const request = body === undefined ? { method: "GET" as const } : { method: "POST" as const, body };
        const response = await transport.send(
          { ...request, url, headers: { ...headers, ...range, ...typeOf(body) } },
          call.signal,
        );
        const isSuccess = response.status === 200 || (response.status === 206 && restRequest.range !== undefined);
        const budget = isSuccess ? readBudget(response.headers) : undefined;
        if (budget) spreadBudget(pace, budget);
        if (isSuccess) return await consume(response, slot);
        const failure = toError(response, await transport.readText(response, call.signal), request.method);
        // A token may be revoked or expire: one new token is tried, a second 401 is final.
        if (response.status !== 401 || rejected || failure instanceof TransientFailure) throw failure;
        rejected = token;
      }
    });
  }

  const requestJson = (restRequest: RestRequest, call: CallContext): Promise<Record<string, unknown>> =>
    request(restRequest, call, async (response, slot) => {
      const value = parseJson(response, await transport.readText(response, call.signal));
      slot.release();
      return value;
    });

  return {
    idleMs: transport.timeouts.idleMs,
    getJson: (url, call) => requestJson({ url, accept: JSON_TYPE }, call),
    postJson: (url, restRequest, call) =>
      requestJson({ url, accept: JSON_TYPE, body: JSON.stringify(restRequest) }, call),
    open: (url, call, range) =>
      request({ url, accept: "*/*", ...(range && { range }) }, call, async (response, slot) => {
        response.body.once("close", slot.release);
        return { status: response.status, headers: response.headers, body: response.body };
      }),
  };
}

function typeOf(body: string | undefined): Record<string, string> {
  return body === undefined ? {} : { "content-type": JSON_TYPE };
}

function parseJson(response: HttpResponse, text: string): Record<string, unknown> {
  const type = firstValue(response.headers["content-type"]);
  if (/html/i.test(type) || text.trimStart().startsWith("<")) {
    throw new TransientFailure(new RemoteError("SharePoint answered with a web page instead of data"));
  }
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch (error) {
    throw new TransientFailure(
      new RemoteError("SharePoint's answer was cut off or is no valid JSON", { cause: error }),
    );
  }
  throw new TransientFailure(new RemoteError("SharePoint's answer is not a JSON object"));
}

function toError(response: HttpResponse, text: string, method: "GET" | "POST"): Error {
  const { status, headers } = response;
  const body = parseErrorBody(text);
  const serverMessage =
    body.message || (status >= 300 && status < 400 ? redirectText(firstValue(headers["location"])) : "");
  const message = `SharePoint answered ${status}${serverMessage ? ` (${serverMessage})` : ""}${requestId(headers)}`;
  const error = new SharePointError(message, { status, code: body.code, exception: body.exception, serverMessage });
  const kind = classifyStatus(status, body, method);
  if (kind === "final") return error;
  return new TransientFailure(error, { throttled: kind === "throttled", retryAfterMs: requestedWaitMs(headers) });
}

/** Without its query, which may carry things that are not for logs. */
function redirectText(location: string): string {
  return location ? `redirect to ${location.split("?", 1)[0]}` : "redirect";
}

function requestId(headers: HttpResponse["headers"]): string {
  const id = firstValue(headers["sprequestguid"]);
  return id ? `, request ${id}` : "";
}

/** The RateLimit headers, which SharePoint sends when most of the budget is used. */
interface RequestBudget {
  /** 0 when it does not tell. */
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

/** Returns undefined when the response has no RateLimit headers. */
function readBudget(headers: Headers): RequestBudget | undefined {
  const remaining = wholeNumber(headers["ratelimit-remaining"]);
  const resetSeconds = wholeNumber(headers["ratelimit-reset"]);
  if (remaining === undefined || resetSeconds === undefined) return undefined;
  return { limit: wholeNumber(headers["ratelimit-limit"]) ?? 0, remaining, resetMs: resetSeconds * 1000 };
}

/** Not spent: others share the budget, and a request may cost more than one unit. */
const RESERVED_SHARE = 0.05;

/** Spreads requests over the time until the budget is reset; pauses when it is used up. */
function spreadBudget(pace: Pace, budget: RequestBudget): void {
  const { remaining, limit, resetMs } = budget;
  const intervalMs = intervalMsFor(budget);
  if (intervalMs === Number.POSITIVE_INFINITY) {
    pace.pause(resetMs, "SharePoint's request budget is used up");
    return;
  }
  const left = limit > 0 ? `${remaining} of ${limit}` : `${remaining}`;
  pace.space(intervalMs, `SharePoint's request budget runs low (${left} left), so requests are spread out`, resetMs);
}

/** Returns the interval between requests with which the budget, less the reserve, lasts until the reset; Infinity when none is left. */
function intervalMsFor(budget: RequestBudget): number {
  const spendable = budget.remaining - Math.ceil(budget.limit * RESERVED_SHARE);
  return spendable > 0 ? budget.resetMs / spendable : Number.POSITIVE_INFINITY;
}

function wholeNumber(header: string | string[] | undefined): number | undefined {
  const text = firstValue(header).trim();
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

const NO_ERROR: ErrorBody = { code: undefined, exception: "", message: "" };

export function parseErrorBody(text: string): ErrorBody {
  const trimmed = text.trim();
  if (trimmed.startsWith("{")) return parseJsonError(trimmed);
  if (/<m:error\b/.test(trimmed)) return parseXmlError(trimmed);
  // A web page says nothing in its markup that is worth repeating; a short plain text does.
  if (trimmed.startsWith("<") || trimmed.length > 300) return NO_ERROR;
  return { ...NO_ERROR, message: oneLine(trimmed) };
}

function parseJsonError(text: string): ErrorBody {
  const body = parseJsonObject(text) ?? {};
  const error = body["odata.error"] ?? body["error"];
  if (isJsonObject(error)) {
    const message = isJsonObject(error["message"]) ? error["message"]["value"] : error["message"];
    return { ...splitCode(String(error["code"] ?? "")), message: oneLine(asText(message)) };
  }
  return { ...NO_ERROR, message: oneLine(asText(body["error_description"]) || asText(error)) };
}

function parseXmlError(text: string): ErrorBody {
  const code = /<m:code[^>]*>([^<]*)</.exec(text)?.[1] ?? "";
  const message = /<m:message[^>]*>([^<]*)</.exec(text)?.[1] ?? "";
  return { ...splitCode(code), message: oneLine(message) };
}

/** `-2147024894, System.IO.FileNotFoundException` */
function splitCode(text: string): { code: number | undefined; exception: string } {
  const match = /^(-?\d+)(?:,\s*(.*))?$/.exec(text.trim());
  if (!match) return { code: undefined, exception: text.trim() };
  return { code: Number(match[1]), exception: match[2] ?? "" };
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function oneLine(text: string): string {
  return text
    .replaceAll(/\s*[\r\n]+\s*/g, " ")
    .trim()
    .slice(0, 500);
}

import { APIConnectionError, APIError } from "openai";
import { explain, RemoteError } from "../../contracts/errors.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import { readRetryAfterMs } from "../../lib/retry.ts";

/** An error response of the service, or none at all, with the traits that callers decide by. */
export class ServiceError extends RemoteError {
  /** undefined if there was no response. */
  readonly status: number | undefined;
  readonly code: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  /** The service rejects this file: empty, of an unsupported type or form, or too large. */
  readonly rejectsFile: boolean;
  /** Every other request would fail the same way (key, quota, store), so trying is pointless. */
  readonly isFatal: boolean;

  constructor(message: string, traits: ServiceErrorTraits) {
    super(message, traits.cause === undefined ? undefined : { cause: traits.cause });
    this.status = traits.status;
    this.code = traits.code ?? "";
    this.retryable = traits.retryable ?? false;
    this.retryAfterMs = traits.retryAfterMs;
    this.rejectsFile = traits.rejectsFile ?? false;
    this.isFatal = traits.isFatal ?? false;
  }
}

interface ServiceErrorTraits {
  readonly status: number | undefined;
  readonly code?: string;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number | undefined;
  readonly rejectsFile?: boolean;
  readonly isFatal?: boolean;
  readonly cause?: unknown;
}

export function hasStatus(error: unknown, ...statuses: number[]): boolean {
  return error instanceof ServiceError && error.status !== undefined && statuses.includes(error.status);
}

/** Codes and types of errors (mostly 429) that waiting does not cure: somebody has to pay or raise a limit. */
const USED_UP = new Set([
  "insufficient_quota",
  "billing_hard_limit_reached",
  "billing_not_active",
  "access_terminated",
]);

interface ErrorContext {
  /** `verb object`, the start of the sentence. */
  readonly what: string;
  readonly tries: number;
  readonly nowMs: number;
  readonly apiKey: string;
}

/** Returns undefined if the error did not come from the service or the network (an unreadable file, a bug). */
export function toServiceError(error: unknown, context: ErrorContext): ServiceError | undefined {
  if (error instanceof APIError && error.status !== undefined) return fromResponse(error, context);
  if (error instanceof APIConnectionError || isTruncatedResponse(error)) return fromNoResponse(error, context);
  return undefined;
}

/** The response broke off while its body was read: undici throws TypeError, cut JSON is a SyntaxError. */
function isTruncatedResponse(error: unknown): boolean {
  return error instanceof SyntaxError || (error instanceof TypeError && error.cause !== undefined);
}

function fromNoResponse(error: unknown, context: ErrorContext): ServiceError {
  const reason = shorten(hideKey(explain(error), context.apiKey));
  return new ServiceError(`${context.what}: no answer from the service${afterTries(context)}: ${reason}`, {
    status: undefined,
    retryable: true,
    cause: safeCause(error, context.apiKey),
  });
}

function fromResponse(error: APIError, context: ErrorContext): ServiceError {
  const code = typeof error.code === "string" ? error.code : "";
  const usedUp = USED_UP.has(code) || USED_UP.has(error.type ?? "");
  const status = error.status ?? 0;
  const told = error.headers?.get("x-should-retry");
  const retryable = !usedUp && (told === "true" || (told !== "false" && isTransient(status)));
  return new ServiceError(`${context.what}: ${sentence(error, usedUp, context)}`, {
    status,
    code,
    retryable,
    retryAfterMs: readRetryAfterMs(error.headers ?? {}, context.nowMs),
    rejectsFile: !usedUp && isAboutFile(error),
    isFatal: usedUp || status === 401 || status === 403,
    cause: safeCause(error, context.apiKey),
  });
}

function isTransient(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

function sentence(error: APIError, usedUp: boolean, context: ErrorContext): string {
  const said = shorten(hideKey(error.message, context.apiKey));
  if (usedUp) return `the account's quota is used up; add credit or raise its limit, then run again (${said})`;
  switch (error.status) {
    // Without the service's message, which tends to repeat the key.
    case 401:
      return "the key was refused (401); check the API key and the address it belongs to";
    case 403:
      return `the key lacks the right to do this (${said})`;
    case 429:
      return `too many requests${afterTries(context)} (${said})`;
    default:
      return `the service answered ${said}${afterTries(context)}`;
  }
}

function afterTries(context: ErrorContext): string {
  return context.tries > 1 ? ` after ${context.tries} tries` : "";
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

function hideKey(text: string, apiKey: string): string {
  return apiKey ? text.replaceAll(apiKey, "***") : text;
}

/** A cause that repeats the key would carry it into logs. */
function safeCause(error: unknown, apiKey: string): unknown {
  const refusedKey = error instanceof APIError && error.status === 401;
  return refusedKey || (apiKey && explain(error).includes(apiKey)) ? undefined : error;
}

const CODES = new Set([
  "unsupported_file",
  "invalid_file",
  "empty_file",
  "file_too_large",
  "unsupported_file_type",
  "invalid_file_type",
  "invalid_file_format",
]);

/** Narrow on purpose: "the files API is not supported here" is about the address, not about a file. */
const WORDINGS = [
  /\bfile is (?:empty|too large|corrupt)/i,
  /\bfile (?:type|format|extension)\b.{0,200}\bnot supported/i,
  /\bfiles? with extensions?\b.{0,200}\bnot supported/i,
  /\b(?:invalid|unsupported) (?:file (?:type|format|extension)|extension)\b/i,
];

/**
 * Does the service reject this file? Judged by the message: a wrong address, version or gateway can answer 400 or 413 to
 * everything, and taking that for a verdict on the files would give up all of them.
 */
function isAboutFile({ status, code, error }: APIError): boolean {
  // No object: the body is not an error of this protocol, but for example a gateway's page.
  if ((status !== 400 && status !== 413) || !isJsonObject(error)) return false;
  const message = String(error["message"] ?? "");
  return status === 413 || CODES.has(code ?? "") || WORDINGS.some((wording) => wording.test(message));
}

import { APIConnectionError, APIError } from "openai";
import { explain, RemoteError } from "../../contracts/errors.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import { readRetryAfterMs } from "../../lib/retry-after.ts";

/** What the service answered instead of doing its part, in one sentence for people and with what callers decide by. */
export class Refusal extends RemoteError {
  /** undefined: no answer arrived at all. */
  readonly status: number | undefined;
  readonly code: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  /** true: it is the service itself that refuses this very file: empty, of a type or form it does not take, too large. */
  readonly concernsFile: boolean;
  /** true: the next item would meet the same (key, quota, store), so trying it is pointless. */
  readonly concernsAll: boolean;

  constructor(message: string, traits: RefusalTraits) {
    super(message, traits.cause === undefined ? undefined : { cause: traits.cause });
    this.status = traits.status;
    this.code = traits.code ?? "";
    this.retryable = traits.retryable ?? false;
    this.retryAfterMs = traits.retryAfterMs;
    this.concernsFile = traits.concernsFile ?? false;
    this.concernsAll = traits.concernsAll ?? false;
  }
}

interface RefusalTraits {
  readonly status: number | undefined;
  readonly code?: string;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number | undefined;
  readonly concernsFile?: boolean;
  readonly concernsAll?: boolean;
  readonly cause?: unknown;
}

export function hasStatus(error: unknown, ...statuses: number[]): boolean {
  return error instanceof Refusal && error.status !== undefined && statuses.includes(error.status);
}

/** Codes and types of answers (mostly 429) that no waiting cures: somebody has to pay or raise a limit. */
const USED_UP = new Set([
  "insufficient_quota",
  "billing_hard_limit_reached",
  "billing_not_active",
  "access_terminated",
]);

interface RefusalContext {
  /** `verb object`, the start of the sentence. */
  readonly what: string;
  readonly tries: number;
  readonly nowMs: number;
  readonly apiKey: string;
}

/** undefined when the error did not come from the service or the way to it (a file that cannot be read, a bug). */
export function toRefusal(error: unknown, context: RefusalContext): Refusal | undefined {
  if (error instanceof APIError && error.status !== undefined) return fromAnswer(error, context);
  if (error instanceof APIConnectionError || isTornAnswer(error)) return fromSilence(error, context);
  return undefined;
}

/** The answer broke off while its body was read: undici says TypeError, a cut JSON text is a SyntaxError. */
function isTornAnswer(error: unknown): boolean {
  return error instanceof SyntaxError || (error instanceof TypeError && error.cause !== undefined);
}

function fromSilence(error: unknown, context: RefusalContext): Refusal {
  const reason = shorten(hideKey(explain(error), context.apiKey));
  return new Refusal(`${context.what}: no answer from the service${afterTries(context)}: ${reason}`, {
    status: undefined,
    retryable: true,
    cause: safeCause(error, context.apiKey),
  });
}

function fromAnswer(error: APIError, context: RefusalContext): Refusal {
  const code = typeof error.code === "string" ? error.code : "";
  const usedUp = USED_UP.has(code) || USED_UP.has(error.type ?? "");
  const status = error.status ?? 0;
  const told = error.headers?.get("x-should-retry");
  const retryable = !usedUp && (told === "true" || (told !== "false" && isPassing(status)));
  return new Refusal(`${context.what}: ${sentence(error, usedUp, context)}`, {
    status,
    code,
    retryable,
    retryAfterMs: readRetryAfterMs(error.headers ?? {}, context.nowMs),
    concernsFile: !usedUp && isAboutFile(error),
    concernsAll: usedUp || status === 401 || status === 403,
    cause: safeCause(error, context.apiKey),
  });
}

function isPassing(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

function sentence(error: APIError, usedUp: boolean, context: RefusalContext): string {
  const said = shorten(hideKey(error.message, context.apiKey));
  if (usedUp) return `the account's quota is used up; add credit or raise its limit, then run again (${said})`;
  switch (error.status) {
    // Not followed by what the service said: it tends to repeat the key.
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

function afterTries(context: RefusalContext): string {
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
 * Is it this very file that the service refuses? Judged by what the answer says: a wrong address, version or gateway can
 * answer 400 or 413 to everything, and whoever took that for a verdict on the files would give up all of them.
 */
function isAboutFile({ status, code, error }: APIError): boolean {
  // No object: the body is not an error of this protocol but, say, a gateway's page.
  if ((status !== 400 && status !== 413) || !isJsonObject(error)) return false;
  const message = String(error["message"] ?? "");
  return status === 413 || CODES.has(code ?? "") || WORDINGS.some((wording) => wording.test(message));
}

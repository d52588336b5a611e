import type { APIError } from "openai";
import { isJsonObject } from "../../lib/json-object.ts";

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
export function isAboutFile({ status, code, error }: APIError): boolean {
  // No object: the body is not an error of this protocol but, say, a gateway's page.
  if ((status !== 400 && status !== 413) || !isJsonObject(error)) return false;
  const message = String(error["message"] ?? "");
  return status === 413 || CODES.has(code ?? "") || WORDINGS.some((wording) => wording.test(message));
}

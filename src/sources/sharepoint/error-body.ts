/** What an error answer says, whichever of its many dialects it speaks. */
export interface ErrorBody {
  /** SharePoint's number, which does not depend on the language of the site; undefined when it gave none. */
  readonly code: number | undefined;
  /** The exception class behind it, e.g. `System.IO.FileNotFoundException`; "" when it gave none. */
  readonly exception: string;
  /** For people, one line; "" when it said nothing usable. */
  readonly message: string;
}

const NOTHING: ErrorBody = { code: undefined, exception: "", message: "" };

export function parseErrorBody(text: string): ErrorBody {
  const trimmed = text.trim();
  if (trimmed.startsWith("{")) return parseJsonError(trimmed);
  if (/<m:error\b/.test(trimmed)) return parseXmlError(trimmed);
  // A web page says nothing in its markup that is worth repeating; a short plain text does.
  if (trimmed.startsWith("<") || trimmed.length > 300) return NOTHING;
  return { ...NOTHING, message: oneLine(trimmed) };
}

function parseJsonError(text: string): ErrorBody {
  const body = parseObject(text);
  const error = body["odata.error"] ?? body["error"];
  if (isObject(error)) {
    const message = isObject(error["message"]) ? error["message"]["value"] : error["message"];
    return { ...splitCode(String(error["code"] ?? "")), message: oneLine(asText(message)) };
  }
  return { ...NOTHING, message: oneLine(asText(body["error_description"]) || asText(error)) };
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

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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

import { BadInputError } from "../../contracts/errors.ts";
import { readUpTo } from "../../lib/text.ts";
import { RefusedError } from "./failure.ts";

const BODY_LIMIT_BYTES = 1024 * 1024;
const MAX_DEPTH = 64;

/** Reads the fields of a JSON object or a form. An empty body has no fields. */
export async function readBody(request: Request): Promise<ReadonlyMap<string, unknown>> {
  const bytes = await readLimited(request);
  if (bytes.length === 0) return new Map();
  const mediaType = (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const fields = await readFields(request, bytes, mediaType);
  for (const [name, value] of fields) {
    if (!isText(name) || !isText(value)) {
      throw new BadInputError(`'${name.replaceAll("\0", "").slice(0, 80)}' holds a character that is no text.`);
    }
  }
  return fields;
}

async function readFields(
  request: Request,
  bytes: Uint8Array<ArrayBuffer>,
  mediaType: string,
): Promise<Map<string, unknown>> {
  if (mediaType === "application/x-www-form-urlencoded") return readForm(new URLSearchParams(decode(bytes)));
  if (mediaType === "multipart/form-data") return readForm(await readMultipart(request, bytes));
  if (mediaType === "" || mediaType === "application/json" || mediaType.endsWith("+json"))
    return readJson(decode(bytes));
  throw new BadInputError(
    `Content type '${mediaType.slice(0, 80)}' not supported. Accepted: application/json or a form.`,
  );
}

async function readLimited(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(request.headers.get("content-length") ?? 0) > BODY_LIMIT_BYTES) throw tooLarge();
  const body = await readUpTo(bodyOf(request), BODY_LIMIT_BYTES);
  if (!body) throw tooLarge();
  return new Uint8Array(body);
}

function tooLarge(): RefusedError {
  return new RefusedError(413, `Request body is larger than ${BODY_LIMIT_BYTES} bytes.`);
}

/** A body that ends early is the fault of the client or the network, not of the server. */
async function* bodyOf(request: Request): AsyncGenerator<Uint8Array, void> {
  const reader = request.body?.getReader();
  if (!reader) return;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw new RefusedError(408, "The request ended before its body was complete.");
      });
      if (done) return;
      yield value;
    }
  } finally {
    reader.releaseLock();
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new BadInputError("Request body is not UTF-8.", { cause: error });
  }
}

function readJson(body: string): Map<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (error) {
    throw new BadInputError("Request body is not valid JSON", { cause: error });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new BadInputError("Request body must be a JSON object.");
  }
  return new Map(Object.entries(value));
}

async function readMultipart(request: Request, bytes: Uint8Array<ArrayBuffer>): Promise<Iterable<[string, unknown]>> {
  try {
    return await new Response(bytes, {
      headers: { "content-type": request.headers.get("content-type") ?? "" },
    }).formData();
  } catch (error) {
    throw new BadInputError("Request body is not a valid form.", { cause: error });
  }
}

function readForm(fields: Iterable<[string, unknown]>): Map<string, unknown> {
  const form = new Map<string, unknown>();
  for (const [name, value] of fields) {
    if (form.has(name)) throw new BadInputError(`'${name}' is given more than once.`);
    form.set(name, value);
  }
  return form;
}

/** Refuses, at any depth, NUL, which databases do not accept, and lone surrogates, which files cannot hold. */
function isText(value: unknown, depth = 0): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0");
  if (typeof value !== "object" || value === null) return true;
  if (depth > MAX_DEPTH) throw new BadInputError(`Request body is nested more than ${MAX_DEPTH} levels deep.`);
  return Object.entries(value).every(([name, member]) => isText(name) && isText(member, depth + 1));
}

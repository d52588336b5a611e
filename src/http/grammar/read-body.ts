import { BadInputError } from "../../contracts/errors.ts";
import { RefusedError } from "./failure.ts";

export const BODY_LIMIT_BYTES = 1024 * 1024;

/** The fields of a JSON object or a form, whichever the client sent. No body is no fields. */
export async function readBody(request: Request): Promise<ReadonlyMap<string, unknown>> {
  const bytes = await readLimited(request);
  if (bytes.length === 0) return new Map();
  const mediaType = (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  if (mediaType === "application/x-www-form-urlencoded") return readForm(new URLSearchParams(decode(bytes)));
  if (mediaType === "multipart/form-data") return readForm(await readMultipart(request, bytes));
  if (mediaType === "" || mediaType === "application/json" || mediaType.endsWith("+json"))
    return readJson(decode(bytes));
  throw new BadInputError(`Content type '${mediaType}' not supported. Accepted: application/json or a form.`);
}

async function readLimited(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > BODY_LIMIT_BYTES)
      throw new RefusedError(413, `Request body is larger than ${BODY_LIMIT_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
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

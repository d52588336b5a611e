import { randomId } from "../../../lib/random-id.ts";

/** An answer of the wire protocol that is not a success. */
export class WireError extends Error {
  override readonly name: string = "WireError";
  readonly status: number;
  /** The field that is wrong, as the caller spells it; null when it is none in particular. */
  readonly param: string | null;
  /** What programs tell errors of one status apart by. */
  readonly code: string | null;
  constructor(status: number, message: string, param: string | null = null, code: string | null = null) {
    super(message);
    this.status = status;
    this.param = param;
    this.code = code ?? (status === 404 ? "not_found" : null);
  }
}

export function badRequest(message: string, param: string | null = null): WireError {
  return new WireError(400, message, param);
}

export function notFound(message: string): WireError {
  return new WireError(404, message);
}

export function noSuchStore(id: string): WireError {
  return notFound(`No vector store found with id '${id}'.`);
}

export function storeExpired(id: string): WireError {
  return badRequest(`Vector store '${id}' is expired.`);
}

export function noSuchFile(id: string): WireError {
  return notFound(`No such file object: '${id}'.`);
}

export function noSuchModel(id: string, known: readonly string[]): WireError {
  const some = known.slice(0, 5).map((name) => `'${name}'`);
  const message = `The model '${id}' does not exist. There is ${some.join(", ")}; GET /models lists all.`;
  return new WireError(404, message, "model", "model_not_found");
}

/** The one shape of every error: message, type, param and code, all always there. */
export function errorResponse(error: WireError): Response {
  const type = error.status >= 500 ? "server_error" : error.status === 429 ? "requests" : "invalid_request_error";
  const { message, param, code, status } = error;
  const headers = status === 429 ? { "retry-after": "1" } : undefined;
  return Response.json({ error: { message, type, param, code } }, { status, ...(headers && { headers }) });
}

/** What the official clients look for in every answer; the short poll interval is for those that wait for a file. */
export function withHeaders(response: Response, startedAt: number): Response {
  const ours = {
    "x-request-id": randomId("req_"),
    "openai-version": "2020-10-01",
    "openai-processing-ms": String(Math.round(performance.now() - startedAt)),
    "openai-poll-after-ms": "20",
  };
  for (const [name, value] of Object.entries(ours)) {
    // What a language model behind us answered has its own.
    if (!response.headers.has(name)) response.headers.set(name, value);
  }
  return response;
}

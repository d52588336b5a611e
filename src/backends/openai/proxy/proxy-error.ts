import { RemoteError } from "../../../contracts/errors.ts";

/** A refusal of our own, in the one shape that clients of the protocol read. */
export function proxyError(status: number, message: string, param: string | null = null): Response {
  const type = status >= 500 ? "server_error" : "invalid_request_error";
  return Response.json({ error: { message, type, param, code: null } }, { status });
}

const TIMEOUTS: ReadonlySet<string> = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT"]);

/** The service did not answer. Of the reason only its name is told: the rest has addresses in it that are not the client's business. */
export function noAnswer(error: unknown): Response {
  if (error instanceof RemoteError) return proxyError(502, error.message);
  const code = codeOf(error);
  const why = code ? ` (${code})` : "";
  return TIMEOUTS.has(code)
    ? proxyError(504, `The service behind this server did not answer in time${why}.`)
    : proxyError(502, `The service behind this server could not be reached${why}.`);
}

function codeOf(error: unknown): string {
  for (let at = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth += 1) {
    if ("code" in at && typeof at.code === "string") return at.code;
    if (at instanceof AggregateError && at.errors.length > 0) return codeOf(at.errors[0]);
  }
  return "";
}

import { randomUUID } from "node:crypto";
import { jsonReply, type Reply } from "../http-reply.ts";

/** An error as Graph words it. Thrown inside, turned into an answer at the edge. */
export class GraphError extends Error {
  override readonly name: string = "GraphError";
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

export function itemNotFound(message = "The resource could not be found."): GraphError {
  return new GraphError(404, "itemNotFound", message);
}

export function invalidRequest(message: string): GraphError {
  return new GraphError(400, "invalidRequest", message);
}

/** The token is too old: the client starts over at `location`, and what it knows and does not meet there is gone. */
export function resyncRequired(location: string): GraphError {
  return new GraphError(
    410,
    "resyncChangesApplyDifferences",
    "Resync required. Replace any local items with the server's version (including deletes) if you're sure that the service was up to date with your local changes when you last sync'd. Upload any local changes that the server doesn't know about.",
    { Location: location },
  );
}

export function graphErrorReply(error: GraphError, clientRequestId: string): Reply {
  const requestId = randomUUID();
  return jsonReply(
    error.status,
    {
      error: {
        code: error.code,
        message: error.message,
        innerError: {
          date: new Date().toISOString().slice(0, 19),
          "request-id": requestId,
          "client-request-id": clientRequestId || requestId,
        },
      },
    },
    { ...error.headers },
  );
}

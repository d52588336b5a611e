import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { refusalBody } from "./refusal.ts";

/** How long a client may take to send what it began. */
export interface RequestTimeouts {
  /** For all headers together. */
  readonly headersMs: number;
  /** In this time at least `leastBytes` of the body must arrive. */
  readonly bodyMs: number;
  readonly leastBytes: number;
}

export const REQUEST_TIMEOUTS: RequestTimeouts = { headersMs: 20_000, bodyMs: 30_000, leastBytes: 16 * 1024 };

/**
 * Ends requests whose body hardly arrives. Not by a timeout for the whole body, which a large upload would exceed, nor by
 * idleness of the connection, which we cause ourselves while we pass an upload on more slowly than it comes.
 */
export function endSlowBodies(server: Server, { bodyMs, leastBytes }: RequestTimeouts): void {
  server.on("request", (request, response) => {
    if (!hasBody(request)) return;
    let seen = request.socket.bytesRead;
    let wasHeld = false;
    const timer = setInterval(() => {
      const arrived = request.socket.bytesRead - seen;
      seen += arrived;
      const held = request.readableLength >= request.readableHighWaterMark;
      if (request.complete) clearInterval(timer);
      // Data that was held back until now had no time to arrive.
      else if (arrived < leastBytes && !held && !wasHeld) endSlow(request, response);
      wasHeld = held;
    }, bodyMs);
    timer.unref();
    request.once("close", () => clearInterval(timer));
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function endSlow(request: IncomingMessage, response: ServerResponse): void {
  // It was ended once before and does not read what is left to send.
  if (request.socket.writableEnded) {
    request.socket.destroy();
    return;
  }
  const path = (request.url ?? "/").split("?")[0] ?? "/";
  if (!response.headersSent) writeRefusal(request.socket, 408, "The body of the request arrived too slowly.", path);
  request.socket.destroySoon();
}

const REASONS: { readonly [status: number]: string } = {
  400: "Bad Request",
  408: "Request Timeout",
  413: "Content Too Large",
  431: "Request Header Fields Too Large",
};

/** Answers what is not valid HTTP with a sentence, and closes the connection. */
export function answerUnreadable(server: Server): void {
  const answering = new WeakMap<object, ServerResponse>();
  server.on("request", (request, response) => answering.set(request.socket, response));
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const response = answering.get(socket);
    const begun = response?.headersSent === true && !response.writableFinished;
    if (error.code === "ECONNRESET" || !socket.writable || begun) {
      socket.destroy();
      return;
    }
    const [status, message] = sayWhatIsWrong(error.code);
    writeRefusal(socket, status, message, "");
    socket.destroySoon();
  });
}

function sayWhatIsWrong(code: string | undefined): [status: number, message: string] {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return [431, "The address and the headers of the request are longer than 16 kB together."];
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return [413, "The chunks of the request body carry more than their content."];
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return [408, "The headers of the request did not arrive in time."];
    default:
      return [400, "The request is not valid HTTP."];
  }
}

function writeRefusal(socket: Socket, status: number, message: string, path: string): void {
  const body = JSON.stringify(refusalBody(path, status, message));
  const head = [
    `HTTP/1.1 ${status} ${REASONS[status]}`,
    "connection: close",
    "content-type: application/json",
    "x-content-type-options: nosniff",
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
}

import type { IncomingMessage, ServerResponse } from "node:http";
import { finished } from "node:stream/promises";
import type { FaultEffect } from "./control/fault-effect.ts";
import type { Reply } from "./http-reply.ts";

export interface Sent {
  readonly status: number;
  readonly bytes: number;
}

/** Ends a connection without an answer. */
export function breakConnection(request: IncomingMessage, how: "reset" | "drop"): Sent {
  if (how === "reset") request.socket.resetAndDestroy();
  else request.socket.destroy();
  return { status: 0, bytes: 0 };
}

/** Sends the reply, or as much of it as the fault lets through; ends when the last byte is out or the client has gone. */
export async function sendReply(
  request: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  fault: FaultEffect = {},
): Promise<Sent> {
  const body = typeof reply.body === "string" ? Buffer.from(reply.body) : reply.body;
  const cutAt = fault.stallAfterBytes ?? fault.truncateAfterBytes;
  const isWhole = cutAt === undefined || cutAt >= body.length || request.method === "HEAD";
  const endsClean = !isWhole && fault.stallAfterBytes === undefined && fault.ending === "clean";
  response.writeHead(reply.status, {
    ...reply.headers,
    ...(endsClean ? {} : { "Content-Length": String(body.length) }),
  });
  if (isWhole) {
    response.end(request.method === "HEAD" ? undefined : body);
    await settled(response);
    return { status: reply.status, bytes: request.method === "HEAD" ? 0 : body.length };
  }
  const part = body.subarray(0, cutAt);
  if (endsClean) response.end(part);
  else await writePart(response, part);
  if (!endsClean && fault.stallAfterBytes === undefined) {
    if (fault.ending === "reset") request.socket.resetAndDestroy();
    else request.socket.destroySoon();
  }
  await settled(response);
  return { status: reply.status, bytes: part.length };
}

/** Ends when the part was handed to the operating system, so that cutting the connection does not cut it, too. */
async function writePart(response: ServerResponse, part: Uint8Array): Promise<void> {
  response.flushHeaders();
  if (part.length === 0) return;
  await new Promise<void>((resolve) => response.write(part, () => resolve()));
}

/** A client that goes away is not our failure. */
async function settled(response: ServerResponse): Promise<void> {
  await finished(response).catch(() => undefined);
}

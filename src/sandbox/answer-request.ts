import type { IncomingMessage, ServerResponse } from "node:http";
import { sleep } from "../lib/time.ts";
import { browseDocument } from "./browse-document.ts";
import { answerControl, isControlPath } from "./control/answer-control.ts";
import type { Fault, FaultEffect } from "./control/fault-plan.ts";
import { runOperation } from "./control/operations.ts";
import { keptHeaders } from "./control/request-log.ts";
import { answerSignIn } from "./entra/token-endpoint.ts";
import { type Asked, jsonReply, type Reply } from "./http-reply.ts";
import { answerApi, badRequest } from "./rest/answer-api.ts";
import type { SandboxState } from "./sandbox-state.ts";
import { breakConnection, type Sent, sendReply } from "./send-reply.ts";

const MAX_BODY_BYTES = 256 * 1024 * 1024;

/** One request from first byte to last. Never rejects: what goes wrong inside becomes a 500 that says so. */
export async function answerRequest(
  request: IncomingMessage,
  response: ServerResponse,
  state: SandboxState,
  stopping: AbortSignal,
): Promise<void> {
  try {
    const asked = await readRequest(request, state);
    if (isControlPath(asked.rawPath)) await sendReply(request, response, answerControl(asked, state));
    else await answerAsTenant(request, response, { asked, state, stopping });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (response.headersSent) request.socket.destroy();
    else await sendReply(request, response, jsonReply(500, { error: `The sandbox failed: ${message}` }));
  }
}

async function answerAsTenant(
  request: IncomingMessage,
  response: ServerResponse,
  { asked, state, stopping }: { asked: Asked; state: SandboxState; stopping: AbortSignal },
): Promise<void> {
  const startedAt = new Date();
  const fault = state.faults.strike(asked);
  const sent = await answerUnder(fault, request, response, { asked, state, stopping });
  state.log.add({
    at: startedAt.toISOString(),
    method: asked.method,
    url: request.url ?? "",
    status: sent.status,
    bytes: sent.bytes,
    durationMs: Date.now() - startedAt.getTime(),
    headers: keptHeaders(asked.headers),
    fault: fault?.id ?? null,
  });
}

async function answerUnder(
  fault: Fault | undefined,
  request: IncomingMessage,
  response: ServerResponse,
  { asked, state, stopping }: { asked: Asked; state: SandboxState; stopping: AbortSignal },
): Promise<Sent> {
  const effect = fault?.effect ?? {};
  for (const call of effect.run ?? []) runOperation(state, call);
  if (effect.delayMs !== undefined) await sleep(effect.delayMs, AbortSignal.any([stopping, whenGone(response)]));
  if (response.destroyed) return { status: 0, bytes: 0 };
  if (effect.connection !== undefined) return breakConnection(request, effect.connection);
  const reply = effect.status === undefined ? route(asked, state) : faultReply(effect.status, effect);
  return sendReply(request, response, { ...reply, headers: { ...reply.headers, ...effect.headers } }, effect);
}

/** Aborts when the client has closed the connection: nobody waits for the rest of a delay. */
function whenGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  return gone.signal;
}

function route(asked: Asked, state: SandboxState): Reply {
  if (/[#\s]/.test(asked.rawPath + asked.rawQuery)) return badRequest();
  return (
    answerApi(asked, state.tenant, state.signIn) ??
    answerSignIn(asked, state.signIn) ??
    browseDocument(asked, state.tenant, state.settings)
  );
}

const THROTTLED = JSON.stringify({
  "odata.error": {
    code: "-2147429894, Microsoft.SharePoint.SPException",
    message: { lang: "en-US", value: "The request has been throttled." },
  },
});

/** Without a body of its own a throttled answer gets SharePoint's; others get none. */
function faultReply(status: number, effect: FaultEffect): Reply {
  const body = effect.body ?? (status === 429 || status === 503 ? THROTTLED : "");
  const type = body.startsWith("<") ? "text/html" : body.startsWith("{") ? "application/json" : "text/plain";
  return { status, headers: { "Content-Type": `${type}; charset=utf-8` }, body };
}

async function readRequest(request: IncomingMessage, state: SandboxState): Promise<Asked> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new Error(`read request: the body is larger than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  const url = request.url ?? "/";
  const cut = url.includes("?") ? url.indexOf("?") : url.length;
  const { origins } = state.signIn;
  const origin = `http://${request.headers.host ?? ""}`.toLowerCase();
  return {
    method: request.method ?? "GET",
    rawPath: url.slice(0, cut),
    rawQuery: url.slice(cut + 1),
    headers: request.headers,
    body: Buffer.concat(chunks),
    // A Host header of somebody else's making must not end up in links.
    origin: origins.includes(origin) ? origin : (origins[0] ?? origin),
  };
}

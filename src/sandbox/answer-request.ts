import type { IncomingMessage, ServerResponse } from "node:http";
import { sleep } from "../lib/time.ts";
import { browseDocument } from "./browse-document.ts";
import { answerControl, isControlPath } from "./control/answer-control.ts";
import { bendReply } from "./control/bend-reply.ts";
import type { FaultEffect } from "./control/fault-effect.ts";
import { faultReply, retryAfterOf } from "./control/fault-reply.ts";
import { runOperation } from "./control/operations.ts";
import { keptHeaders } from "./control/request-log.ts";
import { answerSignIn } from "./entra/token-endpoint.ts";
import { answerGraph } from "./graph/answer-graph.ts";
import { answerDownload } from "./graph/download-address.ts";
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
    if (isControlPath(asked.rawPath)) {
      await sendReply(request, response, answerControl(asked, state));
    } else {
      const end = state.throttle.begin(asked);
      await answerAsTenant(request, response, { asked, state, stopping }).finally(end);
    }
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
  const verdict = state.throttle.admit(asked, Date.now());
  const fault = verdict.refused ? undefined : state.faults.strike(asked);
  const sent = verdict.refused
    ? await sendReply(request, response, withHeaders(faultReply(429, {}, asked), verdict.headers))
    : await answerUnder(fault?.effect ?? {}, request, response, { asked, state, stopping, extra: verdict.headers });
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
  effect: FaultEffect,
  request: IncomingMessage,
  response: ServerResponse,
  context: { asked: Asked; state: SandboxState; stopping: AbortSignal; extra: Readonly<Record<string, string>> },
): Promise<Sent> {
  const { asked, state, stopping, extra } = context;
  for (const call of effect.run ?? []) runOperation(state, call);
  if (effect.delayMs !== undefined) await sleep(effect.delayMs, AbortSignal.any([stopping, whenGone(response)]));
  if (response.destroyed) return { status: 0, bytes: 0 };
  if (effect.connection !== undefined) return breakConnection(request, effect.connection);
  const again = (each: Asked): Reply => route(each, state);
  const reply =
    effect.status === undefined
      ? bendReply(route(asked, state), effect, { asked, route: again })
      : faultReply(effect.status, effect, asked);
  return sendReply(
    request,
    response,
    withHeaders(reply, { ...extra, ...effect.headers, ...retryAfterOf(effect) }),
    effect,
  );
}

function withHeaders(reply: Reply, headers: Readonly<Record<string, string>>): Reply {
  return { ...reply, headers: { ...reply.headers, ...headers } };
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
    answerGraph(asked, state.tenant, state.signIn) ??
    answerDownload(asked, state.tenant) ??
    answerSignIn(asked, state.signIn) ??
    browseDocument(asked, state.tenant, state.settings)
  );
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

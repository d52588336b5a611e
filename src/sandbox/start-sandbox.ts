import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { finished } from "node:stream/promises";
import { BadInputError } from "../contracts/errors.ts";
import { readUpTo } from "../lib/text.ts";
import { sleep } from "../lib/time.ts";
import { type ClientCertificate, makeCertificate } from "./certificates.ts";
import { answerControl, isControlPath } from "./control/answer-control.ts";
import { runOperation } from "./control/operations.ts";
import { applyFault, type FaultEffect, faultReply, retryAfterOf } from "./faults.ts";
import { jsonReply, type Reply, type SandboxRequest } from "./http-reply.ts";
import { keptHeaders } from "./request-log.ts";
import { SandboxState } from "./sandbox-state.ts";
import type { SeedName } from "./seed/seed-tenant.ts";
import { browseDocument } from "./sharepoint/browse-document.ts";
import { AccessTokens, answerSignIn } from "./sharepoint/entra.ts";
import { answerApi, badRequest } from "./sharepoint/rest/answer-api.ts";
import type { Tenant } from "./sharepoint/tenant/tenant.ts";

export interface SandboxOptions {
  /** 0, the default, lets the operating system choose. */
  readonly port?: number;
  /** A loopback address: the sandbox gives itself to whoever can reach it. */
  readonly host?: string;
  readonly seed?: SeedName;
  /** The certificate the app signs in with. By default all sandboxes of a process share one: to make it takes longer than to start them. */
  readonly certificate?: ClientCertificate;
}

/** A running tenant, and what a client needs to sign in to it. */
export interface Sandbox {
  readonly url: string;
  readonly siteUrl: string;
  readonly tenantId: string;
  readonly clientId: string;
  readonly tokenEndpoint: string;
  /** Certificate and private key in one PEM text. */
  readonly certificatePem: string;
  /** SHA-1, upper-case hex. */
  readonly certificateThumbprint: string;
  readonly certificateThumbprintSha256: string;
  /** The state itself: tests in the same process may change it directly. */
  readonly tenant: Tenant;
  readonly state: SandboxState;
  /** Ends at once, whatever is still being answered. */
  stop(): Promise<void>;
}

const TENANT_ID = "7c1e5f0a-3b52-4d0e-9a57-5a2d3c8e4b11";
const CLIENT_ID = "e2b6f5d4-90c3-4f7b-8d21-6c0a9b7f3e55";
/** Public, like everything here: it opens only a tenant of one's own making. */
const CLIENT_SECRET = "sandbox-client-secret";
const LOOPBACK = ["127.0.0.1", "localhost", "::1"];

export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { port = 0, host = "127.0.0.1", seed = "company" } = options;
  if (!LOOPBACK.includes(host)) {
    throw new BadInputError(`Start sandbox on '${host}': only ${LOOPBACK.join(", ")} are allowed.`);
  }
  const [certificate, tokens] = await Promise.all([options.certificate ?? ownCertificate(), AccessTokens.create()]);
  const server = createServer();
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address();
  const boundPort = typeof address === "object" && address ? address.port : port;
  const origins = originsOf(host, boundPort);
  const registration = { tenantId: TENANT_ID, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET, certificate };
  const state = new SandboxState({ registration, tokens, origins }, seed);
  const stopping = new AbortController();
  server.on("request", (request, response) => void answerRequest(request, response, state, stopping.signal));
  return {
    ...state.describe(),
    certificatePem: certificate.pem,
    certificateThumbprint: certificate.thumbprint,
    certificateThumbprintSha256: certificate.thumbprintSha256,
    tenant: state.tenant,
    state,
    stop: async () => {
      stopping.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

let certificateOfProcess: Promise<ClientCertificate> | undefined;

function ownCertificate(): Promise<ClientCertificate> {
  certificateOfProcess ??= makeCertificate();
  return certificateOfProcess;
}

/** The chosen host first, then every other spelling of this machine. */
function originsOf(host: string, port: number): string[] {
  return [...new Set([host, ...LOOPBACK])].map((each) => `http://${each.includes(":") ? `[${each}]` : each}:${port}`);
}

const MAX_BODY_BYTES = 256 * 1024 * 1024;

/** One request from first byte to last. Never rejects: what goes wrong inside becomes a 500 that says so. */
async function answerRequest(
  incoming: IncomingMessage,
  response: ServerResponse,
  state: SandboxState,
  stopping: AbortSignal,
): Promise<void> {
  try {
    const request = await readRequest(incoming, state);
    if (isControlPath(request.rawPath)) {
      await sendReply(incoming, response, answerControl(request, state));
    } else {
      const end = state.throttle.begin(request);
      await answerAsTenant(incoming, response, { request, state, stopping }).finally(end);
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (response.headersSent) incoming.socket.destroy();
    else await sendReply(incoming, response, jsonReply(500, { error: `The sandbox failed: ${message}` }));
  }
}

async function answerAsTenant(
  incoming: IncomingMessage,
  response: ServerResponse,
  { request, state, stopping }: { request: SandboxRequest; state: SandboxState; stopping: AbortSignal },
): Promise<void> {
  const startedAt = new Date();
  const verdict = state.throttle.admit(request, Date.now());
  const fault = verdict.refused ? undefined : state.faults.match(request);
  const sent = verdict.refused
    ? await sendReply(incoming, response, withHeaders(faultReply(429, {}), verdict.headers))
    : await answerUnder(fault?.effect ?? {}, incoming, response, { request, state, stopping, extra: verdict.headers });
  state.log.add({
    at: startedAt.toISOString(),
    method: request.method,
    url: incoming.url ?? "",
    status: sent.status,
    bytes: sent.bytes,
    durationMs: Date.now() - startedAt.getTime(),
    headers: keptHeaders(request.headers),
    fault: fault?.id ?? null,
  });
}

async function answerUnder(
  effect: FaultEffect,
  incoming: IncomingMessage,
  response: ServerResponse,
  context: {
    request: SandboxRequest;
    state: SandboxState;
    stopping: AbortSignal;
    extra: Readonly<Record<string, string>>;
  },
): Promise<Sent> {
  const { request, state, stopping, extra } = context;
  for (const call of effect.run ?? []) runOperation(state, call);
  if (effect.delayMs !== undefined) await sleep(effect.delayMs, AbortSignal.any([stopping, whenGone(response)]));
  if (response.destroyed) return { status: 0, bytes: 0 };
  if (effect.connection !== undefined) return breakConnection(incoming, effect.connection);
  const again = (each: SandboxRequest): Reply => route(each, state);
  const reply =
    effect.status === undefined
      ? applyFault(route(request, state), effect, { request, route: again })
      : faultReply(effect.status, effect);
  return sendReply(
    incoming,
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

function route(request: SandboxRequest, state: SandboxState): Reply {
  if (/[#\s]/.test(request.rawPath + request.rawQuery)) return badRequest();
  return (
    answerApi(request, state.tenant, state.signIn) ??
    answerSignIn(request, state.signIn) ??
    browseDocument(request, state.tenant, state.settings)
  );
}

async function readRequest(incoming: IncomingMessage, state: SandboxState): Promise<SandboxRequest> {
  const body = await readUpTo(incoming, MAX_BODY_BYTES);
  if (!body) throw new Error(`read request: the body is larger than ${MAX_BODY_BYTES} bytes`);
  const url = incoming.url ?? "/";
  const cut = url.includes("?") ? url.indexOf("?") : url.length;
  const { origins } = state.signIn;
  const origin = `http://${incoming.headers.host ?? ""}`.toLowerCase();
  return {
    method: incoming.method ?? "GET",
    rawPath: url.slice(0, cut),
    rawQuery: url.slice(cut + 1),
    headers: incoming.headers,
    body,
    // A Host header of somebody else's making must not end up in links.
    origin: origins.includes(origin) ? origin : (origins[0] ?? origin),
  };
}

interface Sent {
  readonly status: number;
  readonly bytes: number;
}

/** Ends a connection without an answer. */
function breakConnection(incoming: IncomingMessage, how: "reset" | "drop"): Sent {
  if (how === "reset") incoming.socket.resetAndDestroy();
  else incoming.socket.destroy();
  return { status: 0, bytes: 0 };
}

/** Sends the reply, or as much of it as the fault lets through; ends when the last byte is out or the client has gone. */
async function sendReply(
  incoming: IncomingMessage,
  response: ServerResponse,
  reply: Reply,
  fault: FaultEffect = {},
): Promise<Sent> {
  const body = typeof reply.body === "string" ? Buffer.from(reply.body) : reply.body;
  const cutAt = fault.stallAfterBytes ?? fault.truncateAfterBytes;
  const isWhole = cutAt === undefined || cutAt >= body.length || incoming.method === "HEAD";
  const endsClean = !isWhole && fault.stallAfterBytes === undefined && fault.ending === "clean";
  response.writeHead(reply.status, {
    ...reply.headers,
    ...(endsClean ? {} : { "Content-Length": String(body.length) }),
  });
  if (isWhole) {
    response.end(incoming.method === "HEAD" ? undefined : body);
    await settled(response);
    return { status: reply.status, bytes: incoming.method === "HEAD" ? 0 : body.length };
  }
  const part = body.subarray(0, cutAt);
  if (endsClean) response.end(part);
  else await writePart(response, part);
  if (!endsClean && fault.stallAfterBytes === undefined) {
    if (fault.ending === "reset") incoming.socket.resetAndDestroy();
    else incoming.socket.destroySoon();
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

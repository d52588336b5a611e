import type { IncomingMessage, ServerResponse } from "node:http";
import { finished } from "node:stream/promises";
import { sleep } from "../lib/time.ts";
import { answerControl, isControlPath } from "./control/answer-control.ts";
import { runOperation } from "./control/operations.ts";
import { applyFault, type FaultEffect, faultReply, retryAfterOf } from "./faults.ts";
import { jsonReply, type Reply, type SandboxRequest, textReply } from "./http-reply.ts";
import { mediaTypeOf } from "./media-type.ts";
import { keptHeaders } from "./request-log.ts";
import type { SandboxSettings, SandboxState } from "./sandbox-state.ts";
import { answerSignIn } from "./sharepoint/entra.ts";
import { escapeXml } from "./sharepoint/odata/response.ts";
import { answerApi, badRequest } from "./sharepoint/rest/answer-api.ts";
import { displayText } from "./sharepoint/rest/display-text.ts";
import { downloadReply } from "./sharepoint/rest/download.ts";
import type { Tenant } from "./sharepoint/tenant/tenant.ts";
import type { FileItem, RowItem } from "./sharepoint/tenant/tenant-item.ts";
import { publishedView } from "./sharepoint/tenant/versions.ts";

const MAX_BODY_BYTES = 256 * 1024 * 1024;

/** One request from first byte to last. Never rejects: what goes wrong inside becomes a 500 that says so. */
export async function answerRequest(
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
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new Error(`read request: the body is larger than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  const url = incoming.url ?? "/";
  const cut = url.includes("?") ? url.indexOf("?") : url.length;
  const { origins } = state.signIn;
  const origin = `http://${incoming.headers.host ?? ""}`.toLowerCase();
  return {
    method: incoming.method ?? "GET",
    rawPath: url.slice(0, cut),
    rawQuery: url.slice(cut + 1),
    headers: incoming.headers,
    body: Buffer.concat(chunks),
    // A Host header of somebody else's making must not end up in links.
    origin: origins.includes(origin) ? origin : (origins[0] ?? origin),
  };
}

/**
 * A document at its own address, so that a link in a search result opens it. The real SharePoint would ask the
 * visitor to sign in first; the sandbox holds nothing that is not public.
 */
function browseDocument(request: SandboxRequest, tenant: Tenant, settings: SandboxSettings): Reply {
  let path: string;
  try {
    path = decodeURIComponent(request.rawPath);
  } catch {
    return badRequest();
  }
  const isRead = request.method === "GET" || request.method === "HEAD";
  const page = isRead ? browsePage(path, request.rawQuery, tenant) : undefined;
  if (page) return page;
  const item = tenant.itemAt(path);
  if (item?.kind !== "file" || item.library.template === 119 || !isRead) return textReply(404, "404 FILE NOT FOUND");
  return downloadReply(item, request, {
    rangeRequests: settings.rangeRequests,
    disposition: "inline",
    contentType: mediaTypeOf(item.name),
  });
}

const DISPLAY_FORM = /^(.+)\/DispForm\.aspx$/i;

/** What a link to a site page or to a row of a list opens; undefined when the address is neither. */
function browsePage(path: string, rawQuery: string, tenant: Tenant): Reply | undefined {
  const listPath = DISPLAY_FORM.exec(path)?.[1];
  if (listPath !== undefined) {
    const located = tenant.locate(listPath);
    const row = located?.names.length === 0 ? located.library.find(rowId(rawQuery)) : undefined;
    return row?.kind === "row" ? html(titleOf(row), fieldsOf(row)) : undefined;
  }
  const item = tenant.itemAt(path);
  if (item?.kind !== "file" || item.library.template !== 119) return undefined;
  const page = publishedView(item);
  if (page?.kind !== "file") return undefined;
  return html(titleOf(page), String(page.columns.get("CanvasContent1") ?? page.columns.get("WikiField") ?? ""));
}

function rowId(rawQuery: string): number {
  const entry = [...new URLSearchParams(rawQuery)].find(([name]) => name.toLowerCase() === "id");
  return Number(entry?.[1] ?? 0);
}

function titleOf(item: FileItem | RowItem): string {
  return String(item.columns.get("Title") ?? item.name);
}

function fieldsOf(row: RowItem): string {
  const lines = [...row.library.columns.values()].map((column) => {
    const text = displayText(column, row);
    return `<dt>${escapeXml(column.title)}</dt><dd>${column.richText ? text : escapeXml(text)}</dd>`;
  });
  const files = [...row.attachments.values()].map((file) => {
    const address = `Attachments/${row.listItemId}/${encodeURIComponent(file.name)}`;
    return `<dd><a href="${escapeXml(address)}">${escapeXml(file.name)}</a></dd>`;
  });
  return `<dl>${lines.join("")}${files.length > 0 ? `<dt>Attachments</dt>${files.join("")}` : ""}</dl>`;
}

/** The content is whatever its author wrote, so nothing in it may run. */
function html(title: string, body: string): Reply {
  const name = escapeXml(title);
  return {
    status: 200,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy":
        "default-src 'none'; style-src 'unsafe-inline'; sandbox allow-top-navigation-by-user-activation",
    },
    body: `<!doctype html><meta charset="utf-8"><title>${name}</title><style>body{font:1rem/1.5 sans-serif;max-width:45rem;margin:2rem auto;padding:0 1rem}dt{font-weight:bold}</style><h1>${name}</h1>${body}\n`,
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

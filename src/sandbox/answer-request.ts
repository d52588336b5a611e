import type { IncomingMessage, ServerResponse } from "node:http";
import { finished } from "node:stream/promises";
import { sleep } from "../lib/time.ts";
import { answerControl, isControlPath } from "./control/answer-control.ts";
import { bendReply } from "./control/bend-reply.ts";
import type { FaultEffect } from "./control/fault-effect.ts";
import { faultReply, retryAfterOf } from "./control/fault-reply.ts";
import { runOperation } from "./control/operations.ts";
import { keptHeaders } from "./control/request-log.ts";
import { answerSignIn } from "./entra/token-endpoint.ts";
import { type Asked, jsonReply, type Reply, textReply } from "./http-reply.ts";
import { mediaTypeOf } from "./media-type.ts";
import { escapeXml } from "./odata/atom.ts";
import { answerApi, badRequest } from "./rest/answer-api.ts";
import { displayText } from "./rest/display-text.ts";
import { downloadReply } from "./rest/download.ts";
import type { SandboxSettings } from "./sandbox-settings.ts";
import type { SandboxState } from "./sandbox-state.ts";
import type { Tenant } from "./tenant/tenant.ts";
import type { FileItem, RowItem } from "./tenant/tenant-item.ts";
import { publishedView } from "./tenant/versions.ts";

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
    ? await sendReply(request, response, withHeaders(faultReply(429, {}), verdict.headers))
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
      : faultReply(effect.status, effect);
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

/**
 * A document at its own address, so that a link in a search result opens it. The real SharePoint would ask the
 * visitor to sign in first; the sandbox holds nothing that is not public.
 */
function browseDocument(asked: Asked, tenant: Tenant, settings: SandboxSettings): Reply {
  let path: string;
  try {
    path = decodeURIComponent(asked.rawPath);
  } catch {
    return badRequest();
  }
  const isRead = asked.method === "GET" || asked.method === "HEAD";
  const page = isRead ? browsePage(path, asked.rawQuery, tenant) : undefined;
  if (page) return page;
  const item = tenant.itemAt(path);
  if (item?.kind !== "file" || item.library.template === 119 || !isRead) return textReply(404, "404 FILE NOT FOUND");
  return downloadReply(item, asked, {
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
function breakConnection(request: IncomingMessage, how: "reset" | "drop"): Sent {
  if (how === "reset") request.socket.resetAndDestroy();
  else request.socket.destroy();
  return { status: 0, bytes: 0 };
}

/** Sends the reply, or as much of it as the fault lets through; ends when the last byte is out or the client has gone. */
async function sendReply(
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

import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { SiteAnswer, SiteDocument, Trouble } from "./site-section.ts";
import type { SiteCount } from "./web-site.ts";

const FIRST_DAY = Date.UTC(2026, 0, 5, 9, 0, 0);
const DAY_MS = 86_400_000;

/** What decides the version of a page: it has another one after every edit. */
export interface Version {
  readonly path: string;
  readonly revision: number;
  readonly seed: string;
  /** Of the answer: no two have the same. */
  readonly answer: number;
}

/** Sends what lies at an address, as a server with such validators does. */
export function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  answer: SiteAnswer | undefined,
  { version, count }: { readonly version: Version; readonly count: SiteCount },
): void {
  count.requests++;
  if (!answer) {
    sendError(request, response, { status: 404 });
  } else if (answer.kind === "redirect") {
    response.writeHead(answer.status, { Location: answer.location, "Content-Length": "0" }).end();
  } else if (answer.kind === "trouble") {
    sendTrouble(request, response, answer.trouble);
  } else {
    sendDocument(request, response, answer, { version, count });
  }
}

function sendDocument(
  request: IncomingMessage,
  response: ServerResponse,
  document: SiteDocument,
  { version, count }: { readonly version: Version; readonly count: SiteCount },
): void {
  const headers = { ...validatorsOf(document, version), ...document.headers };
  if (document.validators !== "deaf" && isKnown(request, headers)) {
    count.notModified++;
    response.writeHead(304, headers).end();
    return;
  }
  const body = document.body();
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  response.writeHead(200, {
    "Content-Type": document.contentType,
    "Content-Length": String(bytes.length),
    ...headers,
  });
  if (request.method !== "HEAD") {
    count.bodies++;
    count.bodyBytes += bytes.length;
  }
  response.end(request.method === "HEAD" ? undefined : bytes);
}

function validatorsOf({ validators }: SiteDocument, { path, revision, seed, answer }: Version): Record<string, string> {
  const of = (what: string): string =>
    `"${createHash("sha1").update(`${seed} ${what}`).digest("base64url").slice(0, 16)}"`;
  const etag = { both: revision, etag: revision, deaf: revision, restless: `answer ${answer}`, stuck: "always" };
  const date = new Date(FIRST_DAY + revision * DAY_MS).toUTCString();
  return {
    ...(validators in etag && { ETag: of(`${path} ${etag[validators as keyof typeof etag]}`) }),
    ...((validators === "both" || validators === "date") && { "Last-Modified": date }),
  };
}

/** If-None-Match counts before If-Modified-Since (RFC 9110, 13.2.2). */
function isKnown(request: IncomingMessage, headers: Readonly<Record<string, string>>): boolean {
  const { "if-none-match": tags, "if-modified-since": since } = request.headers;
  if (tags !== undefined) {
    const etag = headers["ETag"]?.replace(/^W\//, "");
    return etag !== undefined && tags.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
  }
  const modified = Date.parse(headers["Last-Modified"] ?? "");
  return since !== undefined && modified <= Date.parse(since);
}

function sendTrouble(request: IncomingMessage, response: ServerResponse, trouble: Trouble): void {
  if (trouble.how === "status") {
    sendError(request, response, trouble);
    return;
  }
  if (trouble.how === "reset") {
    request.socket.resetAndDestroy();
    return;
  }
  const half = "<!doctype html><title>Half a page</title><p>It ends in the middle of";
  response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Length": "5000" });
  response.write(half, () => {
    if (trouble.how === "cut") request.socket.destroySoon();
  });
}

function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  { status, retryAfterSeconds }: { readonly status: number; readonly retryAfterSeconds?: number },
): void {
  const body = Buffer.from(
    `<!doctype html><title>${status}</title><h1>${status}</h1><p>There is nothing to read here.</p>`,
  );
  response.writeHead(status, {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Length": String(body.length),
    ...(retryAfterSeconds !== undefined && { "Retry-After": String(retryAfterSeconds) }),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

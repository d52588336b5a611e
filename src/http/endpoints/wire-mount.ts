import type { Context, Hono } from "hono";
import type { App } from "../../app/app.ts";
import type { Principal } from "../../contracts/access.ts";
import type { HttpEnv } from "../http-env.ts";
import { refusalBody, refuse } from "../middleware/refusal.ts";
import { refuseForeign } from "../middleware/refuse-foreign.ts";
import { requireRole } from "../middleware/require-role.ts";
import { type AuditRecord, createRecord } from "../routing/audit-request.ts";
import { RefusedError, toFailure } from "../routing/failure.ts";
import { needOf, type WireNeed } from "./wire-access.ts";

type Parts = Pick<App, "wire" | "audit">;

/** Types that a browser would show as a page of this server, with scripts of this server. */
const ACTIVE = /^\s*(text\/html|text\/xsl|[\w.-]+\/([\w.-]+\+)?xml)/i;

/** The OpenAI wire protocol below `/openai` and `/openai/v1`. Bodies pass through as streams, whatever their size. */
export function mountWire(
  http: Hono<HttpEnv>,
  { wire, audit }: Parts,
  logError: (about: string, error: unknown) => void,
): void {
  for (const path of ["/openai", "/openai/v1"]) http.get(path, (c) => c.text(describeWire(new URL(c.req.url).origin)));
  http.all("/openai/*", async (c) => {
    // No Request can be made with it.
    if (c.req.method === "TRACE") return refuse(c, 400, "HTTP method 'TRACE' not supported.");
    const request = withoutPrefix(c.req.raw);
    const { pathname } = new URL(request.url);
    const need = needOf(request.method, pathname);
    // Bodies are not read for the audit log: what was changed is in the path, or with the service.
    const path = `/openai${pathname}`;
    const record = createRecord({ path, methods: [c.req.method], changes: need.changes ? path : null }, c, {
      audit,
      logError,
    });
    // A client that broke off is no failure of ours.
    const tell = (failure: unknown): void => {
      if (!c.req.raw.signal.aborted) logError(`${c.req.method} ${c.req.path}`, failure);
    };
    try {
      admit(c, need);
      await record.begin();
      const response = await wire(request, { tell, by: c.get("principal") });
      await record.write(outcomeOf(response));
      return asDownload(response);
    } catch (error) {
      const { status, message } = toFailure(error);
      if (status >= 500) tell(error);
      await record.write({ ok: false, error: message });
      return c.json(refusalBody(c.req.path, status, message), status);
    }
  });
}

/** As every other address does, this one says what it is when it is opened. */
function describeWire(origin: string): string {
  return `/openai, /openai/v1

The OpenAI protocol: files, uploads, vector stores, search, responses, conversations, chat completions, embeddings, models.
Served from the embedded index, or passed on to the configured backend with the server's key in place of the client's.
Errors have OpenAI's shape. Asking needs the role read, adding, changing and taking files out of a vector store operate, deleting admin.

Examples
  new OpenAI({ baseURL: "${origin}/openai/v1", apiKey: "a key of this server" })
  curl '${origin}/openai/v1/vector_stores'
`;
}

function admit(c: Context<HttpEnv>, { role }: WireNeed): void {
  if (c.req.method !== "GET" && c.req.method !== "HEAD") refuseForeign(c.req.raw);
  const principal: Principal | undefined = c.get("principal");
  if (principal === undefined) throw new RefusedError(401, "Incorrect API key provided: send one of this server's.");
  requireRole(principal, role);
}

function outcomeOf({ ok, status }: Response): Parameters<AuditRecord["write"]>[0] {
  return { ok, error: ok ? "" : `HTTP ${status}` };
}

function asDownload(response: Response): Response {
  if (!ACTIVE.test(response.headers.get("content-type") ?? "")) return response;
  response.headers.set("content-disposition", "attachment");
  return response;
}

function withoutPrefix(request: Request): Request {
  const url = new URL(request.url);
  url.pathname = url.pathname.replace(/^\/openai(\/v1(?=\/|$))?/, "") || "/";
  const { method, headers, body, signal } = request;
  return new Request(url, { method, headers, signal, ...(body ? { body, duplex: "half" } : {}) });
}

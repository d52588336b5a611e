import type { Context, Hono } from "hono";
import type { App } from "../../app/app.ts";
import type { Principal, Role } from "../../contracts/access.ts";
import type { HttpEnv } from "../http-env.ts";
import { refuseCrossSite } from "../middleware/check-origin.ts";
import { refusalBody, refuse } from "../middleware/refusal.ts";
import { type AuditRecord, createRecord } from "../routing/audit-request.ts";
import { RefusedError, requireRole, toFailure } from "../routing/failure.ts";

type Parts = Pick<App, "wire" | "audit">;

/** Types that a browser would show as a page of this server and run scripts in. */
const ACTIVE = /^\s*(text\/html|text\/xsl|[\w.-]+\/([\w.-]+\+)?xml)/i;

/** Mounts the OpenAI wire protocol below `/openai` and `/openai/v1`. Bodies are streamed, whatever their size. */
export function mountWire(
  http: Hono<HttpEnv>,
  { wire, audit }: Parts,
  logError: (about: string, error: unknown) => void,
): void {
  for (const path of ["/openai", "/openai/v1"]) http.get(path, (c) => c.text(describeWire(new URL(c.req.url).origin)));
  http.all("/openai/*", async (c) => {
    // Request does not accept this method.
    if (c.req.method === "TRACE") return refuse(c, 400, "HTTP method 'TRACE' not supported.");
    const request = withoutPrefix(c.req.raw);
    const { pathname } = new URL(request.url);
    const need = requiredAccess(request.method, pathname);
    // The audit log does not contain bodies: what was changed is in the path, or in the service.
    const path = `/openai${pathname}`;
    const record = createRecord({ path, methods: [c.req.method], changes: need.changes ? path : null }, c, {
      audit,
      logError,
    });
    // A client that disconnected is not a failure of the server.
    const tell = (failure: unknown): void => {
      if (!c.req.raw.signal.aborted) logError(`${c.req.method} ${c.req.path}`, failure);
    };
    try {
      admit(c, need);
      await record.begin();
      const response = await wire(request, { tell, by: c.get("principal"), origin: c.get("origin") });
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

/** Returns the documentation for a GET of the address itself. */
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

function admit(c: Context<HttpEnv>, { role }: RequiredAccess): void {
  if (c.req.method !== "GET" && c.req.method !== "HEAD") refuseCrossSite(c.req.raw);
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

/** The role that a request needs, and whether it changes something. */
export interface RequiredAccess {
  readonly role: Role;
  readonly changes: boolean;
}

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
/** POST calls that only read, even if the backend stores the response. Sub-resources do not match. */
const READ_ONLY_POSTS =
  /^\/(vector_stores\/[^/%]+\/search|chat\/completions|completions|responses(\/input_tokens)?|embeddings|moderations)$/;
/**
 * What the role `read` may GET. Everything else of the service needs more, because requests carry the server's key. The guide
 * has the same list. `*` is one id.
 */
export const READABLE: readonly string[] = [
  "/models",
  "/models/*",
  "/files",
  "/files/*",
  "/files/*/content",
  "/vector_stores",
  "/vector_stores/*",
  "/vector_stores/*/files",
  "/vector_stores/*/files/*",
  "/vector_stores/*/files/*/content",
  "/vector_stores/*/file_batches/*",
  "/vector_stores/*/file_batches/*/files",
  "/responses",
  "/responses/*",
  "/responses/*/input_items",
  "/conversations/*",
  "/conversations/*/items",
  "/conversations/*/items/*",
  "/assistants",
  "/assistants/*",
];
const READABLE_PATH = new RegExp(`^(${READABLE.map((path) => path.replaceAll("*", "[^/%]+")).join("|")})$`);
/** Stored completions, which the service does not separate by owner. */
const STORED_COMPLETIONS = /^\/chat\/completions(\/|$)/;
/**
 * What the role `operate` may use. Everything else (batches, evals, containers, …) shows or continues responses of others, or
 * acts for the whole account. The guide has the same list.
 */
const OPERATED: readonly string[] = [
  "models",
  "files",
  "uploads",
  "vector_stores",
  "responses",
  "conversations",
  "assistants",
  "threads",
  "chat",
  "completions",
  "embeddings",
  "moderations",
  "audio",
  "images",
];
const OPERATED_PATH = new RegExp(`^/(${OPERATED.join("|")})(/|$)`);
/** An encoded slash, backslash, dot or percent sign: the service may decode it and see another path. */
const ENCODED_PATH = /%(2f|5c|2e|25)/i;

/** Detaching a file is a change of the store, not a deletion: the file stays in the backend, and a crawl attaches its own again. */
const DETACH_FILE = /^\/vector_stores\/[^/%]+\/files\/[^/%]+$/;

/**
 * Returns the role a call needs, the same as at `/v2` (table in docs/guides/security.md); a higher one for unknown calls and
 * encoded paths, which the service may read differently. `path` is that of the wire.
 */
export function requiredAccess(method: string, path: string): RequiredAccess {
  const plain = path.replace(/^\/deployments\/[^/%]+(?=\/)/, "").replace(/\/$/, "");
  const changes = !SAFE_METHODS.has(method);
  // Answered here, never passed on: clients write the slash of the name either way.
  if (!changes && /^\/models\/lockstep(?:\/|%2f)[\w-]+$/i.test(plain)) return { role: "read", changes };
  if (ENCODED_PATH.test(path) || !OPERATED_PATH.test(plain)) return { role: "admin", changes };
  if (!changes) {
    if (READABLE_PATH.test(plain)) return { role: "read", changes };
    return { role: STORED_COMPLETIONS.test(plain) ? "admin" : "operate", changes };
  }
  if (method === "DELETE") return { role: DETACH_FILE.test(plain) ? "operate" : "admin", changes };
  const readsOnly = method === "POST" && READ_ONLY_POSTS.test(plain);
  return readsOnly ? { role: "read", changes: false } : { role: "operate", changes };
}

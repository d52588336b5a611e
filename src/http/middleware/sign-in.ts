import type { Context, Hono } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { Principal } from "../../contracts/access.ts";
import type { AuditLog } from "../../contracts/audit.ts";
import { nowUtcMicros } from "../../lib/time.ts";
import type { Access, Session } from "../../security/access.ts";
import { lineOnFullDisk } from "../../security/audit-log.ts";
import type { HttpEnv, ProductFacts } from "../http-env.ts";
import { type SignInModel, signInPage } from "../pages/sign-in-page.ts";
import { toFailure } from "../routing/failure.ts";
import { readBody } from "../routing/read-body.ts";
import { SIGN_IN_PATH, safeNext } from "./authenticate.ts";
import { type Authenticator, SESSION_COOKIE } from "./authenticator.ts";
import { type Buckets, createBuckets } from "./buckets.ts";
import { requireOwnPage } from "./check-origin.ts";
import { clientAddress, clientNetwork } from "./client-address.ts";
import { refuse } from "./refusal.ts";

const ATTEMPTS = { perSecond: 1 / 6, burst: 10 };
const STRANGER: Principal = { kind: "stranger", id: "", name: "somebody", role: "read" };

export interface SignInOptions {
  readonly access: Access;
  readonly authenticator: Authenticator;
  readonly audit: AuditLog;
  readonly product: ProductFacts;
  /** Paths of pages that change nothing: signing in may redirect to them. */
  readonly readingPaths: ReadonlySet<string>;
  readonly logError: (about: string, error: unknown) => void;
}

/** The sign-in page, which sets a session cookie, and signing out. */
export function mountSignIn(http: Hono<HttpEnv>, options: SignInOptions): void {
  const { access, authenticator, readingPaths } = options;
  const attempts = createBuckets(ATTEMPTS);
  http.get(SIGN_IN_PATH, async (c) => {
    const next = safeNext(c.req.query("next") ?? "", readingPaths);
    const result = await authenticator.identify(c);
    if (result.status === "slowed") return showSlowed(c, options, next, result.waitMs);
    if (result.status === "not let in") return show(c, options, { next, problem: result.reason }, 403);
    return result.status === "known" ? c.redirect(next, 303) : show(c, options, { next, problem: "" });
  });
  http.post(SIGN_IN_PATH, (c) => guarded(c, () => signIn(c, options, attempts)));
  http.post("/sign-out", (c) =>
    guarded(c, async () => {
      access.signOut(getCookie(c, SESSION_COOKIE) ?? "");
      deleteCookie(c, SESSION_COOKIE, { path: "/" });
      return c.redirect(SIGN_IN_PATH, 303);
    }),
  );
}

async function signIn(c: Context<HttpEnv>, options: SignInOptions, attempts: Buckets): Promise<Response> {
  const fields = await readBody(c.req.raw);
  const next = safeNext(String(fields.get("next") ?? ""), options.readingPaths);
  // Taken before the check, and given back after a success: many requests may run at once.
  const counts = [attempts, options.authenticator.failures];
  const waits = counts.map((count) => count.take(clientNetwork(c)));
  const waitMs = Math.max(...waits);
  const session = await options.access.signIn(String(fields.get("key") ?? ""), { onlyUnguessable: waitMs > 0 });
  if (!session && waitMs > 0) return showSlowed(c, options, next, waitMs);
  if (session) for (const [at, count] of counts.entries()) if (waits[at] === 0) count.giveBack(clientNetwork(c));
  await writeAudit(c, options, session);
  if (!session)
    return show(c, options, { next, problem: "This key is not known here, was removed, or has expired." }, 401);
  const { https } = c.get("client");
  const expires = new Date(session.expiresAt);
  setCookie(c, SESSION_COOKIE, session.cookie, {
    httpOnly: true,
    sameSite: "Strict",
    path: "/",
    secure: https,
    expires,
  });
  return c.redirect(next, 303);
}

/** Signing in must work on a full disk: an admin needs it to make room. */
async function writeAudit(
  c: Context<HttpEnv>,
  { audit, logError }: SignInOptions,
  session: Session | undefined,
): Promise<void> {
  const who = session?.principal ?? STRANGER;
  const outcome = session ? { ok: true, error: "" } : { ok: false, error: "The key is not known." };
  const entry = { who, from: clientAddress(c), action: "sign in", what: {}, ...outcome };
  try {
    await audit.write({ at: nowUtcMicros(), ...entry });
  } catch (error) {
    const line = lineOnFullDisk(error, entry);
    if (line === undefined) throw error;
    logError(line, error);
  }
}

function showSlowed(c: Context<HttpEnv>, options: SignInOptions, next: string, waitMs: number): Promise<Response> {
  const seconds = Math.ceil(waitMs / 1000);
  c.header("retry-after", String(seconds));
  return show(c, options, { next, problem: `Too many attempts from this address. Wait ${seconds} seconds.` }, 429);
}

async function show(
  c: Context<HttpEnv>,
  { product }: SignInOptions,
  model: SignInModel,
  status: 200 | 401 | 403 | 429 = 200,
): Promise<Response> {
  return c.html(await signInPage(model, { product, principal: undefined, url: new URL(c.req.url) }), status);
}

async function guarded(c: Context<HttpEnv>, work: () => Promise<Response>): Promise<Response> {
  try {
    requireOwnPage(c.req.raw);
  } catch (error) {
    const { status, message } = toFailure(error);
    return refuse(c, status, message);
  }
  return work();
}

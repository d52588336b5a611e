import type { Context, MiddlewareHandler } from "hono";
import type { Principal } from "../../contracts/access.ts";
import type { Identity } from "../../security/access.ts";
import type { HttpEnv } from "../http-env.ts";
import { toFailure } from "../routing/failure.ts";
import type { AuthenticationResult, Authenticator } from "./authenticator.ts";
import { type Buckets, createBuckets } from "./buckets.ts";
import { refuse, refuseForNow } from "./refusal.ts";

export interface AuthenticationOptions {
  readonly authenticator: Authenticator;
  /** 0: no limit. */
  readonly requestsPerSecond: number;
  readonly logError: (about: string, error: unknown) => void;
}

/** Lets only known principals pass, each at most `requestsPerSecond`. */
export function requireAuthentication({
  authenticator,
  requestsPerSecond,
  logError,
}: AuthenticationOptions): MiddlewareHandler<HttpEnv> {
  const rate =
    requestsPerSecond > 0 ? createBuckets({ perSecond: requestsPerSecond, burst: 2 * requestsPerSecond }) : null;
  return async (c, next) => {
    let result: AuthenticationResult;
    try {
      result = await authenticator.identify(c);
    } catch (error) {
      logError("authenticate", error);
      const { status, message } = toFailure(error);
      return refuse(c, status, message);
    }
    if (result.status === "slowed") return refuseSlowed(c, result.waitMs);
    if (result.status === "not let in") return refuse(c, 403, result.reason);
    if (result.status !== "known") return respondUnauthenticated(c, result);
    const waitMs = takeToken(rate, result.principal);
    if (waitMs > 0) return refuseForNow(c, waitMs, `More than ${requestsPerSecond} requests a second.`);
    c.set("principal", result.principal);
    return next();
  };
}

export function refuseSlowed(c: Context, waitMs: number): Response {
  return refuseForNow(c, waitMs, "Too many requests from this address could not be authenticated.");
}

function respondUnauthenticated(c: Context, identity: Exclude<Identity, { status: "known" }>): Response {
  if (identity.status === "without-role") {
    return refuse(
      c,
      403,
      `'${identity.name}' has no role here. Assign lockstep.read, lockstep.operate or lockstep.admin in Entra ID.`,
    );
  }
  if (identity.status === "anonymous" && wantsPage(c)) return c.redirect(signInAddress(c), 303);
  const anonymous = identity.status === "anonymous";
  c.header("www-authenticate", `Bearer realm="lockstep"${anonymous ? "" : ', error="invalid_token"'}`);
  const message = anonymous
    ? "Sign in, or send an API key as 'Authorization: Bearer …' or 'x-api-key'."
    : "The API key or token is not known here, was removed, or has expired.";
  return refuse(c, 401, message);
}

function takeToken(rate: Buckets | null, { kind, id }: Principal): number {
  return rate === null || kind === "local" ? 0 : rate.take(`${kind}:${id}`);
}

export const SIGN_IN_PATH = "/sign-in";

/** Whether the answer would be shown in a browser: then a redirect to the sign-in page replaces the 401. */
function wantsPage(c: Context): boolean {
  if (c.req.method !== "GET" && c.req.method !== "HEAD") return false;
  const format = c.req.query("format");
  return c.req.path === "/" || format === "ui" || format === "html" || /text\/html/i.test(c.req.header("accept") ?? "");
}

/** The sign-in page, which then redirects to the requested page. */
function signInAddress(c: Context): string {
  const { pathname, search } = new URL(c.req.url);
  const wanted = pathname + search;
  return wanted === "/" ? SIGN_IN_PATH : `${SIGN_IN_PATH}?${new URLSearchParams({ next: wanted })}`;
}

/**
 * Returns where to go after signing in: only pages of this server that change nothing. Anybody can write a link to the sign-in
 * page, and what follows counts as coming from here.
 */
export function safeNext(next: string, readingPaths: ReadonlySet<string>): string {
  const local = "http://local.invalid";
  const url = URL.parse(next, local);
  if (url?.origin !== local) return "/";
  return readingPaths.has(url.pathname.replace(/(?<=.)\/$/, "")) ? url.pathname + url.search : "/";
}

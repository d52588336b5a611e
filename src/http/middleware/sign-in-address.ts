import type { Context } from "hono";

export const SIGN_IN_PATH = "/sign-in";

/** Would a person see the answer in a browser? Then they are led to the sign-in page instead of being told 401. */
export function wantsPage(c: Context): boolean {
  if (c.req.method !== "GET" && c.req.method !== "HEAD") return false;
  const format = c.req.query("format");
  return c.req.path === "/" || format === "ui" || format === "html" || /text\/html/i.test(c.req.header("accept") ?? "");
}

/** The sign-in page, which then leads back to where somebody wanted to go. */
export function signInAddress(c: Context): string {
  const { pathname, search } = new URL(c.req.url);
  const wanted = pathname + search;
  return wanted === "/" ? SIGN_IN_PATH : `${SIGN_IN_PATH}?${new URLSearchParams({ next: wanted })}`;
}

/**
 * Where to go after signing in: only to pages of this server, and of these only to ones that change nothing. Anybody can write a
 * link to the sign-in page, and what follows counts as coming from here.
 */
export function safeNext(next: string, readingPaths: ReadonlySet<string>): string {
  const local = "http://local.invalid";
  const url = URL.parse(next, local);
  if (url?.origin !== local) return "/";
  return readingPaths.has(url.pathname.replace(/(?<=.)\/$/, "")) ? url.pathname + url.search : "/";
}

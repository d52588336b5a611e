import type { MiddlewareHandler } from "hono";
import { refuse } from "./refusal.ts";

const MAX_URL = 8192;

/** What no client of good will sends is refused before anybody has to make sense of it. */
export const refuseMalformed: MiddlewareHandler = async (c, next) => {
  const { pathname, search } = new URL(c.req.url);
  if (pathname.length + search.length > MAX_URL) {
    return refuse(c, 414, `The address is longer than ${MAX_URL} characters. Send long values in the body.`);
  }
  if (!isText(pathname))
    return refuse(c, 400, "The path is not valid: '%' must be followed by two hexadecimal digits of UTF-8 text.");
  if (/%00/.test(search)) return refuse(c, 400, "The query holds a NUL character (%00), which is no text.");
  return next();
};

function isText(path: string): boolean {
  try {
    return !decodeURIComponent(path).includes("\0");
  } catch {
    return false;
  }
}

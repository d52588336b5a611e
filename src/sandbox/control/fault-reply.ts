import type { Asked, Reply } from "../http-reply.ts";
import type { FaultEffect } from "./fault-effect.ts";

const THROTTLED = JSON.stringify({
  "odata.error": {
    code: "-2147429894, Microsoft.SharePoint.SPException",
    message: { lang: "en-US", value: "The request has been throttled." },
  },
});
const THROTTLED_BY_GRAPH = JSON.stringify({
  error: { code: "activityLimitReached", message: "The request has been throttled." },
});

/** Without a body of its own a throttled answer gets the one of SharePoint or Graph; others get none. */
export function faultReply(status: number, effect: FaultEffect, asked: Asked): Reply {
  const throttled = /^\/v1\.0\//i.test(asked.rawPath) ? THROTTLED_BY_GRAPH : THROTTLED;
  const body = effect.body ?? (status === 429 || status === 503 ? throttled : "");
  const type = body.startsWith("<") ? "text/html" : body.startsWith("{") ? "application/json" : "text/plain";
  return { status, headers: { "Content-Type": `${type}; charset=utf-8` }, body };
}

export function retryAfterOf({ retryAfter: wait }: FaultEffect): Record<string, string> {
  if (!wait) return {};
  const date = new Date(Date.now() + wait.seconds * 1000).toUTCString();
  return { "Retry-After": wait.form === "date" ? date : String(wait.seconds) };
}

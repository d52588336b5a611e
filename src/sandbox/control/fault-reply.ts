import type { Reply } from "../http-reply.ts";
import type { FaultEffect } from "./fault-effect.ts";

const THROTTLED = JSON.stringify({
  "odata.error": {
    code: "-2147429894, Microsoft.SharePoint.SPException",
    message: { lang: "en-US", value: "The request has been throttled." },
  },
});

/** The reply of a fault that sets the status. Without a body of its own, 429 and 503 have SharePoint's. */
export function faultReply(status: number, effect: FaultEffect): Reply {
  const body = effect.body ?? (status === 429 || status === 503 ? THROTTLED : "");
  const type = body.startsWith("<") ? "text/html" : body.startsWith("{") ? "application/json" : "text/plain";
  return { status, headers: { "Content-Type": `${type}; charset=utf-8` }, body };
}

export function retryAfterOf({ retryAfter: wait }: FaultEffect): Record<string, string> {
  if (!wait) return {};
  const date = new Date(Date.now() + wait.seconds * 1000).toUTCString();
  return { "Retry-After": wait.form === "date" ? date : String(wait.seconds) };
}

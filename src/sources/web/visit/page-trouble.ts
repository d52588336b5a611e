import type { IngestItem } from "../../../contracts/registry.ts";
import { afterFailure, afterMissing, afterRefusal, afterUnasked } from "../../../detect/web/look-at-item.ts";
import type { PageFailure, PageRefusal } from "./ask-page.ts";
import type { VisitorParts } from "./create-page-visitor.ts";
import type { PageStop } from "./page-stop.ts";
import type { Heard } from "./page-walk.ts";
import { readingRevision } from "./reading-revision.ts";

/** Why there is no document to take. */
export type Trouble = Extract<Heard, { kind: "missing" }> | PageRefusal | PageFailure;

export function isTrouble(heard: Heard): heard is Trouble {
  return heard.kind === "missing" || heard.kind === "refused" || heard.kind === "failed";
}

/** An address of which nothing is known has nothing to keep; without this, one link to a sign-in page fails every crawl. */
export function asTroubleOf({ content, aliasOf }: IngestItem, trouble: Trouble): Trouble {
  if (trouble.kind !== "failed" || !trouble.isLasting || content.contentHash !== "" || aliasOf !== "") return trouble;
  const { reason, statusCode } = trouble;
  const http = statusCode === undefined ? {} : { http: { etag: "", lastModified: "", statusCode } };
  return { kind: "refused", why: "other", reason, ...http };
}

export function findNoindex(heard: Heard, parts: VisitorParts): PageRefusal | undefined {
  if ((heard.kind !== "read" && heard.kind !== "unchanged") || !heard.noindex) return undefined;
  const { http, noindex } = heard;
  return {
    kind: "refused",
    why: "other",
    reason: "The page asks not to be indexed (noindex).",
    http,
    ...(heard.kind === "read" && { mimeType: heard.content.mimeType }),
    ...(noindex !== "page" && { revision: readingRevision(parts, "headers") }),
  };
}

/** What was written down a moment ago. */
export function freshTrouble({ status, http, scheduling }: IngestItem): Trouble | undefined {
  const reason = scheduling.errorMessage;
  if (status === "Gone" || scheduling.goneCount > 0) return { kind: "missing", status: http.statusCode };
  if (status === "OutOfScope") return { kind: "refused", why: http.robotsAllowed ? "other" : "robots", reason };
  return scheduling.failureCount > 0 ? { kind: "failed", reason } : undefined;
}

/** What becomes of the item that is told of it. Validators are those of `answered`, which may be another one. */
export function afterTrouble(
  item: IngestItem,
  trouble: Trouble,
  { subject, answered }: { readonly subject: PageStop; readonly answered: PageStop },
  { policy, reader }: VisitorParts,
): IngestItem {
  if (trouble.kind === "missing") return afterMissing(item, subject.look, trouble.status, policy);
  if (trouble.kind === "failed" && trouble.isUnasked)
    return afterUnasked(item, subject.look, trouble.retryAfterMs ?? 0);
  if (trouble.kind === "failed") return afterFailure(item, subject.look, trouble, policy);
  const { http, ...refusal } = trouble;
  const told = { ...refusal, ...(subject === answered && http && { http }) };
  const refused = afterRefusal(item, subject.look, told, policy);
  const mimeType = trouble.mimeType ?? item.content.mimeType;
  const readerRevision = trouble.revision ?? reader.revision;
  return { ...refused, content: { ...refused.content, mimeType, readerRevision } };
}

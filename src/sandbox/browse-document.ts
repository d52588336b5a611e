import { browsePage } from "./browse-page.ts";
import { type Asked, type Reply, textReply } from "./http-reply.ts";
import { mediaTypeOf } from "./media-type.ts";
import { badRequest } from "./rest/answer-api.ts";
import { downloadReply } from "./rest/download.ts";
import type { SandboxSettings } from "./sandbox-settings.ts";
import type { Tenant } from "./tenant/tenant.ts";

/**
 * A document at its own address, so that a link in a search result opens it. The real SharePoint would ask the
 * visitor to sign in first; the sandbox holds nothing that is not public.
 */
export function browseDocument(asked: Asked, tenant: Tenant, settings: SandboxSettings): Reply {
  let path: string;
  try {
    path = decodeURIComponent(asked.rawPath);
  } catch {
    return badRequest();
  }
  const isRead = asked.method === "GET" || asked.method === "HEAD";
  const page = isRead ? browsePage(path, asked.rawQuery, tenant) : undefined;
  if (page) return page;
  const item = tenant.itemAt(path);
  if (item?.kind !== "file" || item.library.template === 119 || !isRead) return textReply(404, "404 FILE NOT FOUND");
  return downloadReply(item, asked, {
    rangeRequests: settings.rangeRequests,
    disposition: "inline",
    contentType: mediaTypeOf(item.name),
  });
}

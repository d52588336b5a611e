import { type Asked, type Reply, textReply } from "./http-reply.ts";
import { badRequest } from "./rest/answer-api.ts";
import { downloadReply } from "./rest/download.ts";
import type { SandboxSettings } from "./sandbox-settings.ts";
import type { Tenant } from "./tenant/tenant.ts";

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  txt: "text/plain; charset=utf-8",
  md: "text/markdown; charset=utf-8",
  csv: "text/csv; charset=utf-8",
  html: "text/html; charset=utf-8",
  json: "application/json; charset=utf-8",
  pdf: "application/pdf",
  png: "image/png",
  zip: "application/zip",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
};

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
  const item = tenant.itemAt(path);
  if (item?.kind !== "file" || (asked.method !== "GET" && asked.method !== "HEAD")) {
    return textReply(404, "404 FILE NOT FOUND");
  }
  const extension = item.name.slice(item.name.lastIndexOf(".") + 1).toLowerCase();
  return downloadReply(item, asked, {
    rangeRequests: settings.rangeRequests,
    disposition: "inline",
    contentType: CONTENT_TYPES[extension] ?? "application/octet-stream",
  });
}

import { type Reply, type SandboxRequest, textReply } from "../http-reply.ts";
import { mediaTypeOf } from "../media-type.ts";
import type { SandboxSettings } from "../sandbox-state.ts";
import { escapeXml } from "./odata/response.ts";
import { badRequest } from "./rest/answer-api.ts";
import { displayText } from "./rest/display-text.ts";
import { downloadReply } from "./rest/download.ts";
import type { Tenant } from "./tenant/tenant.ts";
import type { FileItem, RowItem } from "./tenant/tenant-item.ts";
import { publishedView } from "./tenant/versions.ts";

/**
 * A document at its own address, so that a link in a search result opens it. The real SharePoint would ask the
 * visitor to sign in first; the sandbox holds nothing that is not public.
 */
export function browseDocument(request: SandboxRequest, tenant: Tenant, settings: SandboxSettings): Reply {
  let path: string;
  try {
    path = decodeURIComponent(request.rawPath);
  } catch {
    return badRequest();
  }
  const isRead = request.method === "GET" || request.method === "HEAD";
  const page = isRead ? browsePage(path, request.rawQuery, tenant) : undefined;
  if (page) return page;
  const item = tenant.itemAt(path);
  if (item?.kind !== "file" || item.library.template === 119 || !isRead) return textReply(404, "404 FILE NOT FOUND");
  return downloadReply(item, request, {
    rangeRequests: settings.rangeRequests,
    disposition: "inline",
    contentType: mediaTypeOf(item.name),
  });
}

const DISPLAY_FORM = /^(.+)\/DispForm\.aspx$/i;

/** What a link to a site page or to a row of a list opens; undefined when the address is neither. */
function browsePage(path: string, rawQuery: string, tenant: Tenant): Reply | undefined {
  const listPath = DISPLAY_FORM.exec(path)?.[1];
  if (listPath !== undefined) {
    const located = tenant.locate(listPath);
    const row = located?.names.length === 0 ? located.library.find(rowId(rawQuery)) : undefined;
    return row?.kind === "row" ? html(titleOf(row), fieldsOf(row)) : undefined;
  }
  const item = tenant.itemAt(path);
  if (item?.kind !== "file" || item.library.template !== 119) return undefined;
  const page = publishedView(item);
  if (page?.kind !== "file") return undefined;
  return html(titleOf(page), String(page.columns.get("CanvasContent1") ?? page.columns.get("WikiField") ?? ""));
}

function rowId(rawQuery: string): number {
  const entry = [...new URLSearchParams(rawQuery)].find(([name]) => name.toLowerCase() === "id");
  return Number(entry?.[1] ?? 0);
}

function titleOf(item: FileItem | RowItem): string {
  return String(item.columns.get("Title") ?? item.name);
}

function fieldsOf(row: RowItem): string {
  const lines = [...row.library.columns.values()].map((column) => {
    const text = displayText(column, row);
    return `<dt>${escapeXml(column.title)}</dt><dd>${column.richText ? text : escapeXml(text)}</dd>`;
  });
  const files = [...row.attachments.values()].map((file) => {
    const address = `Attachments/${row.listItemId}/${encodeURIComponent(file.name)}`;
    return `<dd><a href="${escapeXml(address)}">${escapeXml(file.name)}</a></dd>`;
  });
  return `<dl>${lines.join("")}${files.length > 0 ? `<dt>Attachments</dt>${files.join("")}` : ""}</dl>`;
}

/** The content is whatever its author wrote, so nothing in it may run. */
function html(title: string, body: string): Reply {
  const name = escapeXml(title);
  return {
    status: 200,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy":
        "default-src 'none'; style-src 'unsafe-inline'; sandbox allow-top-navigation-by-user-activation",
    },
    body: `<!doctype html><meta charset="utf-8"><title>${name}</title><style>body{font:1rem/1.5 sans-serif;max-width:45rem;margin:2rem auto;padding:0 1rem}dt{font-weight:bold}</style><h1>${name}</h1>${body}\n`,
  };
}

import { headerOf, type Reply, type SandboxRequest } from "../../http-reply.ts";
import { etagOf, type FileItem } from "../tenant/tenant-item.ts";

export interface DownloadOptions {
  readonly rangeRequests: "honoured" | "ignored";
  readonly disposition: "attachment" | "inline";
  readonly contentType: string;
}

/** The bytes of a file. A suffix range is ignored, as it is by the real one; so is a range for another version. */
export function downloadReply(file: FileItem, request: SandboxRequest, options: DownloadOptions): Reply {
  const etag = etagOf(file);
  const headers = {
    "Content-Type": options.contentType,
    ETag: etag,
    "Last-Modified": new Date(file.modifiedAtMs).toUTCString(),
    "Content-Disposition": `${options.disposition}; filename*=UTF-8''${encodeURIComponent(file.name).replaceAll("'", "%27")}`,
    "X-Content-Type-Options": "nosniff",
    ...(options.rangeRequests === "honoured" ? { "Accept-Ranges": "bytes" } : {}),
  };
  const range = options.rangeRequests === "honoured" ? parseRange(request, etag) : undefined;
  if (!range) return { status: 200, headers, body: file.content };
  const size = file.content.length;
  if (range.first >= size) {
    return { status: 416, headers: { ...headers, "Content-Range": `bytes */${size}` }, body: "" };
  }
  const last = Math.min(range.last ?? size - 1, size - 1);
  return {
    status: 206,
    headers: { ...headers, "Content-Range": `bytes ${range.first}-${last}/${size}` },
    body: file.content.subarray(range.first, last + 1),
  };
}

function parseRange(request: SandboxRequest, etag: string): { first: number; last: number | undefined } | undefined {
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(headerOf(request, "range")) ?? [];
  const ifRange = headerOf(request, "if-range");
  if (first === undefined || (ifRange !== "" && ifRange !== etag)) return undefined;
  if (last && Number(last) < Number(first)) return undefined;
  return { first: Number(first), last: last ? Number(last) : undefined };
}

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Hono } from "hono";

const MEDIA_TYPES = {
  "lockstep.css": "text/css; charset=utf-8",
  "lockstep.js": "text/javascript; charset=utf-8",
  "job-console.js": "text/javascript; charset=utf-8",
  "favicon.svg": "image/svg+xml",
} as const;

/** Exactly these files, by name: no path from a request ever reaches the disk. */
export function mountAssets(http: Hono): void {
  for (const [name, mediaType] of Object.entries(MEDIA_TYPES)) {
    const content = readFileSync(new URL(`../assets/${name}`, import.meta.url));
    const etag = `"${createHash("sha256").update(content).digest("hex").slice(0, 32)}"`;
    const headers = { "content-type": mediaType, "cache-control": "no-cache", etag };
    http.get(`/assets/${name}`, (c) =>
      c.req.header("if-none-match") === etag ? c.body(null, 304, headers) : c.body(content, 200, headers),
    );
  }
}

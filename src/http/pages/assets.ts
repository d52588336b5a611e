import { readdirSync, readFileSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Hono } from "hono";
import { sha256Of } from "../../lib/hash.ts";
import type { HttpEnv } from "../http-env.ts";

const FOLDER = new URL("../assets/", import.meta.url);

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Serves exactly the files that exist at the start, by name: no path from a request reaches the disk. */
export function mountAssets(http: Hono<HttpEnv>): void {
  const scripts = readdirSync(FOLDER).filter(
    (name) => extname(name) !== "" && Object.hasOwn(MEDIA_TYPES, extname(name)),
  );
  for (const name of scripts) serve(http, name, readFileSync(new URL(name, FOLDER)));
  serve(http, "lockstep.css", stylesheet());
  // Read when somebody opens a PDF: it is large.
  serveLazily(http, "pdfjs.js", () => readFileSync(fileURLToPath(import.meta.resolve("unpdf/pdfjs"))));
}

/** Joins the parts of the stylesheet in order of their names; definitions come first. */
function stylesheet(): Buffer {
  const folder = new URL("styles/", FOLDER);
  const names = readdirSync(folder).filter((name) => name.endsWith(".css"));
  return Buffer.concat(names.sort().map((name) => readFileSync(new URL(name, folder))));
}

function serve(http: Hono<HttpEnv>, name: string, content: Buffer): void {
  serveLazily(http, name, () => content);
}

function serveLazily(http: Hono<HttpEnv>, name: string, read: () => Buffer): void {
  let loaded: { readonly headers: Record<string, string>; readonly body: Uint8Array<ArrayBuffer> } | undefined;
  http.get(`/assets/${name}`, (c) => {
    loaded ??= withHeaders(name, read());
    const { headers, body } = loaded;
    return c.req.header("if-none-match") === headers["etag"] ? c.body(null, 304, headers) : c.body(body, 200, headers);
  });
}

function withHeaders(name: string, content: Buffer) {
  const etag = `"${sha256Of(content).slice(0, 32)}"`;
  const headers = { "content-type": MEDIA_TYPES[extname(name)] ?? "", "cache-control": "no-cache", etag };
  return { headers, body: new Uint8Array(content) };
}

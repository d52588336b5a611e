import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { Hono } from "hono";
import type { WireFile } from "../file-shelf.ts";
import { toDeleted, toFileObject, toList } from "./codec.ts";
import { readListParams, unknownCursor } from "./read-list-params.ts";
import { receiveUpload } from "./receive-upload.ts";
import type { WireContext } from "./wire.ts";
import { noSuchFile, notFound } from "./wire-error.ts";

const LIST_LIMITS = { max: 10_000, usual: 10_000 };

/** Below `/files`. */
export function fileRoutes({ shelf }: WireContext): Hono {
  const find = (id: string): WireFile => {
    const file = shelf.find(id);
    if (!file) throw noSuchFile(id);
    return file;
  };
  const routes = new Hono();
  routes.post("/", async ({ req, json }) => json(toFileObject(await receiveUpload(req.raw, shelf))));
  routes.get("/", ({ req, json }) => {
    const query = new URL(req.url).searchParams;
    const params = readListParams(query, LIST_LIMITS);
    const page = shelf.list(params, query.get("purpose") || undefined) ?? unknownCursor(params.after ?? "", "after");
    const ids = page.rows.map((file) => file.id);
    return json(toList(page.rows.map(toFileObject), ids, page.hasMore));
  });
  routes.get("/:id", ({ req, json }) => json(toFileObject(find(req.param("id")))));
  routes.delete("/:id", async ({ req, json }) => {
    const id = req.param("id");
    if (!(await shelf.delete(id))) throw noSuchFile(id);
    return json(toDeleted(id, "file"));
  });
  routes.get("/:id/content", async ({ req }) => {
    const file = find(req.param("id"));
    const path = await shelf.verifiedPath(file);
    if (path === undefined) {
      throw notFound(
        `The bytes of '${file.id}' (${file.filename}) are not on this disk any more; its text is still indexed.`,
      );
    }
    const headers = { "content-type": "application/octet-stream", "content-length": String(file.bytes) };
    return new Response(Readable.toWeb(createReadStream(path)) as ReadableStream, { headers });
  });
  return routes;
}

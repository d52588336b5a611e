import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { Hono } from "hono";
import type { FileId } from "../../../contracts/ids.ts";
import { randomId } from "../../../lib/random-id.ts";
import type { UploadedFile, WireFile } from "../file-repository.ts";
import { toDeleted, toFileObject, toList } from "./codec.ts";
import { asOneOf, readFileExpiry, readListParams, unknownCursor } from "./read-fields.ts";
import { receiveForm } from "./receive-form.ts";
import type { WireContext } from "./wire-context.ts";
import { badRequest, noSuchFile, notFound } from "./wire-error.ts";

export const PURPOSES = ["assistants", "batch", "fine-tune", "vision", "user_data", "evals"] as const;
const LIST_LIMITS = { max: 10_000, usual: 10_000 };
const MAX_FILE_BYTES = 512 * 1024 * 1024;
const ANCHOR = "expires_after[anchor]";
const SECONDS = "expires_after[seconds]";

/** Below `/files`. */
export function fileRoutes(context: WireContext): Hono {
  const { files } = context;
  const find = async (id: string): Promise<WireFile> => {
    const file = await files.find(id);
    if (!file) throw noSuchFile(id);
    return file;
  };
  const routes = new Hono();
  routes.post("/", async ({ req, json }) => json(toFileObject(await receiveFile(context, req.raw))));
  routes.get("/", async ({ req, json }) => {
    const query = new URL(req.url).searchParams;
    const params = readListParams(query, LIST_LIMITS);
    const page = await files.list(params, query.get("purpose") || undefined);
    if (!page) return unknownCursor(params.after ?? "", "after");
    const ids = page.rows.map((file) => file.id);
    return json(toList(page.rows.map(toFileObject), ids, page.hasMore));
  });
  routes.get("/:id", async ({ req, json }) => json(toFileObject(await find(req.param("id")))));
  routes.delete("/:id", async ({ req, json }) => {
    const id = req.param("id");
    if (!(await files.delete(id))) throw noSuchFile(id);
    return json(toDeleted(id, "file"));
  });
  routes.get("/:id/content", async ({ req }) => {
    const file = await find(req.param("id"));
    const path = await files.verifiedPath(file);
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

async function receiveFile({ files, nowSeconds }: WireContext, request: Request): Promise<UploadedFile> {
  const id = randomId("file-") as FileId;
  const rules = {
    fileField: "file",
    maxBytes: MAX_FILE_BYTES,
    fields: ["purpose", ANCHOR, SECONDS],
    path: await files.incomingPath(id),
  };
  return receiveForm(request, rules, async ({ fields, file }) => {
    if (!fields.has("purpose")) throw badRequest("Missing required parameter: 'purpose'.", "purpose");
    const purpose = asOneOf(fields.get("purpose"), "purpose", PURPOSES);
    const createdAt = nowSeconds();
    const lifetime = fileLifetime(fields);
    const expiresAt = lifetime === null ? null : createdAt + lifetime;
    const upload: UploadedFile = { id, purpose, createdAt, expiresAt, ...file };
    await files.save(upload);
    return upload;
  });
}

function fileLifetime(fields: ReadonlyMap<string, string>): number | null {
  if (!fields.has(ANCHOR) && !fields.has(SECONDS)) return null;
  const seconds = fields.get(SECONDS);
  const given = { anchor: fields.get(ANCHOR), seconds: seconds === undefined ? undefined : Number(seconds || "x") };
  return readFileExpiry(given, (key) => `expires_after[${key}]`);
}

import { Hono } from "hono";
import { BadInputError } from "../../../contracts/errors.ts";
import { randomId } from "../../../lib/random-id.ts";
import { findFile } from "../file-repository.ts";
import { findUpload, type Upload, type UploadPart } from "../upload-repository.ts";
import { toFileObject, toPartObject, toUploadObject } from "./codec.ts";
import { PURPOSES } from "./file-routes.ts";
import { asArray, asNumber, asOneOf, asString, asText, readFields, readFileExpiry, required } from "./read-fields.ts";
import { lastPart, receiveForm } from "./receive-form.ts";
import type { WireContext } from "./wire-context.ts";
import { badRequest, notFound } from "./wire-error.ts";

const MAX_BYTES = 8 * 1024 * 1024 * 1024;
const MAX_PART_BYTES = 64 * 1024 * 1024;

/** Below `/uploads`: files that arrive in parts. */
export function uploadRoutes(context: WireContext): Hono {
  const { catalog, uploads } = context;
  const show = async (upload: Upload): Promise<object> => {
    const file = upload.fileId === null ? undefined : await findFile(catalog, upload.fileId);
    return toUploadObject(upload, uploads.statusOf(upload), file && toFileObject(file));
  };
  const find = async (id: string): Promise<Upload> => {
    const upload = await findUpload(catalog, id);
    if (!upload) throw notFound(`No upload found with id '${id}'.`);
    return upload;
  };
  const pending = async (id: string): Promise<Upload> => {
    const upload = await find(id);
    const status = uploads.statusOf(upload);
    if (status !== "pending") throw badRequest(`Upload '${id}' is ${status}; only a pending one can be changed.`);
    return upload;
  };
  const routes = new Hono();
  routes.post("/", async ({ req, json }) => {
    await uploads.sweepExpired();
    return json(await show(await createUpload(context, req.raw)));
  });
  routes.post("/:id/parts", async ({ req, json }) => {
    const upload = await pending(req.param("id"));
    return json(toPartObject(await receivePart(context, upload, req.raw)));
  });
  routes.post("/:id/complete", async ({ req, json }) => {
    const upload = await pending(req.param("id"));
    await completeUpload(context, upload, req.raw);
    return json(await show(await find(upload.id)));
  });
  routes.post("/:id/cancel", async ({ req, json }) => {
    const upload = await pending(req.param("id"));
    if (!(await uploads.cancel(upload))) await pending(upload.id);
    return json(await show(await find(upload.id)));
  });
  return routes;
}

async function createUpload({ uploads }: WireContext, request: Request): Promise<Upload> {
  const fields = await readFields(request, ["filename", "purpose", "bytes", "mime_type", "expires_after"]);
  return uploads.create({
    filename: lastPart(asText(required(fields, "filename"), "filename")),
    purpose: asOneOf(required(fields, "purpose"), "purpose", PURPOSES),
    bytes: asNumber(required(fields, "bytes"), "bytes", { min: 1, max: MAX_BYTES, integer: true }),
    mimeType: asString(required(fields, "mime_type"), "mime_type"),
    fileExpiresSeconds: readFileExpiry(fields["expires_after"]),
  });
}

async function receivePart({ uploads }: WireContext, upload: Upload, request: Request): Promise<UploadPart> {
  const id = randomId("part_");
  const path = await uploads.incomingPath(upload, id);
  const rules = { fileField: "data", maxBytes: MAX_PART_BYTES, fields: [], path };
  return receiveForm(request, rules, ({ file }) => uploads.savePart(upload, id, file.bytes));
}

async function completeUpload({ uploads }: WireContext, upload: Upload, request: Request): Promise<void> {
  const fields = await readFields(request, ["part_ids", "md5"]);
  const partIds = asArray(required(fields, "part_ids"), "part_ids").map((id) => asString(id, "part_ids"));
  const md5 = fields["md5"] === undefined || fields["md5"] === null ? undefined : asString(fields["md5"], "md5");
  try {
    await uploads.complete(upload, partIds, md5);
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
    throw badRequest(error.message, error.message.includes("MD5") ? "md5" : "part_ids");
  }
}

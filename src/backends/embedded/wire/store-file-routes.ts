import { Hono } from "hono";
import { sectionsOfBody } from "../../../index/sqlite/bodies.ts";
import { activeDocument, DOCUMENT_COLUMNS, type DocumentRow } from "../../../index/sqlite/documents.ts";
import type { Store } from "../../../index/sqlite/open-store.ts";
import { attachFile, changeAttributes } from "../attach-file.ts";
import { detachFile, type FileShelf, type WireFile } from "../file-shelf.ts";
import { readPage } from "../read-page.ts";
import { toContentPage, toDeleted, toList, toStoreFileObject } from "./codec.ts";
import { asAttributes, asChunking, asOneOf, asString, readFields } from "./read-fields.ts";
import { readListParams, toPageRequest } from "./read-list-params.ts";
import type { WireContext } from "./wire.ts";
import { badRequest, noSuchFile, notFound } from "./wire-error.ts";

const LIST_LIMITS = { max: 100, usual: 20 };
const STATUSES = ["in_progress", "completed", "failed", "cancelled"] as const;

/** Below `/vector_stores`: the files of one store. */
export function storeFileRoutes(context: WireContext): Hono {
  const { stores, catalog } = context;
  const routes = new Hono();
  routes.post("/:id/files", async ({ req, json }) => {
    const id = req.param("id");
    const store = stores.get(id);
    const row = await attach(context, store, req.raw);
    catalog.touchStore(id, Math.floor(Date.now() / 1000));
    return json(toStoreFileObject(row, id));
  });
  routes.get("/:id/files", ({ req, json }) => {
    const id = req.param("id");
    return json(listFiles(stores.get(id), id, new URL(req.url).searchParams));
  });
  routes.get("/:id/files/:file", ({ req, json }) => {
    const id = req.param("id");
    return json(toStoreFileObject(heldFile(stores.get(id), id, req.param("file")), id));
  });
  routes.post("/:id/files/:file", async ({ req, json }) => {
    const id = req.param("id");
    const fields = await readFields(req.raw, ["attributes"]);
    if (fields["attributes"] === undefined) throw badRequest("Missing required parameter: 'attributes'.", "attributes");
    const store = stores.get(id);
    const { fileId } = heldFile(store, id, req.param("file"));
    changeAttributes(store, fileId, asAttributes(fields["attributes"]));
    return json(toStoreFileObject(heldFile(store, id, fileId), id));
  });
  routes.delete("/:id/files/:file", async ({ req, json }) => {
    const id = req.param("id");
    const store = stores.get(id);
    const { fileId } = heldFile(store, id, req.param("file"));
    await detachFile(store, fileId);
    return json(toDeleted(fileId, "vector_store.file.deleted"));
  });
  routes.get("/:id/files/:file/content", ({ req, json }) => {
    const id = req.param("id");
    const store = stores.get(id);
    const { bodyId } = heldFile(store, id, req.param("file"));
    return json(toContentPage(bodyId === null ? [] : sectionsOfBody(store.db, bodyId)));
  });
  return routes;
}

/** A file on our shelf, ready to be read. */
export async function fileToAttach(shelf: FileShelf, id: string): Promise<WireFile> {
  const file = shelf.find(id);
  if (!file) throw noSuchFile(id);
  const kept = await shelf.adopt(file);
  if (!kept) throw notFound(`The bytes of '${id}' (${file.filename}) are not on this disk any more.`);
  return kept;
}

async function attach({ shelf, parts }: WireContext, store: Store, request: Request): Promise<DocumentRow> {
  const fields = await readFields(request, ["file_id", "attributes", "chunking_strategy"]);
  if (fields["file_id"] === undefined) throw badRequest("Missing required parameter: 'file_id'.", "file_id");
  const fileId = asString(fields["file_id"], "file_id");
  const attributes = fields["attributes"] === undefined ? undefined : asAttributes(fields["attributes"]);
  const chunking = asChunking(fields["chunking_strategy"]);
  const held = activeDocument(store.db, fileId) && shelf.find(fileId);
  const file = held ?? (await fileToAttach(shelf, fileId));
  return attachFile(store, parts, { file, attributes, chunking }, request.signal);
}

function heldFile(store: Store, storeId: string, fileId: string): DocumentRow {
  const row = activeDocument(store.db, fileId);
  if (!row) throw notFound(`No file found with id '${fileId}' in vector store '${storeId}'.`);
  return row;
}

function listFiles(store: Store, storeId: string, query: URLSearchParams): object {
  const params = readListParams(query, LIST_LIMITS);
  const status = query.get("filter") ? asOneOf(query.get("filter"), "filter", STATUSES) : undefined;
  const request = toPageRequest(params, (id) => {
    const row = activeDocument(store.db, id);
    return row && { createdAt: row.uploadedAt, seq: row.id };
  });
  const page = readPage<DocumentRow>(
    store.db,
    {
      columns: DOCUMENT_COLUMNS,
      from: "documents_active",
      createdAt: "uploaded_at",
      seq: "id",
      ...(status && { where: "status = ?", values: [status] }),
    },
    request,
  );
  const ids = page.rows.map(({ fileId }) => fileId);
  return toList(
    page.rows.map((row) => toStoreFileObject(row, storeId)),
    ids,
    page.hasMore,
  );
}

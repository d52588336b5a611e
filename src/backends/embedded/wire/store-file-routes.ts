import { Hono } from "hono";
import { sectionsOfBody } from "../../../index/bodies.ts";
import { activeDocument, DOCUMENT_COLUMNS, type DocumentRow } from "../../../index/documents.ts";
import { changeAttributes, type OpenStore } from "../attachments.ts";
import type { WireFile } from "../file-repository.ts";
import { readPage } from "../read-page.ts";
import type { StoreEntry } from "../stores.ts";
import { toContentPage, toDeleted, toList, toStoreFileObject } from "./codec.ts";
import { filesToAttach } from "./files-to-attach.ts";
import {
  asAttributes,
  asChunking,
  asOneOf,
  asString,
  readFields,
  readListParams,
  required,
  toPageRequest,
} from "./read-fields.ts";
import { findEntry, findOpenStore, type WireContext } from "./wire-context.ts";
import { noSuchFile, notFound } from "./wire-error.ts";

export const LIST_LIMITS = { max: 100, usual: 20 };
const STATUSES = ["in_progress", "completed", "failed", "cancelled"] as const;

/** Below `/vector_stores`: the files of one store. */
export function storeFileRoutes(context: WireContext): Hono {
  const { attachments } = context;
  const routes = new Hono();
  routes.post("/:id/files", async ({ req, json }) => {
    const entry = await findOpenStore(context, req.param("id"));
    const open = await openStore(context, entry);
    const fileId = await attach(context, open, req.raw);
    await context.stores.recordActivity(entry);
    return json(toStoreFileObject(await heldFile(context, open, fileId), open.id));
  });
  routes.get("/:id/files", async ({ req, json }) => {
    const open = await openStore(context, await findEntry(context, req.param("id")));
    return json(await listFiles(context, open, new URL(req.url).searchParams));
  });
  routes.get("/:id/files/:file", async ({ req, json }) => {
    const open = await openStore(context, await findEntry(context, req.param("id")));
    return json(toStoreFileObject(await heldFile(context, open, req.param("file")), open.id));
  });
  routes.post("/:id/files/:file", async ({ req, json }) => {
    const fields = await readFields(req.raw, ["attributes"]);
    const attributes = asAttributes(required(fields, "attributes"));
    const open = await openStore(context, await findOpenStore(context, req.param("id")));
    const { fileId } = await heldFile(context, open, req.param("file"));
    await changeAttributes(open.store, fileId, attributes);
    return json(toStoreFileObject(await heldFile(context, open, fileId), open.id));
  });
  routes.delete("/:id/files/:file", async ({ req, json }) => {
    const open = await openStore(context, await findEntry(context, req.param("id")));
    const { fileId } = await heldFile(context, open, req.param("file"));
    await attachments.detach(open, fileId);
    return json(toDeleted(fileId, "vector_store.file.deleted"));
  });
  routes.get("/:id/files/:file/content", async ({ req, json }) => {
    const open = await openStore(context, await findEntry(context, req.param("id")));
    const { bodyId } = await heldFile(context, open, req.param("file"));
    return json(toContentPage(bodyId === null ? [] : await sectionsOfBody(open.store.db, bodyId)));
  });
  return routes;
}

export async function openStore({ stores }: WireContext, entry: StoreEntry): Promise<OpenStore> {
  return { id: entry.id, store: await stores.open(entry) };
}

async function attach(context: WireContext, open: OpenStore, request: Request): Promise<string> {
  const fields = await readFields(request, ["file_id", "attributes", "chunking_strategy"]);
  const fileId = asString(required(fields, "file_id"), "file_id");
  const attributes = fields["attributes"] == null ? undefined : asAttributes(fields["attributes"]);
  const chunking = asChunking(fields["chunking_strategy"]);
  const file = await fileToAttach(context, open, fileId);
  const [gone] = await context.attachments.attach(open, [{ file, attributes, chunking }]);
  if (gone) throw noSuchFile(gone);
  return fileId;
}

/** One that a crawl brought into this very store needs no bytes any more. */
async function fileToAttach(context: WireContext, { store }: OpenStore, id: string): Promise<WireFile> {
  const held = (await activeDocument(store.db, id)) && (await context.files.find(id));
  const [file] = held ? [held] : await filesToAttach(context, [id]);
  if (!file) throw noSuchFile(id);
  return file;
}

async function heldFile({ attachments }: WireContext, open: OpenStore, fileId: string): Promise<DocumentRow> {
  const row = (await attachments.find(open, [fileId])).get(fileId);
  if (!row) throw notFound(`No file found with id '${fileId}' in vector store '${open.id}'.`);
  return row;
}

/** undefined: all. */
export function readStatus(query: URLSearchParams): (typeof STATUSES)[number] | undefined {
  return query.get("filter") ? asOneOf(query.get("filter"), "filter", STATUSES) : undefined;
}

async function listFiles({ attachments }: WireContext, open: OpenStore, query: URLSearchParams): Promise<object> {
  const { id, store } = open;
  const params = readListParams(query, LIST_LIMITS);
  const status = readStatus(query);
  const request = await toPageRequest(params, async (fileId) => {
    const row = await activeDocument(store.db, fileId);
    return row && { createdAt: row.uploadedAt, seq: row.id };
  });
  const list = {
    columns: DOCUMENT_COLUMNS,
    from: "documents_active",
    createdAt: "uploaded_at",
    seq: "id",
    ...(status && { where: "status = $1", values: [status] }),
  };
  const page = await readPage<DocumentRow>(store.db, list, request);
  await attachments.ensureProcessing(open, page.rows);
  const ids = page.rows.map(({ fileId }) => fileId);
  return toList(
    page.rows.map((row) => toStoreFileObject(row, id)),
    ids,
    page.hasMore,
  );
}

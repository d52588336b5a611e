import { Hono } from "hono";
import { sectionsOfBody } from "../../../index/bodies.ts";
import { activeDocument, DOCUMENT_COLUMNS, type DocumentRow } from "../../../index/documents.ts";
import { DIRECT_SOURCE } from "../../../index/shared-schema.ts";
import { withFileType } from "../../../lib/file-type.ts";
import { changeAttributes, heldDocuments, type OpenStore } from "../attachments.ts";
import { findFiles, isDeleted, type WireFile } from "../file-repository.ts";
import { readPage } from "../read-page.ts";
import type { StoreEntry } from "../stores.ts";
import { toContentPage, toDeleted, toList, toStoreFileObject } from "./codec.ts";
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
import { findEntry, findLive, type WireContext } from "./wire-context.ts";
import { noSuchFile, notFound } from "./wire-error.ts";

export const LIST_LIMITS = { max: 100, usual: 20 };
const STATUSES = ["in_progress", "completed", "failed", "cancelled"] as const;

/** Below `/vector_stores`: the files of one store. */
export function storeFileRoutes(context: WireContext): Hono {
  const { attachments } = context;
  const routes = new Hono();
  routes.post("/:id/files", async ({ req, json }) => {
    const entry = await findLive(context, req.param("id"));
    const open = await openStore(context, entry);
    const fileId = await attach(context, open, req.raw);
    await context.stores.noteActivity(entry);
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
    const open = await openStore(context, await findLive(context, req.param("id")));
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
  const held = (await activeDocument(store.db, id)) && (await context.shelf.find(id));
  const [file] = held ? [held] : await filesToAttach(context, [id]);
  if (!file) throw noSuchFile(id);
  return file;
}

async function heldFile({ attachments }: WireContext, open: OpenStore, fileId: string): Promise<DocumentRow> {
  const row = (await attachments.look(open, [fileId])).get(fileId);
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
  await attachments.noteLook(open, page.rows);
  const ids = page.rows.map(({ fileId }) => fileId);
  return toList(
    page.rows.map((row) => toStoreFileObject(row, id)),
    ids,
    page.hasMore,
  );
}

/** Files on our shelf, ready to be read, each once. One that is not there refuses them all. */
export async function filesToAttach(context: WireContext, ids: readonly string[]): Promise<WireFile[]> {
  const { catalog, shelf } = context;
  const wanted = [...new Set(ids)];
  const uploaded = await findFiles(catalog, wanted);
  const types = await crawledTypes(context, [...uploaded.keys()]);
  const files: WireFile[] = [];
  for (const id of wanted) {
    const file = uploaded.get(id);
    if (file) {
      const filename = withFileType(file.filename, types.get(id) ?? "");
      files.push({ ...file, filename, path: shelf.pathOf(id) });
      continue;
    }
    const crawled = await shelf.find(id);
    if (!crawled) throw noSuchFile(id);
    const kept = await adopt(context, crawled);
    if (!kept) throw notFound(`The bytes of '${id}' (${crawled.filename}) are not on this disk any more.`);
    files.push(kept);
  }
  return files;
}

/** What crawls read these files as. Earlier releases adopted crawled files under the names of their items: a page as `.aspx`. */
async function crawledTypes({ stores }: WireContext, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const types = new Map<string, string>();
  if (ids.length === 0) return types;
  for await (const { store } of stores.crawled()) {
    for (const [id, { sourceId, fileType }] of await heldDocuments(store.db, ids)) {
      if (sourceId !== DIRECT_SOURCE) types.set(id, fileType);
    }
  }
  return types;
}

async function adopt({ catalog, shelf, removal }: WireContext, file: WireFile): Promise<WireFile | undefined> {
  const kept = await shelf.adopt(file);
  if (!kept || !(await isDeleted(catalog, file.id))) return kept;
  await removal.delete(file.id);
  return undefined;
}

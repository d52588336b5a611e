import { Hono } from "hono";
import type { FileId } from "../../../contracts/ids.ts";
import type { DocumentRow } from "../../../index/documents.ts";
import type { JsonObject } from "../../../lib/json-object.ts";
import { randomId } from "../../../lib/random-id.ts";
import type { Sql } from "../../../lib/sql/sql.ts";
import type { Attachment, OpenStore } from "../attachments.ts";
import { type Batch, toBatchObject, toList, toStoreFileObject } from "./codec.ts";
import { filesToAttach } from "./files-to-attach.ts";
import {
  asArray,
  asAttributes,
  asChunking,
  asObject,
  asString,
  readFields,
  readListParams,
  unknownCursor,
} from "./read-fields.ts";
import { LIST_LIMITS, openStore, readStatus } from "./store-file-routes.ts";
import { findEntry, findOpenStore, type WireContext } from "./wire-context.ts";
import { badRequest, noSuchFile, notFound } from "./wire-error.ts";

const MAX_FILES = 2000;
/** Two thousand files with all the attributes each may have. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

/** Below `/vector_stores`: files that are attached together. */
export function batchRoutes(context: WireContext): Hono {
  const routes = new Hono();
  routes.post("/:id/file_batches", async ({ req, json }) => {
    const entry = await findOpenStore(context, req.param("id"));
    const open = await openStore(context, entry);
    const batch = await createBatch(context, open, req.raw);
    await context.stores.recordActivity(entry);
    return json(await show(context, open, batch));
  });
  routes.get("/:id/file_batches/:batch", async ({ req, json }) => {
    const { open, batch } = await find(context, req.param("id"), req.param("batch"));
    return json(await show(context, open, batch));
  });
  routes.post("/:id/file_batches/:batch/cancel", async ({ req, json }) => {
    const { open, batch } = await find(context, req.param("id"), req.param("batch"));
    const files = await filesOfBatch(context.catalog, batch.id);
    const rows = await context.attachments.find(open, files);
    const unfinished = files.filter((fileId) => rows.get(fileId)?.status === "in_progress");
    if (unfinished.length > 0) {
      await cancelBatch(context.catalog, batch.id);
      await context.attachments.cancel(open, unfinished);
    }
    return json(await show(context, open, { ...batch, cancelled: batch.cancelled || unfinished.length > 0 }));
  });
  routes.get("/:id/file_batches/:batch/files", async ({ req, json }) => {
    const { open, batch } = await find(context, req.param("id"), req.param("batch"));
    const rows = await rowsOf(context, open, batch);
    return json(pageOf(rows, open.id, new URL(req.url).searchParams));
  });
  return routes;
}

async function find(context: WireContext, storeId: string, id: string): Promise<{ open: OpenStore; batch: Batch }> {
  const open = await openStore(context, await findEntry(context, storeId));
  const batch = await findBatch(context.catalog, storeId, id);
  if (!batch) throw notFound(`No file batch found with id '${id}' in vector store '${storeId}'.`);
  return { open, batch };
}

async function createBatch(context: WireContext, open: OpenStore, request: Request): Promise<Batch> {
  const known = ["file_ids", "files", "attributes", "chunking_strategy"];
  const requested = readBatch(await readFields(request, known, MAX_BODY_BYTES));
  const files = await filesToAttach(context, [...requested.keys()]);
  const attachments = files.map((file): Attachment => ({ file, ...(requested.get(file.id) ?? NO_OPTIONS) }));
  const batch = { id: randomId("vsfb_"), storeId: open.id, createdAt: context.nowSeconds(), cancelled: false };
  const ids = files.map(({ id }) => id);
  const gone = await context.attachments.attach(open, attachments, () =>
    context.catalog.write((sql) => insertBatch(sql, batch, ids)),
  );
  if (gone.length === files.length && gone[0]) throw noSuchFile(gone[0]);
  return batch;
}

type AttachOptions = Omit<Attachment, "file">;
const NO_OPTIONS: AttachOptions = { attributes: undefined, chunking: undefined };

/** Reads the options of each file, by id. If a file is named twice, the last one counts. */
function readBatch(fields: Readonly<JsonObject>): Map<string, AttachOptions> {
  const { file_ids: ids, files } = fields;
  if ((ids == null) === (files == null)) {
    throw badRequest("Exactly one of 'file_ids' and 'files' must be given.", ids == null ? "file_ids" : "files");
  }
  if (ids != null) {
    const options = readAttachOptions(fields, "");
    return new Map(listed(ids, "file_ids").map((id) => [asString(id, "file_ids"), options]));
  }
  for (const field of ["attributes", "chunking_strategy"]) {
    if (fields[field] != null)
      throw badRequest(`'${field}' goes with 'file_ids'; with 'files', each has its own.`, field);
  }
  return new Map(
    listed(files, "files").map((value, at) => {
      const file = asObject(value, `files[${at}]`);
      const unknown = Object.keys(file).find((key) => !["file_id", "attributes", "chunking_strategy"].includes(key));
      if (unknown !== undefined)
        throw badRequest(`Unknown parameter: 'files[${at}].${unknown}'.`, `files[${at}].${unknown}`);
      return [asString(file["file_id"], `files[${at}].file_id`), readAttachOptions(file, `files[${at}].`)];
    }),
  );
}

function readAttachOptions(fields: Readonly<JsonObject>, prefix: string): AttachOptions {
  const { attributes, chunking_strategy: chunking } = fields;
  return {
    attributes: attributes == null ? undefined : asAttributes(attributes, `${prefix}attributes`),
    chunking: asChunking(chunking, `${prefix}chunking_strategy`),
  };
}

function listed(value: unknown, param: string): readonly unknown[] {
  const list = asArray(value, param);
  if (list.length >= 1 && list.length <= MAX_FILES) return list;
  throw badRequest(`'${param}' has ${list.length} entries; 1 to ${MAX_FILES} are allowed.`, param);
}

/** Returns the documents in ascending list order. A file that was detached is not in its batches any more. */
async function rowsOf(context: WireContext, open: OpenStore, batch: Batch): Promise<DocumentRow[]> {
  const rows = await context.attachments.find(open, await filesOfBatch(context.catalog, batch.id));
  return [...rows.values()].sort((a, b) => a.uploadedAt - b.uploadedAt || a.id - b.id);
}

async function show(context: WireContext, open: OpenStore, batch: Batch): Promise<object> {
  const rows = await rowsOf(context, open, batch);
  const count = (status: DocumentRow["status"]): number => rows.filter((row) => row.status === status).length;
  return toBatchObject(batch, {
    inProgress: count("in_progress"),
    completed: count("completed"),
    failed: count("failed"),
    cancelled: count("cancelled"),
  });
}

/** Pages in memory: a batch is small. */
function pageOf(rows: readonly DocumentRow[], storeId: string, query: URLSearchParams): object {
  const { limit, order, after, before } = readListParams(query, LIST_LIMITS);
  const status = readStatus(query);
  const all = order === "asc" ? rows : rows.toReversed();
  const placeOf = (id: string | undefined, param: "after" | "before", otherwise: number): number => {
    if (id === undefined) return otherwise;
    const at = all.findIndex(({ fileId }) => fileId === id);
    return at < 0 ? unknownCursor(id, param) : at;
  };
  const from = placeOf(after, "after", -1) + 1;
  const to = placeOf(before, "before", all.length);
  const found = all.slice(from, to).filter((row) => status === undefined || row.status === status);
  const backwards = before !== undefined && after === undefined;
  const page = backwards ? found.slice(-limit) : found.slice(0, limit);
  const objects = page.map((row) => toStoreFileObject(row, storeId));
  const ids = page.map(({ fileId }) => fileId);
  return toList(objects, ids, found.length > page.length);
}

type BatchRow = Omit<Batch, "cancelled"> & { readonly cancelled: number };

async function insertBatch(sql: Sql, batch: Batch, fileIds: readonly FileId[]): Promise<void> {
  await sql.run("INSERT INTO batches (id, store_id, created_at, cancelled) VALUES ($1, $2, $3, 0)", [
    batch.id,
    batch.storeId,
    batch.createdAt,
  ]);
  const rows = fileIds.map((fileId, position) => [batch.id, position, fileId]);
  await sql.insert("batch_files (batch_id, position, file_id)", rows);
}

async function findBatch(sql: Sql, storeId: string, id: string): Promise<Batch | undefined> {
  const row = await sql.get<BatchRow>(
    `SELECT id, store_id AS "storeId", created_at AS "createdAt", cancelled FROM batches WHERE id = $1 AND store_id = $2`,
    [id, storeId],
  );
  return row && { ...row, cancelled: row.cancelled !== 0 };
}

/** Returns the files in the order of the request. */
async function filesOfBatch(sql: Sql, id: string): Promise<FileId[]> {
  const rows = await sql.all<{ fileId: FileId }>(
    'SELECT file_id AS "fileId" FROM batch_files WHERE batch_id = $1 ORDER BY position',
    [id],
  );
  return rows.map(({ fileId }) => fileId);
}

async function cancelBatch(sql: Sql, id: string): Promise<void> {
  await sql.run("UPDATE batches SET cancelled = 1 WHERE id = $1", [id]);
}

import { isAbsolute, join, relative, resolve, sep } from "node:path";
import type { OwnerChange } from "../contracts/backend.ts";
import type { DomainId, FileId, ItemId, SourceId } from "../contracts/ids.ts";
import type { Attributes, DocumentCount } from "../contracts/search-index.ts";
import { isListed, listOf, type Sql, type Values } from "../lib/sql/sql.ts";
import { noteLooseBodies } from "./bodies.ts";
import { NEWEST, type View, visibleAfter, visibleAt, visibleIn } from "./generations.ts";
import type { LabelWords, Store } from "./store.ts";
import { bumpVisibleRevision, readState, takeIds, writeLocked } from "./store-state.ts";

/** Identifies a source: source ids are unique only within their domain. */
export interface SourceKey {
  readonly domainId: string;
  readonly sourceId: string;
}

/** One row of `documents`, without its life span. Times are Unix seconds. */
export interface DocumentRow extends SourceKey {
  readonly id: number;
  readonly itemId: ItemId;
  readonly fileId: FileId;
  readonly name: string;
  readonly path: string;
  readonly url: string;
  readonly fileType: string;
  /** ISO 8601 UTC, "" when unknown. */
  readonly modifiedAt: string;
  /** JSON; parse only what is shown. */
  readonly attributes: string;
  /** Path of the bytes at the time of the put; see storedPath. */
  readonly file: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly chunking: string;
  readonly bodyId: number | null;
  readonly status: "in_progress" | "completed" | "failed" | "cancelled";
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly uploadedAt: number;
  readonly embeddedAt: number;
}

export interface NewDocument extends Omit<DocumentRow, "id"> {
  /** The generation's id. */
  readonly born: number;
  readonly words: Omit<LabelWords, "documentId">;
}

export const DOCUMENT_COLUMNS = `id, domain_id AS "domainId", source_id AS "sourceId", item_id AS "itemId",
  file_id AS "fileId", name, path, url, file_type AS "fileType", modified_at AS "modifiedAt", attributes, file, sha256,
  bytes, chunking, body_id AS "bodyId", status, error_code AS "errorCode", error_message AS "errorMessage",
  uploaded_at AS "uploadedAt", embedded_at AS "embeddedAt"`;

/** Returns the id of the first document; the others follow. */
export async function insertDocuments(
  sql: Sql,
  { texts }: Pick<Store, "texts">,
  documents: readonly NewDocument[],
): Promise<number> {
  const first = await takeIds(sql, "next_document", documents.length);
  await sql.insert(
    `documents (id, domain_id, source_id, item_id, file_id, name, path, url, file_type, modified_at, attributes, file,
       sha256, bytes, chunking, body_id, status, error_code, error_message, uploaded_at, embedded_at, born)`,
    documents.map((document, at) => valuesOf(first + at, document)),
  );
  await texts.addLabels(
    sql,
    documents.map(({ words }, at) => ({ documentId: first + at, ...words })),
  );
  return first;
}

function valuesOf(id: number, row: NewDocument): Values {
  return [
    id,
    row.domainId,
    row.sourceId,
    row.itemId,
    row.fileId,
    row.name,
    row.path,
    row.url,
    row.fileType,
    row.modifiedAt,
    row.attributes,
    row.file,
    row.sha256,
    row.bytes,
    row.chunking,
    row.bodyId,
    row.status,
    row.errorCode,
    row.errorMessage,
    row.uploadedAt,
    row.embeddedAt,
    row.born,
  ];
}

/** Deletes documents from every generation; their bodies are noted as loose. */
export async function deleteDocuments(
  sql: Sql,
  { texts }: Pick<Store, "texts">,
  documents: readonly Pick<DocumentRow, "id" | "bodyId">[],
): Promise<void> {
  if (documents.length === 0) return;
  const ids = documents.map(({ id }) => id);
  await texts.removeLabels(sql, ids);
  await sql.run(`DELETE FROM documents WHERE ${isListed(sql, "id", "$1", "integer")}`, [listOf(ids)]);
  await noteLooseBodies(
    sql,
    documents.flatMap(({ bodyId }) => (bodyId === null ? [] : [bodyId])),
  );
}

/** Ends documents in a generation, which takes effect when that is committed. */
export async function endDocuments(sql: Sql, ids: readonly number[], died: number): Promise<number> {
  if (ids.length === 0) return 0;
  return sql.run(`UPDATE documents SET died = $2 WHERE ${isListed(sql, "id", "$1", "integer")}`, [listOf(ids), died]);
}

export async function activeDocument(sql: Sql, fileId: string): Promise<DocumentRow | undefined> {
  return sql.get<DocumentRow>(`SELECT ${DOCUMENT_COLUMNS} FROM documents_active WHERE file_id = $1`, [fileId]);
}

export async function titlesOf(sql: Sql, fileIds: readonly FileId[]): Promise<Map<FileId, string>> {
  const rows = await sql.all<{ fileId: FileId; title: string }>(
    `SELECT d.file_id AS "fileId", b.title FROM documents_active d JOIN bodies b ON b.id = d.body_id
     WHERE b.title <> '' AND ${isListed(sql, "d.file_id", "$1", "text")}`,
    [listOf(fileIds)],
  );
  return new Map(rows.map(({ fileId, title }) => [fileId, title]));
}

/** Returns the documents of these items that readers are shown. */
export async function shownDocuments(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  itemIds: readonly ItemId[],
): Promise<HoldingRow[]> {
  return sql.all<HoldingRow>(
    `SELECT ${HOLDING_COLUMNS} FROM documents_active d
     WHERE d.domain_id = $1 AND d.source_id = $2 AND ${isListed(sql, "d.item_id", "$3", "text")}`,
    [domainId, sourceId, listOf(itemIds)],
  );
}

/** Returns the documents that the newest generation has of these items. */
export async function newestDocuments(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  itemIds: readonly ItemId[],
): Promise<(HoldingRow & Pick<DocumentRow, "name" | "modifiedAt">)[]> {
  return sql.all(
    `SELECT ${HOLDING_COLUMNS}, d.name, d.modified_at AS "modifiedAt" FROM documents d
     WHERE d.domain_id = $1 AND d.source_id = $2 AND ${isListed(sql, "d.item_id", "$3", "text")} AND ${visibleAt(NEWEST)}`,
    [domainId, sourceId, listOf(itemIds)],
  );
}

/** A document that was asked for by a name. */
export type CalledRow = Pick<DocumentRow, "sourceId" | "itemId" | "fileId" | "path" | "bodyId">;

const MAX_CALLED = 20;

/**
 * Returns the documents that are shown under this file id, else under this item id, path, URL or name, in this order: a path
 * does not compete with names. A search for anything but a file id scans the documents of the domain.
 */
export async function documentsCalled(
  sql: Sql,
  { domainId, sourceId, called }: { readonly domainId: string; readonly sourceId?: string | undefined; called: string },
  view: View,
): Promise<CalledRow[]> {
  const columns = `d.source_id AS "sourceId", d.item_id AS "itemId", d.file_id AS "fileId", d.path, d.body_id AS "bodyId"`;
  const here = sourceId === undefined ? "" : "AND d.source_id = $4";
  const visible = visibleIn(view, "$2");
  const values = [called, view.at, domainId, ...(sourceId === undefined ? [] : [sourceId])];
  // Files that were attached over the wire belong to no domain, and have no other name.
  const [file] = await sql.all<CalledRow>(
    `SELECT ${columns} FROM documents d WHERE d.file_id = $1 AND d.domain_id IN ($3, '') ${here} AND ${visible}
     ORDER BY d.id DESC LIMIT 1`,
    values,
  );
  if (file) return [file];
  const found = await sql.all<CalledRow & { place: number }>(
    `SELECT ${columns}, CASE WHEN d.item_id = $1 THEN 1 WHEN d.path = $1 THEN 2 WHEN d.url = $1 THEN 3 ELSE 4 END AS place
     FROM documents d WHERE d.domain_id = $3 ${here} AND ${visible}
       AND (d.item_id = $1 OR d.path = $1 OR d.url = $1 OR lower(d.name) = lower($1))
     ORDER BY place, d.path, d.id LIMIT ${MAX_CALLED}`,
    values,
  );
  return found.filter(({ place }) => place === found[0]?.place);
}

export async function updateAttributes(sql: Sql, fileId: string, attributes: Attributes): Promise<void> {
  await sql.run("UPDATE documents SET attributes = $1 WHERE file_id = $2", [JSON.stringify(attributes), fileId]);
}

/** A document as a draft sees it. */
export interface DraftedRow extends DocumentRow {
  /** 1: the draft brought it itself. 0: the newest generation has it, and the draft has not ended it. */
  readonly own: 0 | 1;
  readonly title: string;
}

/** None if they are damaged: a search that comes across them must not fail. Verifications tell. */
export function parseAttributes(text: string): Attributes {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** Returns the documents of these items as the draft would leave them, at most one per item. */
export async function draftedDocuments(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  itemIds: readonly ItemId[],
  draft: number,
): Promise<DraftedRow[]> {
  return sql.all<DraftedRow>(
    `SELECT ${DOCUMENT_COLUMNS}, CASE WHEN d.born = $4 THEN 1 ELSE 0 END AS own,
       coalesce((SELECT b.title FROM bodies b WHERE b.id = d.body_id), '') AS title
     FROM documents d WHERE d.domain_id = $1 AND d.source_id = $2 AND ${isListed(sql, "d.item_id", "$3", "text")}
       AND ${visibleAfter("$4")}`,
    [domainId, sourceId, listOf(itemIds), draft],
  );
}

const HOLDING_COLUMNS = `d.id, d.item_id AS "itemId", d.file_id AS "fileId", d.sha256, d.file_type AS "fileType", d.path, d.url,
       d.uploaded_at AS "uploadedAt", d.embedded_at AS "embeddedAt"`;

/** The columns of holdings(). */
export type HoldingRow = Pick<
  DocumentRow,
  "id" | "itemId" | "fileId" | "sha256" | "fileType" | "path" | "url" | "uploadedAt" | "embeddedAt"
>;

/** Returns one page of the documents of a source that the given generations show, by id. */
export async function documentsOfSource(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  page: { readonly visible: readonly number[]; readonly afterId: number; readonly limit: number },
): Promise<HoldingRow[]> {
  const rows = await sql.rows(
    `SELECT ${HOLDING_COLUMNS} FROM documents d WHERE d.domain_id = $1 AND d.source_id = $2 AND d.id > $3
       AND ${isListed(sql, "+d.born", "$4", "integer")}
       AND (d.died IS NULL OR NOT (${isListed(sql, "+d.died", "$4", "integer")}))
     ORDER BY d.id LIMIT $5`,
    [domainId, sourceId, page.afterId, listOf(page.visible), page.limit],
  );
  return (rows as unknown as HoldingCells[]).map(
    ([id, itemId, fileId, sha256, fileType, path, url, uploadedAt, embeddedAt]) => {
      return { id, itemId, fileId, sha256, fileType, path, url, uploadedAt, embeddedAt };
    },
  );
}

/** A row of HOLDING_COLUMNS. */
type HoldingCells = readonly [
  id: HoldingRow["id"],
  itemId: HoldingRow["itemId"],
  fileId: HoldingRow["fileId"],
  sha256: HoldingRow["sha256"],
  fileType: HoldingRow["fileType"],
  path: HoldingRow["path"],
  url: HoldingRow["url"],
  uploadedAt: HoldingRow["uploadedAt"],
  embeddedAt: HoldingRow["embeddedAt"],
];

/** A document for readers, with what its text says of itself. */
export interface ReadableRow
  extends Pick<
    DocumentRow,
    | "id"
    | "domainId"
    | "sourceId"
    | "itemId"
    | "fileId"
    | "name"
    | "path"
    | "url"
    | "modifiedAt"
    | "fileType"
    | "bodyId"
  > {
  readonly title: string;
  readonly language: string;
}

const READABLE = `SELECT d.id, d.domain_id AS "domainId", d.source_id AS "sourceId", d.item_id AS "itemId", d.file_id AS "fileId", d.name, d.path,
  d.url, d.modified_at AS "modifiedAt", d.file_type AS "fileType", d.body_id AS "bodyId", b.title, b.language
  FROM documents_active d JOIN bodies b ON b.id = d.body_id`;

/** Returns one page of the visible documents that have a text, by id. */
export async function readableDocuments(sql: Sql, afterId: number, limit: number): Promise<ReadableRow[]> {
  return sql.all<ReadableRow>(`${READABLE} WHERE d.id > $1 ORDER BY d.id LIMIT $2`, [afterId, limit]);
}

/** Returns the visible documents that were modified last, newest first. Looks at all of them. */
export async function recentDocuments(sql: Sql, limit: number): Promise<ReadableRow[]> {
  return sql.all<ReadableRow>(`${READABLE} WHERE d.modified_at <> '' ORDER BY d.modified_at DESC, d.id DESC LIMIT $1`, [
    limit,
  ]);
}

export async function readableDocument(sql: Sql, fileId: string): Promise<ReadableRow | undefined> {
  return sql.get<ReadableRow>(`${READABLE} WHERE d.file_id = $1`, [fileId]);
}

/**
 * Returns a document's path as it is stored: relative to the storage folder, which holds both index and mirror, so that the
 * folder can be moved. Paths outside it stay absolute.
 */
export function storedPath({ storageFolder }: Pick<Store, "storageFolder">, path: string): string {
  const inside = relative(storageFolder, path);
  return inside.startsWith(`..${sep}`) || isAbsolute(inside) ? path : inside;
}

export function actualPath({ storageFolder }: Pick<Store, "storageFolder">, stored: string): string {
  return resolve(storageFolder, stored);
}

interface CachedCounts {
  readonly revision: number;
  readonly byDomain: Map<DomainId, DocumentCount>;
}

/** Caches counts by the revision of the store: counting a large one takes a while. */
const countCache = new WeakMap<Store, CachedCounts>();

/** Counts the visible documents of a domain, by source. */
export async function countDocuments(store: Store, domain: DomainId): Promise<DocumentCount> {
  return store.db.read(async (sql) => {
    const { visibleRevision: revision } = await readState(sql);
    let known = countCache.get(store);
    if (known?.revision !== revision) {
      known = { revision, byDomain: new Map() };
      countCache.set(store, known);
    }
    const cached = known.byDomain.get(domain);
    if (cached) return cached;
    const rows = await sql.all<{ sourceId: SourceId; documents: number }>(
      `SELECT source_id AS "sourceId", count(*) AS documents FROM documents_active
       WHERE domain_id = $1 AND body_id IS NOT NULL GROUP BY source_id`,
      [domain],
    );
    const bySource = new Map(rows.map(({ sourceId, documents }) => [sourceId, documents]));
    const count = { documents: rows.reduce((sum, { documents }) => sum + documents, 0), bySource };
    known.byDomain.set(domain, count);
    return count;
  });
}

/** Returns the sources of a domain that the newest generation has documents of. Not from a cache, which verify would have to believe. */
export async function sourcesOf(store: Store, domain: DomainId): Promise<Set<SourceId>> {
  return store.db.read(async (sql) => {
    const found = new Set<SourceId>();
    for (let after = ""; ; ) {
      const next = await sql.get<{ sourceId: SourceId }>(
        `SELECT source_id AS "sourceId" FROM documents WHERE domain_id = $1 AND source_id > $2 ORDER BY source_id LIMIT 1`,
        [domain, after],
      );
      if (!next) return found;
      after = next.sourceId;
      const held = await sql.get(
        `SELECT 1 AS one FROM documents d WHERE d.domain_id = $1 AND d.source_id = $2 AND d.body_id IS NOT NULL
           AND ${visibleAt(NEWEST)} LIMIT 1`,
        [domain, after],
      );
      if (held) found.add(after as SourceId);
    }
  });
}

/** Small enough that other writers hardly wait. */
const ROWS_AT_ONCE = 500;

type OwnedRow = Pick<DocumentRow, "id" | "attributes" | "file">;

/**
 * Moves all documents and generations of a domain to another domain: column, attribute, and path of the bytes. Rows that were
 * changed are skipped, so it may be interrupted anywhere and repeated.
 */
export async function changeOwner(
  store: Pick<Store, "db" | "storageFolder">,
  change: OwnerChange,
  signal: AbortSignal,
): Promise<void> {
  const folders = {
    from: storedPath(store, join(change.folders.from, "x")).slice(0, -1),
    to: storedPath(store, join(change.folders.to, "x")).slice(0, -1),
  };
  await writeLocked(store.db, async (sql) => {
    for (const table of ["generations", "kept_documents"]) {
      await sql.run(`UPDATE ${table} SET domain_id = $2 WHERE domain_id = $1`, [change.from, change.to]);
    }
  });
  for (let changed = ROWS_AT_ONCE; changed === ROWS_AT_ONCE; ) {
    signal.throwIfAborted();
    changed = await writeLocked(store.db, (sql) => changeRows(sql, change, folders));
  }
}

async function changeRows(
  sql: Sql,
  { from, to }: OwnerChange,
  folders: { readonly from: string; readonly to: string },
): Promise<number> {
  const rows = await sql.all<OwnedRow>("SELECT id, attributes, file FROM documents WHERE domain_id = $1 LIMIT $2", [
    from,
    ROWS_AT_ONCE,
  ]);
  for (const { id, attributes, file } of rows) {
    const changed = { ...parseAttributes(attributes), domain_id: to };
    const path = file.startsWith(folders.from) ? folders.to + file.slice(folders.from.length) : file;
    await sql.run("UPDATE documents SET domain_id = $2, attributes = $3, file = $4 WHERE id = $1", [
      id,
      to,
      JSON.stringify(changed),
      path,
    ]);
  }
  if (rows.length > 0) await bumpVisibleRevision(sql);
  return rows.length;
}

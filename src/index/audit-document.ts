import { isDeepStrictEqual } from "node:util";
import type { Extractor } from "../contracts/document.ts";
import type { ItemId } from "../contracts/ids.ts";
import type { DocumentAudit, IndexDifference } from "../contracts/index-audit.ts";
import type { DocumentFile } from "../contracts/search-index.ts";
import { isListed, listOf, type Sql } from "../lib/sql/sql.ts";
import { plural } from "../lib/text.ts";
import { type SectionRow, sectionsOfBody } from "./bodies.ts";
import { parseChunkingKey } from "./chunk-sections.ts";
import { DOCUMENT_COLUMNS, type DocumentRow, parseAttributes, type SourceKey } from "./documents.ts";
import { activeSpace } from "./embedding/spaces.ts";
import { checksumOf, scaleOf } from "./embedding/vectors.ts";
import { NEWEST, visibleAt } from "./generations.ts";
import { type PreparedBody, prepareBody } from "./prepare-body.ts";
import type { Store } from "./store.ts";

interface StoredBody {
  readonly title: string;
  readonly language: string;
  readonly sections: readonly SectionRow[];
  readonly chunks: readonly StoredChunk[];
}

interface StoredChunk {
  readonly id: number;
  readonly position: number;
  readonly sectionPath: string;
  readonly page: number;
  readonly text: string;
}

/** Compares everything stored of a document with what its bytes give: label, text, sections, chunks, vectors. */
export async function auditDocument(
  store: Store,
  extractor: Extractor,
  source: SourceKey,
  file: DocumentFile,
  signal: AbortSignal,
): Promise<DocumentAudit> {
  const { audit, row, body } = await auditRows(store, source, file);
  if (!row || !body) return audit;
  const fresh = await prepareBody(extractor, bodySource(row, file), signal, noWords);
  return { ...audit, differences: [...audit.differences, ...compareBody(body, fresh)] };
}

/** The part of this that needs no text: label, and vectors with the checksums that were stored with them. */
export async function auditStored(store: Store, source: SourceKey, file: DocumentFile): Promise<DocumentAudit> {
  return (await auditRows(store, source, file)).audit;
}

/** `row` and `body` only where the body can be compared with one made anew. */
async function auditRows(
  store: Store,
  source: SourceKey,
  file: DocumentFile,
): Promise<{ readonly audit: DocumentAudit; readonly row?: DocumentRow; readonly body?: StoredBody }> {
  const row = await newestDocument(store.db, source, file.itemId);
  if (!row) return onlyDifference("document", "the index does not have it");
  if (row.bodyId === null) return onlyDifference("document", `it has no text in the index (${row.status})`);
  const differences = [...compareDocument(row, file), ...compareLabel(row, file)];
  // For other bytes, everything differs.
  if (row.sha256 !== file.sha256) return { audit: { differences, chunks: 0, vectors: 0, unsummed: 0 } };
  const body = await readBody(store.db, row.bodyId);
  if (!body) return { audit: { differences: [...differences, missingText()], chunks: 0, vectors: 0, unsummed: 0 } };
  const vectors = await auditVectors(store.db, body.chunks);
  const audit: DocumentAudit = {
    differences: [...differences, ...vectors.differences],
    chunks: body.chunks.length,
    vectors: vectors.count,
    unsummed: vectors.unsummed,
  };
  return { audit, row, body };
}

/** The word tables are not compared, and finding words takes longer than all the rest. */
const noWords = (): [] => [];

function onlyDifference(part: IndexDifference["part"], detail: string): { readonly audit: DocumentAudit } {
  return { audit: { differences: [{ part, detail }], chunks: 0, vectors: 0, unsummed: 0 } };
}

function missingText(): IndexDifference {
  return { part: "text", detail: "its text is not in the store" };
}

async function newestDocument(
  sql: Sql,
  { domainId, sourceId }: SourceKey,
  itemId: ItemId,
): Promise<DocumentRow | undefined> {
  return sql.get<DocumentRow>(
    `SELECT ${DOCUMENT_COLUMNS} FROM documents d WHERE domain_id = $1 AND source_id = $2 AND item_id = $3
       AND ${visibleAt(NEWEST)} ORDER BY id DESC`,
    [domainId, sourceId, itemId],
  );
}

function bodySource({ chunking }: DocumentRow, { path, sha256, label, cachedText }: DocumentFile) {
  const base = { path, sha256, fileType: label.fileType, chunking: parseChunkingKey(chunking) };
  return cachedText ? { ...base, cachedText } : base;
}

function compareDocument(row: DocumentRow, file: DocumentFile): IndexDifference[] {
  if (row.sha256 !== file.sha256) return [{ part: "document", detail: "it was made of other bytes" }];
  if (row.status !== "completed") return [{ part: "text", detail: `its status is ${row.status}` }];
  return [];
}

function compareLabel(row: DocumentRow, { label }: DocumentFile): IndexDifference[] {
  const stored = parseAttributes(row.attributes);
  const wrong = (["name", "path", "url", "fileType", "modifiedAt"] as const).filter(
    (key) => row[key] !== label[key] && !(key === "url" && label.url === ""),
  );
  // Others may have added attributes of their own over the wire.
  const attributes = Object.keys(label.attributes).filter(
    (key) => key !== "content_hash" && stored[key] !== label.attributes[key],
  );
  const names = [...wrong.map((key) => NAMES[key]), ...attributes.map((key) => `attribute ${key}`)];
  return names.length === 0 ? [] : [{ part: "label", detail: `other than in the mirror: ${names.join(", ")}` }];
}

const NAMES = {
  name: "name",
  path: "path",
  url: "address",
  fileType: "file type",
  modifiedAt: "modified time",
} as const;

async function readBody(sql: Sql, bodyId: number): Promise<StoredBody | undefined> {
  const body = await sql.get<Pick<StoredBody, "title" | "language">>(
    "SELECT title, language FROM bodies WHERE id = $1",
    [bodyId],
  );
  if (!body) return undefined;
  const chunks = await sql.all<StoredChunk>(
    `SELECT id, position, section_path AS "sectionPath", page, text FROM chunks WHERE body_id = $1 ORDER BY position, id`,
    [bodyId],
  );
  return { ...body, sections: await sectionsOfBody(sql, bodyId), chunks };
}

/** Rows compare by what they say; `id` is the store's own. */
function compareBody(stored: StoredBody, fresh: PreparedBody): IndexDifference[] {
  const differences: IndexDifference[] = [];
  if (stored.title !== fresh.title || stored.language !== fresh.language) {
    differences.push({ part: "text", detail: "it has another title or language" });
  }
  const sections = compareRows(stored.sections.map(pickSection), fresh.sections.map(pickSection), "section");
  const chunks = compareRows(stored.chunks.map(pickChunk), fresh.chunks.map(pickChunk), "passage");
  if (sections) differences.push({ part: "sections", detail: sections });
  if (chunks) differences.push({ part: "chunks", detail: chunks });
  return differences;
}

type PositionedRow = { readonly position: number };

function pickSection({ position, parent, heading, level, content }: SectionRow): SectionRow {
  return { position, parent, heading, level, content };
}

function pickChunk({ position, sectionPath, page, text }: Omit<StoredChunk, "id">): Omit<StoredChunk, "id"> {
  return { position, sectionPath, page, text };
}

/** "" when both have the same rows. Positions count from 0; people count from 1. */
function compareRows<T extends PositionedRow>(stored: readonly T[], fresh: readonly T[], noun: string): string {
  const found = new Map(stored.map((row) => [row.position, row]));
  const wrong = fresh.flatMap((row) => {
    const other = found.get(row.position);
    if (!other) return [`${noun} ${row.position + 1} is missing`];
    return isDeepStrictEqual(other, row) ? [] : [`${noun} ${row.position + 1} is another`];
  });
  const extra = stored.length - fresh.filter(({ position }) => found.has(position)).length;
  if (extra > 0) wrong.push(`${plural(extra, noun)} too many`);
  const [first = ""] = wrong;
  return wrong.length > 1 ? `${first}, and ${wrong.length - 1} more` : first;
}

async function auditVectors(
  sql: Sql,
  chunks: readonly StoredChunk[],
): Promise<{ differences: IndexDifference[]; count: number; unsummed: number }> {
  const space = await activeSpace(sql);
  if (!space || chunks.length === 0) return { differences: [], count: 0, unsummed: 0 };
  const rows = await sql.all<{ chunkId: number; vector: Uint8Array; checksum: number | null; isOwn: number }>(
    `SELECT v.chunk_id AS "chunkId", v.vector, v.checksum, CASE WHEN v.body_id = c.body_id THEN 1 ELSE 0 END AS "isOwn"
     FROM vectors v JOIN chunks c ON c.id = v.chunk_id
     WHERE v.space_id = $1 AND ${isListed(sql, "v.chunk_id", "$2", "integer")}`,
    [space.id, listOf(chunks.map(({ id }) => id))],
  );
  const byChunk = new Map(rows.map((row) => [row.chunkId, row]));
  const wrong: string[] = [];
  for (const { id, position } of chunks) {
    const row = byChunk.get(id);
    const where = `of passage ${position + 1}`;
    if (!row) wrong.push(`the vector ${where} is missing`);
    else if (row.isOwn === 0) wrong.push(`the vector ${where} is that of another text`);
    else if (row.vector.byteLength !== space.dimensions + 4 || !Number.isFinite(scaleOf(row.vector))) {
      wrong.push(`the vector ${where} is none of its space`);
    } else if (row.checksum !== null && row.checksum !== checksumOf(space.id, id, row.vector)) {
      wrong.push(`the vector ${where} has not the checksum that was stored with it`);
    }
  }
  const detail = wrong.length > 1 ? `${wrong[0]}, and ${wrong.length - 1} more` : wrong[0];
  return {
    differences: detail === undefined ? [] : [{ part: "vectors", detail }],
    count: rows.length,
    unsummed: rows.filter(({ checksum }) => checksum === null).length,
  };
}

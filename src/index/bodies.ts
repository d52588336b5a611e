import { ConflictError } from "../contracts/errors.ts";
import type { FileId } from "../contracts/ids.ts";
import type { DocumentSection, TextPart, TextRange } from "../contracts/search-index.ts";
import { nameUuid } from "../lib/name-uuid.ts";
import { isListed, listOf, type Sql, type SqlDatabase } from "../lib/sql/sql.ts";
import { nowSeconds } from "../lib/time.ts";
import type { Store, Words } from "./store.ts";
import { bumpVisibleRevision, takeIds, writeLocked } from "./store-state.ts";

/** All that determines the text and chunks of a file. Documents with equal keys share one body. */
export interface BodyKey {
  readonly sha256: string;
  readonly fileType: string;
  readonly extractor: string;
  /** With the chunker's revision. */
  readonly chunking: string;
}

/** A body with all its parts, to be inserted. */
export interface NewBody {
  readonly key: BodyKey;
  readonly title: string;
  readonly language: string;
  readonly sections: readonly SectionRow[];
  readonly chunks: readonly NewChunk[];
}

/** A body that is in the store. */
export interface BodyRow {
  readonly id: number;
  readonly title: string;
}

/** Returns a string that is equal for equal keys. */
export function nameOfKey({ sha256, fileType, extractor, chunking }: BodyKey): string {
  return `${sha256} ${fileType} ${extractor} ${chunking}`;
}

export async function findBody(sql: Sql, key: BodyKey): Promise<BodyRow | undefined> {
  return sql.get<BodyRow>(
    "SELECT id, title FROM bodies WHERE sha256 = $1 AND file_type = $2 AND extractor = $3 AND chunking = $4",
    [key.sha256, key.fileType, key.extractor, key.chunking],
  );
}

/** Returns the existing bodies, by nameOfKey. */
export async function findBodies(sql: Sql, keys: readonly BodyKey[]): Promise<Map<string, BodyRow>> {
  const found = new Map<string, BodyRow>();
  if (keys.length === 0) return found;
  const rows = await sql.all<BodyRow & BodyKey>(
    `SELECT id, title, sha256, file_type AS "fileType", extractor, chunking FROM bodies
     WHERE ${isListed(sql, "sha256", "$1", "text")}`,
    [listOf([...new Set(keys.map(({ sha256 }) => sha256))])],
  );
  for (const row of rows) found.set(nameOfKey(row), { id: row.id, title: row.title });
  return found;
}

/** Inserts bodies with all their parts, vectors in the given space. Returns them in the order given. */
export async function insertBodies(
  sql: Sql,
  store: Pick<Store, "texts" | "vectors">,
  bodies: readonly NewBody[],
  spaceId: number,
): Promise<BodyRow[]> {
  if (bodies.length === 0) return [];
  const first = await takeIds(sql, "next_body", bodies.length);
  await sql.insert(
    "bodies (id, sha256, file_type, extractor, chunking, title, language)",
    bodies.map(({ key, title, language }, at) => [
      first + at,
      key.sha256,
      key.fileType,
      key.extractor,
      key.chunking,
      title,
      language,
    ]),
  );
  await insertSections(
    sql,
    bodies.flatMap(({ sections }, at) => sections.map((section) => ({ ...section, bodyId: first + at }))),
  );
  const chunks = bodies.flatMap(({ chunks }, at) => chunks.map((chunk) => ({ ...chunk, bodyId: first + at })));
  await insertChunks(sql, store, chunks, spaceId);
  return bodies.map(({ title }, at) => ({ id: first + at, title }));
}

/**
 * Gives the documents of one body, shown in any generation or retained, another body of the same content. The old one is deleted by cleanup,
 * and so is the new one if no document has it.
 */
export async function passOnDocuments(
  sql: Sql,
  bodies: { readonly from: number; readonly to: number; readonly embeddedAt: number },
): Promise<void> {
  const { from, to, embeddedAt } = bodies;
  await sql.run("UPDATE documents SET body_id = $2, embedded_at = $3 WHERE body_id = $1", [from, to, embeddedAt]);
  await sql.run("UPDATE kept_documents SET body_id = $2 WHERE body_id = $1", [from, to]);
  await noteLooseBodies(sql, [from, to]);
  await bumpVisibleRevision(sql);
}

/** Records that the bodies lost a document; others may still use them. Cleanup deletes those without any. */
export async function noteLooseBodies(sql: Sql, bodyIds: readonly number[]): Promise<void> {
  await sql.insert(
    "loose_bodies (body_id)",
    [...new Set(bodyIds)].map((id) => [id]),
    "ON CONFLICT DO NOTHING",
  );
}

/** Returns bodies that lost a document, oldest first, with their number of chunks and whether a document, or a retained one, uses them. */
export async function looseBodies(sql: Sql, limit: number): Promise<LooseBody[]> {
  return sql.all<LooseBody>(
    `SELECT l.body_id AS id, (SELECT count(*) FROM chunks c WHERE c.body_id = l.body_id) AS chunks,
       CASE WHEN EXISTS (SELECT 1 FROM documents d WHERE d.body_id = l.body_id)
         OR EXISTS (SELECT 1 FROM kept_documents k WHERE k.body_id = l.body_id) THEN 1 ELSE 0 END AS used
     FROM loose_bodies l ORDER BY l.body_id LIMIT $1`,
    [limit],
  );
}

interface LooseBody {
  readonly id: number;
  readonly chunks: number;
  readonly used: 0 | 1;
}

export async function forgetLooseBodies(sql: Sql, bodyIds: readonly number[]): Promise<void> {
  await sql.run(`DELETE FROM loose_bodies WHERE ${isListed(sql, "body_id", "$1", "integer")}`, [listOf(bodyIds)]);
}

/** Deletes bodies with all their parts. No document may use them. */
export async function deleteBodies(
  sql: Sql,
  store: Pick<Store, "texts" | "vectors">,
  bodyIds: readonly number[],
): Promise<void> {
  if (bodyIds.length === 0) return;
  await deleteChunksOfBodies(sql, store, bodyIds);
  await sql.run(`DELETE FROM bodies WHERE ${isListed(sql, "id", "$1", "integer")}`, [listOf(bodyIds)]);
}

/** A section of the flattened tree; `parent` is the position of the one above it. */
export interface SectionRow {
  readonly position: number;
  readonly parent: number | null;
  readonly heading: string;
  readonly level: number;
  readonly content: string;
}

const COLUMNS = "s.position, s.parent, s.heading, s.level, s.content";

export async function insertSections(
  sql: Sql,
  sections: readonly (SectionRow & { readonly bodyId: number })[],
): Promise<void> {
  await sql.insert(
    "sections (body_id, position, parent, heading, level, content)",
    sections.map(({ bodyId, position, parent, heading, level, content }) => [
      bodyId,
      position,
      parent,
      heading,
      level,
      content,
    ]),
  );
}

export async function sectionsOfBody(sql: Sql, bodyId: number): Promise<SectionRow[]> {
  return sql.all<SectionRow>(`SELECT ${COLUMNS} FROM sections s WHERE s.body_id = $1 ORDER BY s.position`, [bodyId]);
}

/** Section ids are names in this namespace. Never change it: they are in other people's databases. */
const SECTION_IDS = "508633bc-ca04-4d3a-a3f0-246de6256212";

/**
 * Returns one page of the sections of a document, and how many it has. Bodies are shared and keep all nodes; ids and positions are made
 * here, for one document, and count only nodes with content or children.
 */
export async function sectionsOfDocument(
  sql: Sql,
  { fileId, bodyId }: { readonly fileId: FileId; readonly bodyId: number },
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<{ readonly sections: DocumentSection[]; readonly total: number }> {
  const nodes = await sql.all<{ position: number; parent: number | null; isEmpty: 0 | 1 }>(
    `SELECT position, parent, CASE WHEN content = '' THEN 1 ELSE 0 END AS "isEmpty"
     FROM sections WHERE body_id = $1 ORDER BY position`,
    [bodyId],
  );
  // In reading order the first child follows its parent.
  const stored = nodes.filter(({ position, isEmpty }, at) => isEmpty === 0 || nodes[at + 1]?.parent === position);
  const idOf = (at: number): string => nameUuid(SECTION_IDS, `${fileId}/${at}`);
  const page = stored.slice(offset, offset + limit);
  const rows = await sql.all<SectionRow>(
    `SELECT ${COLUMNS} FROM sections s WHERE s.body_id = $1 AND s.position BETWEEN $2 AND $3`,
    [bodyId, page[0]?.position ?? 0, page.at(-1)?.position ?? -1],
  );
  const byPosition = new Map(rows.map((row) => [row.position, row]));
  const places = new Map(stored.map(({ position }, at) => [position, at]));
  const sections = page.flatMap(({ position: node, parent }, at): DocumentSection[] => {
    const row = byPosition.get(node);
    if (!row) return [];
    const position = offset + at;
    const above = parent === null ? undefined : places.get(parent);
    const parentId = above === undefined ? null : idOf(above);
    return [{ id: idOf(position), parentId, position, heading: row.heading, level: row.level, content: row.content }];
  });
  return { sections, total: stored.length };
}

const BETWEEN = "\n\n";
/** What a passage begins with is looked for in the sections; longer beginnings would cross a line that was folded. */
const NEEDLE = 60;

/**
 * Returns a part of a body's text: its headings and contents as Markdown. Lengths are counted by the database, and only
 * the sections of the part are read.
 */
export async function readBodyText(sql: Sql, bodyId: number, { offset, passage, limit }: TextRange): Promise<TextPart> {
  const sections = await sql.all<SizedSection>(
    "SELECT position, heading, level, length(content) AS length FROM sections WHERE body_id = $1 ORDER BY position",
    [bodyId],
  );
  const { blocks, total } = layOut(sections);
  const chunk = passage === undefined ? undefined : await passageOf(sql, bodyId, passage);
  const cited = chunk && { passage: { text: chunk.text, page: chunk.page } };
  const from = Math.min(offset ?? (await offsetOfPassage(sql, bodyId, { chunk, blocks, total, limit })), total);
  const end = Math.min(total, from + limit);
  const wanted = blocks.filter((block) => block.start < end && block.end > from);
  const [first, last] = [wanted[0], wanted.at(-1)];
  if (!first || !last) return { text: "", offset: from, total, ...cited };
  // Reads the first section from the beginning of the part, and of the others at most as much as the part has.
  const skipped = Math.max(0, from - first.contentAt);
  const rows = await sql.all<{ content: string }>(
    `SELECT substr(content, CASE WHEN position = $2 THEN $4 ELSE 1 END, $5) AS content FROM sections
     WHERE body_id = $1 AND position >= $2 AND position <= $3 ORDER BY position`,
    [bodyId, first.position, last.position, skipped + 1, limit],
  );
  const texts = wanted.map((block, at) => block.head + (rows[at]?.content ?? ""));
  const dropped = from - first.start - skipped;
  return {
    text: [...texts.join(BETWEEN)].slice(dropped, dropped + end - from).join(""),
    offset: from,
    total,
    ...cited,
  };
}

interface SizedSection extends Omit<SectionRow, "parent" | "content"> {
  readonly length: number;
}

/** A section in the text: `head` is its heading with what separates it from the content, which begins at `contentAt`. */
interface TextBlock extends SizedSection {
  readonly head: string;
  readonly start: number;
  readonly contentAt: number;
  readonly end: number;
}

function layOut(sections: readonly SizedSection[]): { readonly blocks: readonly TextBlock[]; readonly total: number } {
  const blocks: TextBlock[] = [];
  let total = 0;
  for (const section of sections) {
    const { heading, level, length } = section;
    if (heading === "" && length === 0) continue;
    const start = total === 0 ? 0 : total + BETWEEN.length;
    const head = heading && `${"#".repeat(level)} ${heading}${length > 0 ? BETWEEN : ""}`;
    const contentAt = start + [...head].length;
    total = contentAt + length;
    blocks.push({ ...section, head, start, contentAt, end: total });
  }
  return { blocks, total };
}

type PassageRow = Pick<ChunkRow, "text" | "sectionPath" | "page">;

function passageOf(sql: Sql, bodyId: number, position: number): Promise<PassageRow | undefined> {
  return sql.get<PassageRow>(
    `SELECT text, section_path AS "sectionPath", page FROM chunks WHERE body_id = $1 AND position = $2`,
    [bodyId, position],
  );
}

/** Where to begin so that the passage is shown: at the beginning if the whole text fits, else at its section or at itself. */
async function offsetOfPassage(
  sql: Sql,
  bodyId: number,
  {
    chunk,
    blocks,
    total,
    limit,
  }: {
    readonly chunk: PassageRow | undefined;
    readonly blocks: readonly TextBlock[];
    readonly total: number;
    readonly limit: number;
  },
): Promise<number> {
  if (total <= limit) return 0;
  const line = chunk?.text.split("\n").find((one) => one.trim() !== "");
  if (!chunk || line === undefined) return 0;
  const heading = /^#{1,6} +(.*)$/.exec(line)?.[1]?.trim();
  const titled = heading && blocks.find((block) => block.heading === heading);
  if (titled) return titled.start;
  const needle = [...line].slice(0, NEEDLE).join("");
  const place = sql.dialect === "postgres" ? "strpos(content, $2)" : "instr(content, $2)";
  const found = await sql.all<{ position: number; at: number }>(
    `SELECT position, ${place} AS at FROM sections WHERE body_id = $1 AND ${place} > 0 ORDER BY position`,
    [bodyId, needle],
  );
  const placed = found.flatMap(({ position, at }) => {
    const block = blocks.find((one) => one.position === position);
    return block ? [{ block, at }] : [];
  });
  // The same line may stand in several sections: the passage names its own.
  const own = placed.find(({ block }) => chunk.sectionPath.endsWith(block.heading)) ?? placed[0];
  if (!own) return 0;
  const offset = own.block.contentAt + own.at - 1;
  // With its heading, if that is near.
  return offset - own.block.start < limit / 4 ? own.block.start : offset;
}

/** The text index processes a batch without yielding to the event loop. */
const TEXTS_AT_ONCE = 100;

/** A passage with everything it is found by. */
export interface NewChunk {
  readonly position: number;
  readonly sectionPath: string;
  readonly page: number;
  readonly text: string;
  readonly words: { readonly headings: Words; readonly text: Words };
  /** Vector in the space of the insert; null: a refresh of the space adds it. */
  readonly vector: Float32Array | null;
}

/** A passage as it is stored. */
interface ChunkRow {
  readonly id: number;
  readonly bodyId: number;
  readonly position: number;
  readonly sectionPath: string;
  readonly page: number;
  readonly text: string;
}

export async function insertChunks(
  sql: Sql,
  { texts, vectors }: Pick<Store, "texts" | "vectors">,
  chunks: readonly (NewChunk & { readonly bodyId: number })[],
  spaceId: number,
): Promise<void> {
  if (chunks.length === 0) return;
  const first = await takeIds(sql, "next_chunk", chunks.length);
  await sql.insert(
    "chunks (id, body_id, position, section_path, page, text)",
    chunks.map((chunk, at) => [first + at, chunk.bodyId, chunk.position, chunk.sectionPath, chunk.page, chunk.text]),
  );
  for (let from = 0; from < chunks.length; from += TEXTS_AT_ONCE) {
    const some = chunks.slice(from, from + TEXTS_AT_ONCE);
    await texts.addChunks(
      sql,
      some.map(({ words }, at) => ({ chunkId: first + from + at, ...words })),
    );
  }
  await vectors.add(
    sql,
    spaceId,
    chunks.flatMap(({ bodyId, vector }, at) => (vector ? [{ chunkId: first + at, bodyId, vector }] : [])),
  );
}

/** Deletes up to `limit` chunks with their words and vectors. Returns how many. */
export async function deleteChunksOfBodies(
  sql: Sql,
  { texts, vectors }: Pick<Store, "texts" | "vectors">,
  bodyIds: readonly number[],
  limit = Number.MAX_SAFE_INTEGER,
): Promise<number> {
  const rows = await sql.all<{ id: number }>(
    `SELECT id FROM chunks WHERE ${isListed(sql, "body_id", "$1", "integer")} LIMIT $2`,
    [listOf(bodyIds), limit],
  );
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return 0;
  await texts.removeChunks(sql, ids);
  await vectors.remove(sql, ids);
  await sql.run(`DELETE FROM chunks WHERE ${isListed(sql, "id", "$1", "integer")}`, [listOf(ids)]);
  await sql.run("UPDATE state SET dropped_chunks = dropped_chunks + $1 WHERE id = 1", [ids.length]);
  return ids.length;
}

/** Returns one page of all chunks, by id. */
export async function chunksAfter(sql: Sql, afterId: number, limit: number): Promise<ChunkRow[]> {
  return sql.all<ChunkRow>(
    `SELECT id, body_id AS "bodyId", position, section_path AS "sectionPath", page, text FROM chunks
     WHERE id > $1 ORDER BY id LIMIT $2`,
    [afterId, limit],
  );
}

/**
 * Marks a large body that is written in several transactions, so that no writer waits for all of it. Until it is complete, its
 * row has a key that no lookup uses, and the time of its last write, by which bodies of killed processes are recognised.
 */
export const UNFINISHED = "unfinished";
/** Marks a body that is being deleted in slices: no lookup may find it. */
const WITHDRAWN = "withdrawn";
/** Embedding the next slice may wait for a service; a writer that pauses longer is dead. */
const STALE_SECONDS = 3600;

/** A body whose parts are all in the store; the transaction that uses it finishes it. */
export interface UnfinishedBody extends BodyRow {
  readonly key: BodyKey;
}

export async function beginBody(
  sql: Sql,
  { title, language }: { readonly title: string; readonly language: string },
): Promise<number> {
  const id = await takeIds(sql, "next_body", 1);
  await sql.insert("bodies (id, sha256, file_type, extractor, chunking, title, language)", [
    [id, UNFINISHED, "", String(nowSeconds()), String(id), title, language],
  ]);
  return id;
}

/** Called in every transaction that adds to the body. Throws ConflictError if it was cleaned up as abandoned. */
export async function growBody(sql: Sql, id: number): Promise<void> {
  const there = await sql.run(`UPDATE bodies SET extractor = $2 WHERE id = $1 AND sha256 = '${UNFINISHED}'`, [
    id,
    String(nowSeconds()),
  ]);
  if (there === 0) throw swept();
}

/** From here on the body is found by its key. Throws ConflictError if it was cleaned up as abandoned. */
export async function finishBody(sql: Sql, { id, key }: UnfinishedBody): Promise<void> {
  const there = await sql.run(
    `UPDATE bodies SET sha256 = $2, file_type = $3, extractor = $4, chunking = $5
     WHERE id = $1 AND sha256 = '${UNFINISHED}'`,
    [id, key.sha256, key.fileType, key.extractor, key.chunking],
  );
  if (there === 0) throw swept();
}

function swept(): ConflictError {
  return new ConflictError("write document: its writing stood still for so long that its parts were cleaned up");
}

/** Leaves the unfinished ones of these bodies to the next cleanup. */
export async function abandonBodies(sql: Sql, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const rows = await sql.all<{ id: number }>(
    `SELECT id FROM bodies WHERE sha256 = '${UNFINISHED}' AND ${isListed(sql, "id", "$1", "integer")}`,
    [listOf(ids)],
  );
  for (const { id } of rows) await withdrawBody(sql, id);
  await noteLooseBodies(
    sql,
    rows.map(({ id }) => id),
  );
}

/** From here on no lookup finds the body. Documents that use it must get another one. */
export async function withdrawBody(sql: Sql, id: number): Promise<void> {
  await sql.run(
    `UPDATE bodies SET sha256 = '${WITHDRAWN}', file_type = '', extractor = '', chunking = $2 WHERE id = $1`,
    [id, String(id)],
  );
}

/** Abandons unfinished bodies of killed processes. Reads before it locks: usually there are none. */
export async function abandonStaleBodies(db: SqlDatabase): Promise<void> {
  if ((await staleBodies(db)).length === 0) return;
  await writeLocked(db, async (sql) => abandonBodies(sql, await staleBodies(sql)));
}

async function staleBodies(sql: Sql): Promise<number[]> {
  const rows = await sql.all<{ id: number; grownAt: string }>(
    `SELECT id, extractor AS "grownAt" FROM bodies WHERE sha256 = '${UNFINISHED}'`,
  );
  const before = nowSeconds() - STALE_SECONDS;
  return rows.filter(({ grownAt }) => Number(grownAt) < before).map(({ id }) => id);
}

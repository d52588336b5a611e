import type { FileId, ItemId } from "../../contracts/ids.ts";
import { isListed, listOf, type Sql } from "../../lib/sql/sql.ts";
import { analyze, type Token, tokenize } from "../analyzer.ts";
import type { Words } from "../store.ts";

/** What a hit shows of a chunk. */
export interface Passage {
  readonly id: number;
  readonly position: number;
  readonly sectionPath: string;
  readonly page: number;
  readonly text: string;
  readonly language: string;
  readonly words: PassageWords;
}

export interface PassageWords {
  readonly headings: Words;
  readonly text: Words;
  /** Words of the text with their offsets. */
  readonly tokens: readonly Token[];
}

/** What a hit shows of a document. */
export interface HitDocument {
  readonly id: number;
  readonly sourceId: string;
  readonly itemId: ItemId;
  readonly fileId: FileId;
  readonly name: string;
  readonly title: string;
  readonly path: string;
  readonly url: string;
  readonly modifiedAt: string;
  /** JSON. */
  readonly attributes: string;
}

/** Cache of passages for one search: each is read and analysed once. */
export class Passages {
  readonly #sql: Sql;
  readonly #known = new Map<number, Passage>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async load(chunkIds: readonly number[]): Promise<ReadonlyMap<number, Passage>> {
    const missing = [...new Set(chunkIds)].filter((id) => !this.#known.has(id));
    if (missing.length === 0) return this.#known;
    const rows = await this.#sql.all<Omit<Passage, "words">>(
      `SELECT c.id, c.position, c.section_path AS "sectionPath", c.page, c.text, b.language
       FROM chunks c JOIN bodies b ON b.id = c.body_id WHERE ${isListed(this.#sql, "c.id", "$1", "integer")}`,
      [listOf(missing)],
    );
    for (const row of rows) this.#known.set(row.id, withWords(row));
    return this.#known;
  }
}

function withWords(row: Omit<Passage, "words">): Passage {
  let words: PassageWords | undefined;
  return {
    ...row,
    get words() {
      words ??= wordsOf(row);
      return words;
    },
  };
}

function wordsOf({ sectionPath, text }: Omit<Passage, "words">): PassageWords {
  const tokens = tokenize(text);
  return { headings: analyze(sectionPath), text: tokens.map(({ word }) => word), tokens };
}

export async function loadDocuments(sql: Sql, documentIds: readonly number[]): Promise<Map<number, HitDocument>> {
  const rows = await sql.all<HitDocument>(
    `SELECT d.id, d.source_id AS "sourceId", d.item_id AS "itemId", d.file_id AS "fileId", d.name,
       coalesce(b.title, '') AS title, d.path, d.url, d.modified_at AS "modifiedAt", d.attributes
     FROM documents d LEFT JOIN bodies b ON b.id = d.body_id WHERE ${isListed(sql, "d.id", "$1", "integer")}`,
    [listOf([...new Set(documentIds)])],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

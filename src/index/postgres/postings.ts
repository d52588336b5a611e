import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { Words } from "../storage/store.ts";

/** What is found by its words: the tables `<name>_text` and `<name>_postings`, and how much each field counts. */
export interface Kind {
  readonly name: "chunks" | "labels";
  readonly fields: readonly { readonly name: string; readonly weight: number }[];
}

/** Headings say what a passage is about; so does the name of a document, and its folders a little. As in SQLite. */
export const CHUNKS: Kind = {
  name: "chunks",
  fields: [
    { name: "headings", weight: 2 },
    { name: "text", weight: 1 },
  ],
};
export const LABELS: Kind = {
  name: "labels",
  fields: [
    { name: "name", weight: 2 },
    { name: "path", weight: 1 },
    { name: "title", weight: 2 },
  ],
};

/** An index entry has to fit a third of a page; a longer "word" is the beginning of a blob. */
const MAX_WORD = 200;

export function clip(word: string): string {
  return word.length > MAX_WORD ? word.slice(0, MAX_WORD).toWellFormed() : word;
}

/** One row with the words of each field, in the order of the fields. */
export interface WordRow {
  readonly id: number;
  readonly fields: readonly Words[];
}

export async function addRows(sql: Sql, { name, fields }: Kind, rows: readonly WordRow[]): Promise<void> {
  if (rows.length === 0) return;
  const lengths = rows.map(({ fields }) => fields.reduce((sum, words) => sum + words.length, 0));
  const columns = fields.map((field) => field.name);
  await sql.insert(
    `${name}_text (id, ${columns.join(", ")}, length)`,
    rows.map(({ id, fields }, at) => [id, ...fields.map((words) => words.map(clip).join(" ")), lengths[at] ?? 0]),
  );
  // Counted there: it has the words now, and a row for each of them would have to travel.
  const perField = fields.map(
    (field) =>
      `SELECT id, length, unnest(string_to_array(${field.name}, ' ')) AS word, ${fields
        .map((other) => `${other === field ? 1 : 0} AS ${other.name}`)
        .join(", ")} FROM ${name}_text WHERE ${isListed(sql, "id", "$1", "integer")}`,
  );
  await sql.run(
    `INSERT INTO ${name}_postings (word, id, ${columns.join(", ")}, length)
     SELECT word, id, ${columns.map((column) => `sum(${column})`).join(", ")}, max(length)
     FROM (${perField.join(" UNION ALL ")}) w GROUP BY word, id ORDER BY word, id`,
    [listOf(rows.map(({ id }) => id))],
  );
  await addToTotals(
    sql,
    name,
    rows.length,
    lengths.reduce((sum, length) => sum + length, 0),
  );
}

export async function removeRows(sql: Sql, { name, fields }: Kind, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  const listed = isListed(sql, "t.id", "$1", "integer");
  const words = fields.map((field) => `string_to_array(t.${field.name}, ' ')`).join(" || ");
  // By the words of the row, so that the postings need no second index.
  await sql.run(
    `DELETE FROM ${name}_postings p
     USING (SELECT DISTINCT t.id, unnest(${words}) AS word FROM ${name}_text t WHERE ${listed}) gone
     WHERE p.word = gone.word AND p.id = gone.id`,
    [listOf(ids)],
  );
  const gone = await sql.all<{ length: number }>(`DELETE FROM ${name}_text t WHERE ${listed} RETURNING length`, [
    listOf(ids),
  ]);
  await addToTotals(sql, name, -gone.length, -gone.reduce((sum, { length }) => sum + length, 0));
}

async function addToTotals(sql: Sql, kind: string, rows: number, words: number): Promise<void> {
  await sql.run("UPDATE text_totals SET row_count = row_count + $2, word_count = word_count + $3 WHERE kind = $1", [
    kind,
    rows,
    words,
  ]);
}

import type { Sql, SqlValue } from "../../lib/sql/sql.ts";
import type { Match, Phrase, Selection, WordQuery } from "../storage/store.ts";
import { clip, type Kind } from "./postings.ts";

/** The constants of SQLite's bm25(), so that both databases rank alike. */
const K1 = 1.2;
const B = 0.75;
/** What a word is worth that more than half of the rows have: next to nothing, yet not less than not having it. */
const LEAST_IDF = 1e-6;

/** One statement: what matches each phrase, how rare each of them is, and from both the score of every row. */
export async function matchWords(
  sql: Sql,
  kind: Kind,
  query: WordQuery,
  limit: number,
  among?: Selection,
): Promise<Match[]> {
  const asked = gatherPhrases(query);
  if (asked.length === 0) return [];
  const values: SqlValue[] = [...(among?.values ?? [])];
  const place = (value: SqlValue): string => `$${values.push(value)}`;
  const required = asked.filter((phrase) => phrase.required).length;
  const text = `
    WITH hits (phrase, id, f, length) AS MATERIALIZED (${hitsOf(kind, asked, place)}),
    asked AS (
      SELECT a.number, a.times, a.required, greatest(ln((t.row_count - f.n + 0.5) / (f.n + 0.5)), ${LEAST_IDF}) AS idf
      FROM (VALUES ${asked.map((one, at) => `(${at}, ${one.times}, ${one.required})`).join(", ")}) a (number, times, required)
      JOIN (SELECT phrase, count(*)::float8 AS n FROM hits GROUP BY phrase) f ON f.phrase = a.number
      JOIN text_totals t ON t.kind = '${kind.name}'
    ),
    average AS (SELECT greatest(word_count, 1)::float8 / greatest(row_count, 1) AS length FROM text_totals WHERE kind = '${kind.name}')
    SELECT h.id, sum(a.times * a.idf * h.f * ${K1 + 1} / (h.f + ${K1} * (${1 - B} + ${B} * (h.length / v.length)))) AS score
    FROM hits h JOIN asked a ON a.number = h.phrase CROSS JOIN average v
    ${among ? `WHERE h.id IN (${among.sql})` : ""}
    GROUP BY h.id ${required > 0 ? `HAVING count(*) FILTER (WHERE a.required) = ${required}` : ""}
    ORDER BY score DESC, h.id LIMIT ${place(limit)}`;
  return sql.all<Match>(text, values);
}

interface AskedPhrase extends Phrase {
  readonly required: boolean;
  /** How often it was asked for. */
  times: number;
}

function gatherPhrases({ any, all }: WordQuery): AskedPhrase[] {
  const asked = new Map<string, AskedPhrase>();
  for (const [phrases, required] of [
    [all, true],
    [any, false],
  ] as const) {
    for (const phrase of phrases) {
      const words = phrase.words.map(clip);
      if (words.length === 0) continue;
      const key = `${words.join(" ")}${phrase.beginning ? "*" : ""}`;
      const known = asked.get(key);
      if (known) known.times++;
      else asked.set(key, { words, beginning: phrase.beginning, required, times: 1 });
    }
  }
  return [...asked.values()];
}

/** Rows (phrase, id, f, length): f is how often the phrase occurs, each field with its weight. */
function hitsOf(kind: Kind, asked: readonly AskedPhrase[], place: (value: SqlValue) => string): string {
  const plain = asked.filter(isPlain);
  const parts: string[] = [];
  if (plain.length > 0) {
    const rows = plain.map((phrase) => `(${asked.indexOf(phrase)}, ${place(phrase.words[0] ?? "")}::text)`);
    parts.push(`SELECT w.number AS phrase, p.id, ${weighted(kind)} AS f, p.length
      FROM (VALUES ${rows.join(", ")}) w (number, word) JOIN ${kind.name}_postings p ON p.word = w.word`);
  }
  for (const [number, phrase] of asked.entries()) {
    if (isPlain(phrase)) continue;
    parts.push(
      phrase.words.length === 1 ? beginsWith(kind, number, phrase, place) : sequence(kind, number, phrase, place),
    );
  }
  return parts.join(" UNION ALL ");
}

function isPlain({ words, beginning }: Phrase): boolean {
  return words.length === 1 && !beginning;
}

function beginsWith(kind: Kind, number: number, phrase: Phrase, place: (value: SqlValue) => string): string {
  return `SELECT ${number}, p.id, sum(${weighted(kind)}), max(p.length) FROM ${kind.name}_postings p
    WHERE ${wordIs(phrase, 0, place)} GROUP BY p.id`;
}

/** Rows that have all of the words, then those that have them one after the other; what overlaps itself counts once. */
function sequence(kind: Kind, number: number, phrase: Phrase, place: (value: SqlValue) => string): string {
  const having = phrase.words.map(
    (_, at) => `t.id IN (SELECT p.id FROM ${kind.name}_postings p WHERE ${wordIs(phrase, at, place)})`,
  );
  // Every blank is doubled, so that two occurrences in a row do not share the blank between them.
  const wanted = ` ${phrase.words.join("  ")}${phrase.beginning ? "" : " "}`;
  const sought = place(wanted);
  const found = kind.fields.map(({ name, weight }) => {
    const spaced = `replace(' ' || t.${name} || ' ', ' ', '  ')`;
    return `${weight} * (length(${spaced}) - length(replace(${spaced}, ${sought}::text, '')))::float8 / ${wanted.length}`;
  });
  return `SELECT ${number}, s.id, s.f, s.length FROM
    (SELECT t.id, ${found.join(" + ")} AS f, t.length FROM ${kind.name}_text t WHERE ${having.join(" AND ")}) s WHERE s.f > 0`;
}

function wordIs({ words, beginning }: Phrase, at: number, place: (value: SqlValue) => string): string {
  const word = `${place(words[at] ?? "")}::text`;
  if (!beginning || at < words.length - 1) return `p.word = ${word}`;
  // No character comes after the last one of Unicode, so everything that begins with the word is between the two.
  return `p.word >= ${word} AND p.word < ${word} || U&'\\+10FFFF'`;
}

function weighted({ fields }: Kind): string {
  return `(${fields.map(({ name, weight }) => `${weight} * p.${name}`).join(" + ")})::float8`;
}

import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { Phrase } from "../storage/store.ts";
import { fold } from "../text/fold.ts";
import type { Scored } from "./fuse-scores.ts";
import type { Passage, Passages } from "./passages.ts";
import { STOP_WORDS } from "./stop-words.ts";

/** What a passage without content keeps of its score. */
const FACTOR = 0.4;
/** A longer text is never looked into. */
const MAX_LENGTH = 160;
/** So many words of its own are content, whatever was asked; fewer are, when the question is about them. */
const CONTENT_WORDS = 5;
const LEAST_WORDS = 2;

/**
 * "On this page" and the like have little but the headings above them, which they share with passages that have something to say:
 * those come first. A short answer is all there is below its heading, and stays where it is.
 */
export async function stepBackThin(
  sql: Sql,
  passages: Passages,
  scored: readonly Scored[],
  { phrases, limit }: { readonly phrases: readonly Phrase[]; readonly limit: number },
): Promise<readonly Scored[]> {
  const first = scored.slice(0, limit * 2 + 10);
  const texts = await passages.load(first.map(({ chunkId }) => chunkId));
  const thin = new Map<number, Thinness>();
  for (const { chunkId } of first) {
    const passage = texts.get(chunkId);
    const thinness = passage && thinnessOf(passage, phrases);
    if (thinness) thin.set(chunkId, thinness);
  }
  if (thin.size === 0) return scored;
  const surrounded = await findSurrounded(sql, thin);
  return scored
    .map((one) => (surrounded.has(one.chunkId) ? { ...one, score: one.score * FACTOR } : one))
    .toSorted((a, b) => b.score - a.score);
}

/** bare: it says its headings again. Undefined: it has content. */
type Thinness = "bare" | "thin" | undefined;

function thinnessOf({ text, words }: Passage, phrases: readonly Phrase[]): Thinness {
  if (text.length > MAX_LENGTH) return undefined;
  const headings = new Set(words.headings);
  const placed = words.placed.filter(({ start, end }) => !STOP_WORDS.has(fold(text.slice(start, end))));
  const own = new Set(placed.map(({ word }) => word).filter((word) => !headings.has(word)));
  if (own.size === 0) return "bare";
  if (own.size >= CONTENT_WORDS) return undefined;
  const isAskedFor = phrases.some((phrase) => phrase.words.some((word) => own.has(word)));
  return own.size < LEAST_WORDS || !isAskedFor ? "thin" : undefined;
}

/** Those that are not all there is: of the document where they are bare, else of their section and what is below it. */
async function findSurrounded(sql: Sql, thin: ReadonlyMap<number, Thinness>): Promise<ReadonlySet<number>> {
  const others = "SELECT 1 FROM chunks o WHERE o.body_id = c.body_id AND o.id <> c.id";
  const inSection = `(c.section_path = '' OR o.section_path = c.section_path
    OR substr(o.section_path, 1, length(c.section_path) + 3) = c.section_path || ' > ')`;
  const rows = await sql.all<{ id: number; others: number | null; below: number | null }>(
    `SELECT c.id, (${others} LIMIT 1) AS others, (${others} AND ${inSection} LIMIT 1) AS below
     FROM chunks c WHERE ${isListed(sql, "c.id", "$1", "integer")}`,
    [listOf([...thin.keys()])],
  );
  const isSurrounded = (row: (typeof rows)[number]): boolean =>
    (thin.get(row.id) === "bare" ? row.others : row.below) !== null;
  return new Set(rows.filter(isSurrounded).map(({ id }) => id));
}

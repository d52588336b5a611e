import type { AttributeFilter, Index, SearchHit } from "../contracts/search-index.ts";
import type { Stage } from "./explain-document.ts";
import { fine, problem } from "./explain-stages.ts";

/** What the search pages show at first, and the most that a search gives. */
const SHOWN = 10;
const DEEPEST = 50;
const MAX_WORDS = 8;

/** A document of the index, by the marks that crawled documents carry in any backend. */
export interface Subject {
  readonly sourceId: string;
  readonly itemId: string;
  /** As the index has it; "" when it does not. */
  readonly fileId: string;
}

/** What of an index is needed. */
export type Searched = Pick<Index, "search" | "generations">;

/** Does this query find it, at which place, and if not, what keeps it away? */
export async function searchStage(index: Searched, query: string, subject: Subject): Promise<Stage> {
  const shown = await index.search({ text: query, limit: SHOWN });
  const place = shown.findIndex((hit) => isOf(hit, subject));
  if (shown[place]) return fine("search", `Found at place ${place + 1}${scoreOf(shown[place])}.`);
  // A passage that several documents have is one hit, under the name of one of them.
  const twin = shown.findIndex(({ details }) => details?.alsoIn.some(({ fileId }) => fileId === subject.fileId));
  if (shown[twin]) {
    return fine("search", `Found at place ${twin + 1}, where '${shown[twin].name}' stands for the same passage.`);
  }
  const words = await wordsIn(index, query, subject);
  return problem("search", [await whyBeyond(index, query, subject, shown), words].filter(Boolean).join(" "));
}

/** Scores are relative to the best of one search, so the document is compared with the last result within one. */
async function whyBeyond(
  index: Searched,
  query: string,
  subject: Subject,
  shown: readonly SearchHit[],
): Promise<string> {
  const hits = await index.search({ text: query, limit: DEEPEST });
  const place = hits.findIndex((hit) => isOf(hit, subject));
  const last = shown.at(-1);
  if (hits[place]) {
    const gap = `it scores ${mark(hits[place].score)}, the last of the ${SHOWN} shown ${mark(last?.score ?? 0)}`;
    return `Found only at place ${place + 1}: ${gap}. Ask for more results, or more precisely.`;
  }
  const rival = last && subjectOf(last);
  const filter: AttributeFilter = rival
    ? { type: "or", filters: [onlyThis(subject), onlyThis(rival)] }
    : onlyThis(subject);
  const both = await index.search({ text: query, limit: DEEPEST, filter });
  const own = both.find((hit) => isOf(hit, subject));
  if (!own) return "Nothing in it answers this query.";
  const other = both.find((hit) => !isOf(hit, subject));
  const where = own.sectionPath ? ` ('${own.sectionPath}')` : "";
  const against = other
    ? `its best passage${where} scores ${mark(own.score)} where the last result shown scores ${mark(other.score)}`
    : `its best passage${where} scores ${mark(own.score)}`;
  return `Not among the first ${Math.max(hits.length, SHOWN)} results: ${against}.`;
}

/** Our own index knows every form of a word; of what others hold, only the passages they return can be read. */
async function wordsIn(index: Searched, query: string, subject: Subject): Promise<string> {
  const words = wordsOf(query);
  if (words.length === 0) return "";
  const filter = onlyThis(subject);
  const passages = index.generations ? [] : await index.search({ text: query, limit: DEEPEST, filter });
  const present: string[] = [];
  for (const word of words) {
    const isThere = index.generations
      ? hasWord(await index.search({ text: word, limit: 1, using: "text", filter }))
      : passages.some(({ text, name }) => `${name} ${text}`.toLowerCase().includes(word.toLowerCase()));
    if (isThere) present.push(word);
  }
  const missing = words.filter((word) => !present.includes(word));
  const list = (some: readonly string[]): string => some.map((word) => `'${word}'`).join(", ");
  if (missing.length === 0) return "Every word of the query is in it.";
  return present.length === 0
    ? `None of the words ${list(missing)} is in it.`
    : `In it: ${list(present)}; not in it: ${list(missing)}.`;
}

function hasWord([hit]: readonly SearchHit[]): boolean {
  return hit?.details !== undefined && (hit.details.highlights.length > 0 || hit.details.parts.label > 0);
}

/** Short words are mostly there to connect the others. */
function wordsOf(query: string): string[] {
  const all = [...new Set(query.match(/[\p{L}\p{N}][\p{L}\p{N}_-]*/gu) ?? [])];
  const long = all.filter((word) => word.length > 3);
  return (long.length > 0 ? long : all).slice(0, MAX_WORDS);
}

function scoreOf({ score, details }: SearchHit): string {
  if (!details) return ` with a score of ${mark(score)}`;
  const { text, vector, label } = details.parts;
  return ` with a score of ${mark(score)} (words ${mark(text)}, meaning ${mark(vector)}, name and path ${mark(label)})`;
}

function mark(score: number): string {
  return score.toFixed(2);
}

function onlyThis({ sourceId, itemId }: Subject): AttributeFilter {
  return {
    type: "and",
    filters: [
      { type: "eq", key: "source_id", value: sourceId },
      { type: "eq", key: "item_id", value: itemId.slice(0, 512) },
    ],
  };
}

function subjectOf({ attributes }: SearchHit): Subject | undefined {
  const { source_id: sourceId, item_id: itemId } = attributes;
  return typeof sourceId === "string" && typeof itemId === "string" ? { sourceId, itemId, fileId: "" } : undefined;
}

function isOf(hit: SearchHit, { sourceId, itemId }: Subject): boolean {
  const subject = subjectOf(hit);
  return subject?.sourceId === sourceId && subject.itemId === itemId.slice(0, 512);
}

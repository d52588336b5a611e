import type { AttributeFilter, Index, SearchHit } from "../../contracts/search-index.ts";
import type { QuerySource } from "../query.ts";
import { fine, notReached, problem, type Stage } from "./stages.ts";

export interface SearchedStage {
  readonly stage: Stage;
  readonly place: number | null;
  readonly score: number | null;
}

/** For a document that is not in the index. */
export const NO_PLACE = { place: null, score: null } as const;

export const NOT_SEARCHED: SearchedStage = { stage: notReached("search"), ...NO_PLACE };

/** The maximum of a search. */
const DEEPEST = 50;
const MAX_WORDS = 8;

/** A document, by the attributes that crawled documents have in any backend. */
export interface Subject {
  readonly sourceId: string;
  readonly itemId: string;
  /** Its id in the index, or "". */
  readonly fileId: string;
}

export interface Searched extends Pick<Index, "search" | "generations"> {
  /** As readers search. */
  readonly ask: (limit: number) => Promise<readonly QuerySource[]>;
}

interface Explained {
  readonly query: string;
  readonly limit: number;
}

/** Says whether the query finds the document, at which position, and if not, why. */
export async function searchStage(
  index: Searched,
  { query, limit }: Explained,
  subject: Subject,
): Promise<SearchedStage> {
  const shown = await index.ask(limit);
  const place = shown.findIndex((hit) => isOf(hit, subject));
  const hit = shown[place];
  if (hit) {
    return { stage: fine("search", `Found at place ${place + 1}${scoreOf(hit)}.`), place: place + 1, score: hit.score };
  }
  const twin = twinAmong(shown, subject);
  if (shown[twin]) {
    const detail = `Found at place ${twin + 1}, where '${shown[twin].name}' stands for the same passage.`;
    return { stage: fine("search", detail), place: twin + 1, score: shown[twin].score };
  }
  const words = await wordsIn(index, query, subject);
  const beyond = await whyBeyond(index, { query, limit }, subject, shown);
  return { stage: problem("search", [beyond, words].filter(Boolean).join(" ")), ...NO_PLACE };
}

/** A passage that several documents share is one hit, under the name of one of them. */
function twinAmong(hits: readonly QuerySource[], { fileId }: Subject): number {
  return hits.findIndex(({ details }) => details?.alsoIn.some((other) => other.fileId === fileId));
}

/**
 * Scores are relative to the best of one search, so the document and the last result shown are compared within one
 * search.
 */
async function whyBeyond(
  index: Searched,
  { query, limit }: Explained,
  subject: Subject,
  shown: readonly QuerySource[],
): Promise<string> {
  const hits = limit < DEEPEST ? await index.ask(DEEPEST) : shown;
  const place = hits.findIndex((hit) => isOf(hit, subject));
  const last = shown.at(-1);
  if (hits[place]) {
    const gap = `it scores ${mark(hits[place].score)}, the last of the ${limit} shown ${mark(last?.score ?? 0)}`;
    return `Found only at place ${place + 1}: ${gap}. Ask for more results, or more precisely.`;
  }
  const twin = twinAmong(hits, subject);
  if (hits[twin]) {
    return `Its passage is nearly that of '${hits[twin].name}', which stands for both at place ${twin + 1}.`;
  }
  const rival = last && subjectOf(last);
  const filter: AttributeFilter = rival
    ? { type: "or", filters: [onlyThis(subject), onlyThis(rival)] }
    : onlyThis(subject);
  // Unfolded: it may say nearly the same as the other.
  const both = await index.search({ text: query, limit: DEEPEST, filter, unfolded: true });
  const own = both.find((hit) => isOf(hit, subject));
  if (!own) return "Nothing in it answers this query.";
  const other = both.find((hit) => !isOf(hit, subject));
  const where = own.sectionPath ? ` ('${own.sectionPath}')` : "";
  const against = other
    ? `its best passage${where} scores ${mark(own.score)} where the last result shown scores ${mark(other.score)}`
    : `its best passage${where} scores ${mark(own.score)}`;
  return `Not among the first ${Math.max(hits.length, limit)} results: ${against}.`;
}

/** The embedded index knows every form of a word; for other backends only the returned passages can be searched. */
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

/** Leaves out short words, which mostly connect others. */
function wordsOf(query: string): string[] {
  const all = [...new Set(query.match(/[\p{L}\p{N}][\p{L}\p{N}_-]*/gu) ?? [])];
  const long = all.filter((word) => word.length > 3);
  return (long.length > 0 ? long : all).slice(0, MAX_WORDS);
}

function scoreOf({ score, details }: Pick<QuerySource, "score" | "details">): string {
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

function subjectOf({ attributes }: Pick<SearchHit, "attributes">): Subject | undefined {
  const { source_id: sourceId, item_id: itemId } = attributes;
  return typeof sourceId === "string" && typeof itemId === "string" ? { sourceId, itemId, fileId: "" } : undefined;
}

function isOf(hit: Pick<SearchHit, "attributes">, { sourceId, itemId }: Subject): boolean {
  const subject = subjectOf(hit);
  return subject?.sourceId === sourceId && subject.itemId === itemId.slice(0, 512);
}

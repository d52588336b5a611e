import { BadInputError, CancelledError, RemoteError } from "../../contracts/errors.ts";
import type { SearchHit, SearchQuery } from "../../contracts/search-index.ts";
import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import { isKept, keptGenerations } from "../storage/generations.ts";
import { activeSpace } from "../storage/spaces.ts";
import { readState } from "../storage/state.ts";
import type { Phrase, Store } from "../storage/store.ts";
import { fold } from "../text/fold.ts";
import { documentCondition } from "./document-condition.ts";
import { type Candidates, findCandidates } from "./find-candidates.ts";
import { type Candidate, fuseScores, type Scored } from "./fuse-scores.ts";
import { gatherHits } from "./gather-hits.ts";
import type { CandidateSearch } from "./match-texts.ts";
import { parseQuery, type Question } from "./parse-query.ts";
import { type Passage, Passages } from "./passages.ts";
import { STOP_WORDS } from "./stop-words.ts";
import { VisibleDocuments } from "./visible-documents.ts";

type Meaning = NonNullable<CandidateSearch["meaning"]>;

/** The space may be replaced while a question is being embedded; not that often. */
const MAX_TRIES = 3;
/** A crawl may wait for a busy endpoint, who asks a question does not. */
const QUESTION_TIMEOUT_MS = 10_000;
/** What a pasted page is about shows at its beginning, and models refuse what is too long. */
const MAX_EMBEDDED = 8000;

/** One search sees one moment of the store, however many reads it takes and whoever commits meanwhile. */
export async function searchStore(
  store: Store,
  query: SearchQuery,
  isOver = (): boolean => query.signal?.aborted ?? false,
): Promise<SearchHit[]> {
  const checkpoint = (): void => {
    if (isOver()) throw new CancelledError("search: whoever asked is gone");
  };
  checkpoint();
  if (store.search) return store.search(query);
  for (let left = MAX_TRIES; ; left--) {
    // Before the reading begins, which everybody else's reading may have to wait for: an endpoint can be slow.
    const meaning = query.using === "text" ? undefined : await embedQuestion(store, query);
    checkpoint();
    const hits = await store.db.read((sql) => searchIn(checked(sql, checkpoint), store, query, meaning, left > 1));
    if (hits) return hits;
  }
}

/** Between any two statements a search may end. */
function checked(sql: Sql, checkpoint: () => void): Sql {
  return {
    dialect: sql.dialect,
    all: (text, values) => {
      checkpoint();
      return sql.all(text, values);
    },
    rows: (text, values) => {
      checkpoint();
      return sql.rows(text, values);
    },
    get: (text, values) => {
      checkpoint();
      return sql.get(text, values);
    },
    run: sql.run,
    insert: sql.insert,
  };
}

/** After a failure words answer alone for so long, instead of letting everybody wait for the same silence. */
const REST_MS = 30_000;
const restingUntil = new WeakMap<Store, number>();

const WORDS_ALONE = "The question could not be embedded, so only its words were searched for. Try again in a minute.";
const QUOTES_IGNORED = "What stands in quotes occurs nowhere here; the answer is for its words without the quotes.";

/** Without the vector the words still answer, unless somebody asked for vectors alone. */
async function embedQuestion(store: Store, query: SearchQuery): Promise<Meaning | undefined> {
  const { text, using, tell, signal } = query;
  if (using !== "vectors" && (restingUntil.get(store) ?? 0) > Date.now()) {
    tell?.(WORDS_ALONE);
    return undefined;
  }
  // An empty store gets its first space with its first text; a search changes nothing.
  if (!(await activeSpace(store.db))) return undefined;
  try {
    const { id, embedder } = await store.spaces.active(store.db);
    const late = AbortSignal.timeout(QUESTION_TIMEOUT_MS);
    const [vector] = await embedder.embed(
      [text.slice(0, MAX_EMBEDDED)],
      signal ? AbortSignal.any([signal, late]) : late,
    );
    return vector && { space: { id, dimensions: embedder.dimensions }, vector };
  } catch (error) {
    if (signal?.aborted) throw new CancelledError("search: whoever asked is gone", { cause: error });
    if (using === "vectors") {
      throw new RemoteError("search by vectors: the question could not be embedded", { cause: error });
    }
    restingUntil.set(store, Date.now() + REST_MS);
    tell?.(WORDS_ALONE);
    return undefined;
  }
}

/** undefined: the vector belongs to a space that is not the active one any more, and the caller can make another. */
async function searchIn(
  sql: Sql,
  store: Store,
  query: SearchQuery,
  meaning: Meaning | undefined,
  mayTryAgain: boolean,
): Promise<SearchHit[] | undefined> {
  const isCurrent = meaning !== undefined && (await activeSpace(sql))?.id === meaning.space.id;
  if (meaning && !isCurrent && mayTryAgain) return undefined;
  const generation = await generationOf(sql, query.generation);
  const question = parseQuery(query.text);
  const passages = new Passages(sql);
  const candidates = await findCandidates({
    store,
    sql,
    visible: new VisibleDocuments(sql, documentCondition(sql, generation, query)),
    question,
    passages,
    bodyOf: new Map(),
    byWords: query.using !== "vectors",
    limit: query.limit,
    ...(isCurrent && { meaning }),
  });
  if (candidates.quotesIgnored) query.tell?.(QUOTES_IGNORED);
  const strength = await answerStrength(passages, question, candidates);
  const scored = fuseScores(candidates.all, (query.scoreThreshold ?? 0) / strength, candidates.textShare);
  const weighed = scored.map((one) => ({ ...one, score: one.score * strength }));
  const { phrases } = candidates;
  const ordered = await stepBackThin(sql, passages, weighed, { phrases, limit: query.limit });
  return gatherHits(sql, passages, ordered, phrases, {
    limit: query.limit,
    generation,
    unfolded: query.unfolded ?? false,
  });
}

async function generationOf(sql: Sql, wanted: number | undefined): Promise<number> {
  const { active } = await readState(sql);
  if (wanted === undefined || wanted === active || (await isKept(sql, wanted))) return wanted ?? active;
  const kept = (await keptGenerations(sql)).map(({ number }) => number);
  const those = kept.length === 0 ? "there is none yet" : `kept are ${kept.join(", ")}`;
  throw new BadInputError(`generation ${wanted} is not kept; ${those}`);
}

/** What even the weakest answer keeps of its score. */
const LEAST = 0.3;

/**
 * How well the best candidate answers at all, 0 to 1. Scores are relative to the best of their search; times this they can
 * be compared between questions, and a question that has next to nothing in common with the store gets low ones.
 */
async function answerStrength(passages: Passages, question: Question, { all, phrases }: Candidates): Promise<number> {
  let closest = 0;
  let wordiest: Candidate | undefined;
  for (const candidate of all) {
    closest = Math.max(closest, candidate.similarity, candidate.label);
    if (candidate.text > (wordiest?.text ?? 0)) wordiest = candidate;
  }
  if (wordiest && closest < 1)
    closest = Math.max(closest, await coverage(passages, question, phrases, wordiest.chunkId));
  return LEAST + (1 - LEAST) * Math.min(1, closest);
}

/** Which share of the words of the question the passage has, in whatever form was looked for. */
async function coverage(
  passages: Passages,
  question: Question,
  phrases: Candidates["phrases"],
  chunkId: number,
): Promise<number> {
  const passage = (await passages.load([chunkId])).get(chunkId);
  const words = new Set(passage ? [...passage.words.headings, ...passage.words.text] : []);
  const isThere = (word = ""): boolean => words.has(word);
  const wanted = question.phrases.filter((phrase) => phrase.words.length === 1).length;
  const found = phrases.filter((phrase) => phrase.words.length === 1 && isThere(phrase.words[0])).length;
  return found / Math.max(1, wanted);
}

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
async function stepBackThin(
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

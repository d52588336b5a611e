import type { WordCounts } from "../../contracts/answer.ts";
import { BadInputError, CancelledError, ConflictError, RemoteError } from "../../contracts/errors.ts";
import type { HitDetails, SearchHit, SearchQuery } from "../../contracts/search-index.ts";
import { fastHash } from "../../lib/hash.ts";
import { isListed, listOf, type Sql } from "../../lib/sql/sql.ts";
import { plural } from "../../lib/text.ts";
import { analyze, fold, type Token } from "../analyzer.ts";
import { parseAttributes } from "../documents.ts";
import { activeSpace } from "../embedding/spaces.ts";
import { draftCalled, findGeneration, isKept, keptGenerations, type View } from "../generations.ts";
import { DIRECT_SOURCE } from "../shared-schema.ts";
import type { Phrase, Space, Store } from "../store.ts";
import { readState } from "../store-state.ts";
import { type CandidateSearch, type Candidates, countChunks, findCandidates } from "./find-candidates.ts";
import { fuseScores, type Scored } from "./fuse-scores.ts";
import { type ParsedQuery, parseQuery } from "./parse-query.ts";
import { type HitDocument, loadDocuments, type Passage, Passages } from "./passages.ts";
import { STOP_WORDS } from "./stop-words.ts";
import { documentCondition, VisibleDocuments } from "./visible-documents.ts";

type QueryVector = NonNullable<CandidateSearch["queryVector"]>;

/** The space may be replaced while a question is being embedded. */
const MAX_TRIES = 3;
/** A crawl may wait for a busy endpoint; a user does not. */
const QUESTION_TIMEOUT_MS = 10_000;
/** Limit for embedded questions: models reject long ones, and the beginning says what a pasted page is about. */
const MAX_EMBEDDED = 8000;

/** Searches a store. All reads see the same snapshot, whatever is committed meanwhile. */
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
    // Before the read transaction begins, which may block others: an endpoint can be slow.
    const queryVector = query.using === "text" ? undefined : await embedQuestion(store, query);
    checkpoint();
    const hits = await store.db.read((sql) => searchIn(checked(sql, checkpoint), store, query, queryVector, left > 1));
    if (hits) return hits;
  }
}

/** Wraps `sql` so that a search can be cancelled between two statements. */
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

/** After a failed embedding, searches use words only for this long instead of waiting for the same timeout. */
const EMBEDDING_PAUSE_MS = 30_000;
const embeddingPausedUntil = new WeakMap<Store, number>();

const WORDS_ALONE = "The question could not be embedded, so only its words were searched for. Try again in a minute.";
const QUOTES_IGNORED = "What stands in quotes occurs nowhere here; the answer is for its words without the quotes.";

/** Returns undefined if embedding fails: the search then uses words only. Throws if the query is by vectors only. */
async function embedQuestion(store: Store, query: SearchQuery): Promise<QueryVector | undefined> {
  const { text, using, tell, signal } = query;
  if (using !== "vectors" && (embeddingPausedUntil.get(store) ?? 0) > Date.now()) {
    tell?.(WORDS_ALONE);
    return undefined;
  }
  // An empty store gets its first space with its first text, not by a search.
  if (!(await activeSpace(store.db))) return undefined;
  try {
    const { id, embedder } = await spaceOf(store, query);
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
    embeddingPausedUntil.set(store, Date.now() + EMBEDDING_PAUSE_MS);
    tell?.(WORDS_ALONE);
    return undefined;
  }
}

async function spaceOf({ db, spaces }: Store, { preview }: SearchQuery): Promise<Space> {
  if (preview?.vectors === undefined) return spaces.active(db);
  const space = await spaces.find(db, preview.vectors);
  if (space) return space;
  throw new ConflictError("search by new vectors: they were dropped meanwhile");
}

/** Returns undefined if the space of the vector is not active any more: the caller embeds again. */
async function searchIn(
  sql: Sql,
  store: Store,
  query: SearchQuery,
  queryVector: QueryVector | undefined,
  mayTryAgain: boolean,
): Promise<SearchHit[] | undefined> {
  const wantedSpace = query.preview?.vectors ?? (queryVector && (await activeSpace(sql))?.id);
  const isCurrent = queryVector !== undefined && wantedSpace === queryVector.space.id;
  if (queryVector && !isCurrent && mayTryAgain) return undefined;
  const { number: generation, generationId, erased } = await generationOf(sql, query.generation);
  const view = await viewOf(sql, generation, query);
  const question = parseQuery(query.text);
  const passages = new Passages(sql);
  const candidates = await findCandidates({
    store,
    sql,
    visible: new VisibleDocuments(sql, documentCondition(sql, view, query)),
    question,
    passages,
    bodyOf: new Map(),
    byWords: query.using !== "vectors",
    limit: query.limit,
    ...(isCurrent && { queryVector }),
  });
  if (candidates.quotesIgnored) query.tell?.(QUOTES_IGNORED);
  if (query.generation !== undefined && erased > 0) {
    query.tell?.(`Generation ${generation} is not what it was: ${plural(erased, "document")} erased.`);
  }
  const strength = await answerStrength(passages, question, candidates);
  const scored = fuseScores(candidates.all, (query.scoreThreshold ?? 0) / strength, candidates.textShare);
  const weighed = scored.map((one) => ({ ...one, score: one.score * strength }));
  const { phrases } = candidates;
  const ordered = await demoteThin(sql, passages, weighed, { phrases, limit: query.limit });
  return gatherHits(sql, passages, ordered, phrases, {
    limit: query.limit,
    seenIn: { generation, generationId },
    unfolded: query.unfolded ?? false,
  });
}

async function viewOf(sql: Sql, generation: number, { preview }: SearchQuery): Promise<View> {
  if (preview?.draft === undefined) return { at: generation, isDraft: false };
  const draft = await draftCalled(sql, preview.draft);
  if (draft === undefined) throw new ConflictError("search the draft: it was committed or swept meanwhile");
  return { at: draft, isDraft: true };
}

/** Returns the generation to read: the one that readers are shown, or a kept one that is asked for. Throws BadInputError. */
export async function generationOf(
  sql: Sql,
  wanted: number | undefined,
): Promise<{ readonly number: number; readonly generationId: string; readonly erased: number }> {
  const { shown } = await readState(sql);
  const number = wanted ?? shown;
  if (number === shown || (await isKept(sql, number))) {
    return (await findGeneration(sql, number)) ?? { number, generationId: "", erased: 0 };
  }
  const kept = (await keptGenerations(sql)).map(({ number }) => number);
  const those = kept.length === 0 ? "there is none yet" : `kept are ${kept.join(", ")}`;
  throw new BadInputError(`generation ${wanted} is not kept; ${those}`);
}

/** Factor for the weakest answer. */
const LEAST = 0.3;
/** So many passages are compared with the question. */
const WORDIEST = 10;

/**
 * Returns how well the best candidate answers, 0 to 1. Scores are relative to the best of their search; times this factor they
 * are comparable between questions.
 */
async function answerStrength(passages: Passages, question: ParsedQuery, candidates: Candidates): Promise<number> {
  const { all, labelShare } = candidates;
  // What has the most of the question need not be what ranks first.
  const wordy = all
    .filter(({ text }) => text > 0)
    .toSorted((a, b) => b.text - a.text)
    .slice(0, WORDIEST);
  const texts = await passages.load(wordy.map(({ chunkId }) => chunkId));
  let closest = 0;
  // A name may have all words that occur here, and few of the question.
  for (const { similarity, label } of all) closest = Math.max(closest, similarity, label * labelShare);
  for (const { chunkId } of wordy) {
    const passage = texts.get(chunkId);
    if (passage && closest < 1) closest = Math.max(closest, coverage(passage, question, candidates));
  }
  return LEAST + (1 - LEAST) * Math.min(1, closest);
}

/** Returns the share of the question's words that the passage has, in any searched form. */
function coverage({ words: { headings, text } }: Passage, question: ParsedQuery, { standsFor }: Candidates): number {
  const has = new Set([...headings, ...text].flatMap((word) => [word, standsFor.get(word) ?? word]));
  const single = [...question.quoted, ...question.phrases].filter((phrase) => phrase.words.length === 1);
  const wanted = new Set(single.flatMap(({ words }) => words));
  return [...wanted].filter((word) => has.has(word)).length / Math.max(1, wanted.size);
}

/** Score factor of a passage without content. */
const FACTOR = 0.4;
/** Longer texts always count as content. */
const MAX_LENGTH = 160;
/** This many words beyond the headings are content; fewer are, if the question contains one of them. */
const CONTENT_WORDS = 5;
const LEAST_WORDS = 2;

/**
 * Demotes passages like "On this page" that have little but the headings above them, which they share with passages with content.
 * A short passage that is all there is below its heading is not demoted.
 */
async function demoteThin(
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

/** bare: it only repeats its headings. undefined: it has content. */
type Thinness = "bare" | "thin" | undefined;

function thinnessOf({ text, words }: Passage, phrases: readonly Phrase[]): Thinness {
  if (text.length > MAX_LENGTH) return undefined;
  const headings = new Set(words.headings);
  const tokens = words.tokens.filter(({ start, end }) => !STOP_WORDS.has(fold(text.slice(start, end))));
  const own = new Set(tokens.map(({ word }) => word).filter((word) => !headings.has(word)));
  if (own.size === 0) return "bare";
  if (own.size >= CONTENT_WORDS) return undefined;
  const isAskedFor = phrases.some((phrase) => phrase.words.some((word) => own.has(word)));
  return own.size < LEAST_WORDS || !isAskedFor ? "thin" : undefined;
}

/** Returns those that have siblings: in the document for bare ones, else in their section or below it. */
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

const MAX_ALSO_IN = 20;

interface Gathered {
  readonly hit: SearchHit;
  readonly documentId: number;
  readonly chunkId: number;
  readonly text: string;
  readonly shingles: Shingles;
  readonly alsoIn: Map<number, HitDocument>;
}

type SeenIn = Pick<HitDetails, "generation" | "generationId">;

/**
 * Returns the first `limit` candidates as hits. A passage that is (nearly) the same as a better one is no separate hit: its
 * document is named there, unless the query is unfolded.
 */
async function gatherHits(
  sql: Sql,
  passages: Passages,
  scored: readonly Scored[],
  phrases: readonly Phrase[],
  { limit, seenIn, unfolded }: { readonly limit: number; readonly seenIn: SeenIn; readonly unfolded: boolean },
): Promise<SearchHit[]> {
  const gathered: Gathered[] = [];
  const window = limit * 2 + 10;
  for (let from = 0; from < scored.length && gathered.length < limit; from += window) {
    const page = scored.slice(from, from + window);
    const texts = await passages.load(page.map(({ chunkId }) => chunkId));
    const documents = await loadDocuments(
      sql,
      page.map(({ documentId }) => documentId),
    );
    for (const one of page) {
      const passage = texts.get(one.chunkId);
      const document = documents.get(one.documentId);
      if (!passage || !document || (!unfolded && isRepeated(gathered, one, passage, document))) continue;
      // From here on only identical passages are collected.
      if (gathered.length >= limit) continue;
      const shingles = shinglesOf(passage.words.text);
      if (!unfolded && isAlike(gathered, shingles, document)) continue;
      const hit = hitOf(one, passage, document, { highlights: highlight(passage.words.tokens, phrases), ...seenIn });
      gathered.push({ ...one, hit, text: passage.text, shingles, alsoIn: new Map() });
    }
  }
  return gathered.map(withOthers);
}

/** The very same passage. */
function isRepeated(gathered: readonly Gathered[], one: Scored, passage: Passage, document: HitDocument): boolean {
  const same = gathered.find(({ chunkId, text }) => chunkId === one.chunkId || text === passage.text);
  if (same) addOther(same, document);
  return same !== undefined;
}

function isAlike(gathered: readonly Gathered[], shingles: Shingles, document: HitDocument): boolean {
  const alike = gathered.find((other) => isNearlySame(other.shingles, shingles));
  if (alike) addOther(alike, document);
  return alike !== undefined;
}

function addOther({ alsoIn, documentId }: Gathered, document: HitDocument): void {
  if (document.id !== documentId && alsoIn.size < MAX_ALSO_IN) alsoIn.set(document.id, document);
}

function withOthers({ hit, alsoIn }: Gathered): SearchHit {
  if (alsoIn.size === 0 || !hit.details) return hit;
  const others = [...alsoIn.values()].map(({ fileId, name, path }) => ({ fileId, name, path }));
  return { ...hit, details: { ...hit.details, alsoIn: others } };
}

function hitOf(
  { score, parts }: Scored,
  { position, sectionPath, text, page, language }: Passage,
  { sourceId, itemId, fileId, name, title, path, url, modifiedAt, attributes }: HitDocument,
  { highlights, generation, generationId }: SeenIn & Pick<HitDetails, "highlights">,
): SearchHit {
  const details: HitDetails = {
    highlights,
    parts,
    title,
    path,
    url,
    modifiedAt,
    page,
    language,
    generation,
    generationId,
    sourceId: sourceId === DIRECT_SOURCE ? "" : sourceId,
    itemId,
    position,
    alsoIn: [],
  };
  return { fileId, name, score, attributes: parseAttributes(attributes), sectionPath, text, details };
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Returns the spans of these phrases in a text, in order, not overlapping. */
export function highlight(tokens: readonly Token[], phrases: readonly Phrase[]): Span[] {
  const byFirst = new Map<string, Phrase[]>();
  const firstChunks: string[] = [];
  for (const phrase of phrases) {
    const [first] = phrase.words;
    if (first === undefined) continue;
    if (phrase.beginning && phrase.words.length === 1) firstChunks.push(first);
    const known = byFirst.get(first);
    if (known) known.push(phrase);
    else byFirst.set(first, [phrase]);
  }
  const spans: Span[] = [];
  for (const [at, { word, start }] of tokens.entries()) {
    for (const { words, beginning } of byFirst.get(word) ?? []) {
      const last = matchFrom(tokens, at, words, beginning);
      if (last) spans.push({ start, end: last.end });
    }
    for (const begin of firstChunks) if (word.startsWith(begin)) spans.push({ start, end: start + begin.length });
  }
  return merge(spans);
}

function matchFrom(
  tokens: readonly Token[],
  at: number,
  words: readonly string[],
  beginning: boolean,
): Token | undefined {
  for (const [i, wanted] of words.entries()) {
    const word = tokens[at + i]?.word;
    const goesOn = beginning && i === words.length - 1 && word?.startsWith(wanted);
    if (word !== wanted && !goesOn) return undefined;
  }
  return tokens[at + words.length - 1];
}

function merge(spans: Span[]): Span[] {
  spans.sort((a, b) => a.start - b.start || b.end - a.end);
  const merged: Span[] = [];
  for (const span of spans) {
    const last = merged.at(-1);
    if (!last || span.start > last.end) merged.push(span);
    else if (span.end > last.end) merged[merged.length - 1] = { start: last.start, end: span.end };
  }
  return merged;
}

/** Hashes of four consecutive words: their overlap measures the similarity of two passages. */
type Shingles = ReadonlySet<number>;

const LENGTH = 4;
/** The share of shingles that two passages must have in common. */
const NEARLY_SAME = 0.8;

function shinglesOf(words: readonly string[]): Shingles {
  const shingles = new Set<number>();
  const hashes = words.map((word) => fastHash(word));
  for (let at = 0; at === 0 || at + LENGTH <= hashes.length; at++) {
    let value = 0;
    for (let i = at; i < at + LENGTH; i++) value = Math.imul(value, 31) + (hashes[i] ?? 0);
    shingles.add(value >>> 0);
  }
  return shingles;
}

function isNearlySame(a: Shingles, b: Shingles): boolean {
  const [small, large] = a.size <= b.size ? [a, b] : [b, a];
  if (small.size < large.size * NEARLY_SAME) return false;
  let shared = 0;
  for (const shingle of small) if (large.has(shingle)) shared++;
  return shared >= NEARLY_SAME * (small.size + large.size - shared);
}

/** Returns how many passages of the store have each word of a text. */
export function countWords({ db, texts }: Store, text: string): Promise<WordCounts> {
  const words = [...new Set(analyze(text.slice(0, MAX_EMBEDDED)))];
  return db.read(async (sql) => ({ passages: await countChunks(sql), having: await texts.countWords(sql, words) }));
}

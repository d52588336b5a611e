import { isListed, listOf } from "../../lib/sql/is-listed.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import type { Match, Near, Selection, Store, WordQuery } from "../storage/store.ts";
import type { Question } from "./parse-query.ts";
import type { Passages } from "./passages.ts";
import { rankTexts } from "./rank-texts.ts";
import type { VisibleDocuments } from "./visible-documents.ts";
import { type WeighedLabels, weighLabels } from "./weigh-labels.ts";

export interface CandidateSearch {
  readonly store: Store;
  readonly sql: Sql;
  readonly visible: VisibleDocuments;
  readonly question: Question;
  /** Left out: by words alone. */
  readonly meaning?: {
    readonly space: { readonly id: number; readonly dimensions: number };
    readonly vector: Float32Array;
  };
  readonly byWords: boolean;
  /** The bodies of all chunks found on the way. */
  readonly bodyOf: Map<number, number>;
  readonly passages: Passages;
  /** How many hits are wanted. */
  readonly limit: number;
}

/** At first so many are taken, then so many; when still too few of them are visible, the index has to look at those only. */
const TEXT_STEPS = [100, 1000];
const VECTOR_STEPS = [100, 1000];
const LABEL_STEPS = [50, 500];
/** So many of the texts are ranked by looking into them. */
const RANKED = 24;
/** Below this, two texts have no more in common than any two texts of a language. */
const MIN_SIMILARITY = 0.25;

/** Chunks of visible documents by their words, score relative to the best. */
export async function matchTexts(search: CandidateSearch, query: WordQuery): Promise<Map<number, number>> {
  const { store, sql, visible, limit } = search;
  const matches = await takeVisible<Match & { bodyId: number }>(
    TEXT_STEPS,
    limit,
    async (count, among) => withBodies(search, await store.texts.matchChunks(sql, query, count, among)),
    (found) => ofVisibleBodies(visible, found),
    visible.select("body_id"),
  );
  const phrases = [...query.all, ...query.any];
  const ranked = await rankTexts(sql, store.texts, search.passages, matches, phrases, Math.max(RANKED, limit * 2));
  const best = ranked[0]?.score ?? 0;
  return new Map(ranked.map(({ id, score }) => [id, best > 0 ? score / best : 1]));
}

/** Adds the chunks closest in meaning, without any score for their words. */
export async function addNearest(search: CandidateSearch, texts: Map<number, number>): Promise<Map<number, number>> {
  const { store, sql, visible, meaning, byWords, limit } = search;
  if (!meaning) return texts;
  const near = await takeVisible<Near>(
    VECTOR_STEPS,
    limit,
    (count, among) => store.vectors.nearest(sql, meaning.space, meaning.vector, count, among),
    (found) => ofVisibleBodies(visible, found),
    visible.select("body_id"),
  );
  for (const { chunkId, bodyId, similarity } of near) {
    search.bodyOf.set(chunkId, bodyId);
    if ((!byWords || similarity >= MIN_SIMILARITY) && !texts.has(chunkId)) texts.set(chunkId, 0);
  }
  return texts;
}

/** Visible documents by name, path and title. */
export async function matchLabels(search: CandidateSearch, query: WordQuery): Promise<WeighedLabels> {
  const { store, sql, visible, limit } = search;
  const matches = await takeVisible<Match>(
    LABEL_STEPS,
    limit,
    (count, among) => store.texts.matchLabels(sql, query, count, among),
    async (found) => {
      const bodies = await visible.among(found.map(({ id }) => id));
      return found.filter(({ id }) => bodies.has(id));
    },
    visible.select("id"),
  );
  return weighLabels(search, matches);
}

/** The best visible ones. `find` tells the best, whether visible or not, unless it is given a selection. */
async function takeVisible<T>(
  steps: readonly number[],
  limit: number,
  find: (count: number, among?: Selection) => Promise<T[]>,
  keep: (found: T[]) => Promise<T[]>,
  selection: Selection,
): Promise<T[]> {
  const enough = Math.max(40, limit * 2);
  const [first = enough] = steps;
  for (const step of steps) {
    const count = Math.max(step, enough);
    const found = await find(count);
    const kept = await keep(found);
    if (found.length < count || kept.length >= enough) return kept.slice(0, Math.max(first, enough));
  }
  return keep(await find(Math.max(first, enough), selection));
}

async function ofVisibleBodies<T extends { bodyId: number }>(visible: VisibleDocuments, found: T[]): Promise<T[]> {
  const documents = await visible.ofBodies(found.map(({ bodyId }) => bodyId));
  return found.filter(({ bodyId }) => (documents.get(bodyId)?.length ?? 0) > 0);
}

async function withBodies(
  { sql, bodyOf }: CandidateSearch,
  matches: readonly Match[],
): Promise<(Match & { bodyId: number })[]> {
  const unknown = matches.flatMap(({ id }) => (bodyOf.has(id) ? [] : [id]));
  if (unknown.length > 0) {
    const rows = await sql.all<{ id: number; bodyId: number }>(
      `SELECT id, body_id AS "bodyId" FROM chunks WHERE ${isListed(sql, "id", "$1", "integer")}`,
      [listOf(unknown)],
    );
    for (const { id, bodyId } of rows) bodyOf.set(id, bodyId);
  }
  return matches.map((match) => ({ ...match, bodyId: bodyOf.get(match.id) ?? 0 }));
}

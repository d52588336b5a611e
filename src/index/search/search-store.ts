import { BadInputError, CancelledError, RemoteError } from "../../contracts/errors.ts";
import type { SearchHit, SearchQuery } from "../../contracts/search-index.ts";
import type { Sql } from "../../lib/sql/sql.ts";
import { isKept, keptGenerations } from "../storage/generations.ts";
import { activeSpace } from "../storage/spaces.ts";
import { readState } from "../storage/state.ts";
import type { Store } from "../storage/store.ts";
import { answerStrength } from "./answer-strength.ts";
import { documentCondition } from "./document-condition.ts";
import { findCandidates } from "./find-candidates.ts";
import { fuseScores } from "./fuse-scores.ts";
import { gatherHits } from "./gather-hits.ts";
import type { CandidateSearch } from "./match-texts.ts";
import { parseQuery } from "./parse-query.ts";
import { Passages } from "./passages.ts";
import { stepBackThin } from "./step-back-thin.ts";
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

import type { Principal } from "../../../contracts/access.ts";
import type { WordCounts } from "../../../contracts/answer.ts";
import type { Embedder } from "../../../contracts/embedder.ts";
import type { SearchHit, SearchQuery } from "../../../contracts/search-index.ts";
import type { SqlDatabase } from "../../../lib/sql/sql.ts";
import { noSuchModel } from "../wire/wire-error.ts";
import type { Answerer, ChatModel } from "./answerer.ts";
import { createExtractiveAnswerer, EXTRACTIVE_MODEL } from "./extractive-answerer.ts";
import { createModelAnswerer } from "./model-answerer.ts";

/** Limits per owner. Beyond them the oldest answers are deleted, and conversations cannot grow. */
export interface Quota {
  readonly answers: number;
  readonly conversations: number;
  /** Total of the answers, and total of the conversations. */
  readonly bytes: number;
}

/** What responses, conversations, assistants, embeddings and models are served from. */
export interface AnswerContext {
  /** With the tables of answers-tables.ts. */
  readonly db: SqlDatabase;
  readonly quota: Quota;
  readonly answerers: Answerers;
  /** Writes answers; undefined: there is none, and they are quoted. */
  readonly model: () => ChatModel | undefined;
  /** Returns the store that chats search; undefined if none is set and there is not exactly one store. */
  defaultStore(): Promise<string | undefined>;
  /** The embedder of new vector stores. Opened on demand: a remote model must be called to know its dimensions. */
  embedder(): Promise<Embedder>;
  /** Searches a vector store. Throws WireError if there is no such store, or if it has expired. */
  search(storeId: string, query: SearchQuery, by: Principal | undefined): Promise<SearchHit[]>;
  /** How common the words of a text are in a vector store. Throws as `search` does. */
  countWords(storeId: string, text: string): Promise<WordCounts>;
}

/** The answerers, by model name. */
interface Answerers {
  /** The first is the default. */
  readonly models: readonly [string, ...string[]];
  /** Accepts other names than the listed ones if there is a language model: its endpoint knows them. */
  of(model: string): Answerer;
}

/** `model` is asked each time: it can be chosen while the server runs. */
export function createAnswerers(model: () => ChatModel | undefined): Answerers {
  const extractive = createExtractiveAnswerer();
  return {
    get models() {
      const writer = model();
      return writer ? ([writer.name, EXTRACTIVE_MODEL] as const) : ([EXTRACTIVE_MODEL] as const);
    },
    of(name) {
      if (name === EXTRACTIVE_MODEL) return extractive;
      const writer = model();
      if (!writer) throw noSuchModel(name, [EXTRACTIVE_MODEL]);
      return createModelAnswerer(writer);
    },
  };
}

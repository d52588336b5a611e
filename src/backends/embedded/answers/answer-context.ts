import type { Principal } from "../../../contracts/access.ts";
import type { Embedder } from "../../../contracts/embedder.ts";
import type { SearchHit, SearchQuery } from "../../../contracts/search-index.ts";
import type { SqlDatabase } from "../../../lib/sql/sql.ts";
import { noSuchModel } from "../wire/wire-error.ts";
import type { Answerer, ChatModel } from "./answerer.ts";
import { createExtractiveAnswerer, EXTRACTIVE_MODEL } from "./extractive-answerer.ts";
import { createModelAnswerer } from "./model-answerer.ts";

/** What one owner may have kept; of more, the oldest answers are forgotten, and conversations grow no more. */
export interface Quota {
  readonly answers: number;
  readonly conversations: number;
  /** Of the answers together, and of the conversations together. */
  readonly bytes: number;
}

/** What responses, conversations, assistants, embeddings and models are served from. */
export interface AnswerParts {
  /** With the tables of answers-tables.ts. */
  readonly db: SqlDatabase;
  readonly quota: Quota;
  readonly answerers: Answerers;
  /** undefined: there is none, and answers are quoted. */
  readonly model: ChatModel | undefined;
  /** Where chats search, that name no store; undefined when nobody said, and there is not exactly one. */
  defaultStore(): Promise<string | undefined>;
  /** What new vector stores begin with. Asked when needed: a remote model has to be called to know its dimensions. */
  embedder(): Promise<Embedder>;
  /** As the search of a vector store does it: a WireError when there is no such store, or when it has expired. */
  search(storeId: string, query: SearchQuery, by: Principal | undefined): Promise<SearchHit[]>;
}

/** What answers, by the names clients ask for. */
interface Answerers {
  /** The first is the one that answers when a request names none. */
  readonly models: readonly [string, ...string[]];
  /** A language model may be asked by other names than the listed ones: its address knows them. */
  of(model: string): Answerer;
}

export function createAnswerers(model: ChatModel | undefined): Answerers {
  const quoting = createExtractiveAnswerer();
  const writing = model && createModelAnswerer(model);
  return {
    models: model ? [model.name, EXTRACTIVE_MODEL] : [EXTRACTIVE_MODEL],
    of(name) {
      if (name === EXTRACTIVE_MODEL) return quoting;
      if (!writing) throw noSuchModel(name, [EXTRACTIVE_MODEL]);
      return writing;
    },
  };
}

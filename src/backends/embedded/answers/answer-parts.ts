import type { Embedder } from "../../../contracts/embedder.ts";
import type { SearchHit, SearchQuery } from "../../../contracts/search-index.ts";
import type { SqlDatabase } from "../../../lib/sql/sql.ts";
import type { Answerer } from "./answerer.ts";

/** What responses, conversations, assistants, embeddings and models are served from. */
export interface AnswerParts {
  /** With the tables of answers-tables.ts. */
  readonly db: SqlDatabase;
  readonly answerer: Answerer;
  /** What new vector stores begin with. Asked when needed: a remote model has to be called to know its dimensions. */
  embedder(): Promise<Embedder>;
  /** As the search of a vector store does it: a WireError when there is no such store, or when it has expired. */
  search(storeId: string, query: SearchQuery): Promise<SearchHit[]>;
}

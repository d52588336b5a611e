import { RemoteError } from "../../contracts/errors.ts";
import type { SearchHit, SearchQuery } from "../../contracts/search-index.ts";
import { hasStatus } from "./refusal.ts";
import { readHits, readResponseHits, toWireFilter, toWireSearch } from "./search-codec.ts";
import { assertStoreExists, type Store } from "./store-files.ts";

/**
 * Some Azure endpoints have vector stores without search. The first search of a connection finds that out; from then on
 * a model is made to search, which costs a call to it each time.
 */
export async function searchStore(store: Store, query: SearchQuery): Promise<SearchHit[]> {
  const { lacks } = store.connection;
  if (lacks.search) return searchByModel(store, query);
  try {
    return await search(store, query);
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
    await assertStoreExists(store, "search", error);
    lacks.search = true;
    return searchByModel(store, query);
  }
}

function search({ storeId, connection }: Store, query: SearchQuery): Promise<SearchHit[]> {
  const path = `/vector_stores/${encodeURIComponent(storeId)}/search`;
  const body = toWireSearch(query);
  const headers = { "OpenAI-Beta": "assistants=v2" };
  const what = `search vector store ${storeId}`;
  return connection.questions.run(
    what,
    async (_attempt, signal) =>
      // Read as plain JSON: the client's own page turns any body without `data` into "nothing found".
      readHits(await connection.client.post<unknown>(path, { body, headers, signal })),
    query.signal,
  );
}

const INSTRUCTIONS =
  "Call the file search tool once, with the user's message as the query, unchanged. Then answer with the word done.";

async function searchByModel({ storeId, connection }: Store, query: SearchQuery): Promise<SearchHit[]> {
  const { client, questions, model, modelSetting } = connection;
  const filters = toWireFilter(query);
  if (!model) {
    throw new RemoteError(
      `search vector store ${storeId}: this service offers no search; set ${modelSetting} to a model that can search in its place`,
    );
  }
  const { limit, scoreThreshold } = query;
  const body = {
    model,
    input: query.text,
    instructions: INSTRUCTIONS,
    tools: [
      {
        type: "file_search",
        vector_store_ids: [storeId],
        max_num_results: limit,
        ...(filters ? { filters } : {}),
        ...(scoreThreshold === undefined ? {} : { ranking_options: { score_threshold: scoreThreshold } }),
      },
    ],
    tool_choice: { type: "file_search" },
    include: ["file_search_call.results"],
    store: false,
  };
  const what = `search vector store ${storeId} by ${model}`;
  const hits = await questions.run(
    what,
    async (_attempt, signal) => readResponseHits(await client.post<unknown>("/responses", { body, signal })),
    query.signal,
  );
  return hits.filter(({ score }) => score >= (scoreThreshold ?? 0)).slice(0, limit);
}

import type OpenAI from "openai";
import { APIError, toFile } from "openai";

/** What a call gave: an object, the events of a stream, or an error as the client raises it. */
export interface Outcome {
  readonly call: string;
  readonly result: unknown;
}

type Ids = Record<"file" | "second" | "store" | "batch" | "upload" | "response" | "conversation" | "item", string>;
type Call = (client: OpenAI, ids: Ids) => Promise<unknown>;

const TRAVEL = "# Travel\n\nA hotel night in Zurich may cost 190 euros.\n\nTrains are preferred below six hours.\n";
const CARS = "# Cars\n\nCompany cars are washed every week.\n";
const QUESTION = "How much may a hotel night in Zurich cost?";
const MODEL = "lockstep-extractive";

const searchIn = (ids: Ids) => [{ type: "file_search" as const, vector_store_ids: [ids.store] }];
const idOf = async <T extends { id: string }>(ids: Ids, name: keyof Ids, made: PromiseLike<T>): Promise<T> => {
  const object = await made;
  ids[name] = object.id;
  return object;
};

/** In this order, because each goes on from what the ones before it made. */
const CALLS: Readonly<Record<string, Call>> = {
  "models.list": async (client) => (await client.models.list()).data,
  "models.retrieve": (client) => client.models.retrieve(MODEL),
  "models.retrieve, unknown": (client) => client.models.retrieve("gpt-none"),
  "files.create": async (client, ids) => {
    const file = await toFile(Buffer.from(TRAVEL), "Reise nach Zürich.md");
    return idOf(ids, "file", client.files.create({ file, purpose: "assistants" }));
  },
  "files.create, empty": async (client) =>
    client.files.create({ file: await toFile(Buffer.alloc(0), "empty.md"), purpose: "assistants" }),
  "files.retrieve": (client, ids) => client.files.retrieve(ids.file),
  "files.content": async (client, ids) => (await client.files.content(ids.file)).text(),
  "files.retrieve, unknown": (client) => client.files.retrieve("file-none"),
  "uploads.create": (client, ids) =>
    idOf(
      ids,
      "upload",
      client.uploads.create({
        filename: "Cars.md",
        purpose: "assistants",
        bytes: CARS.length,
        mime_type: "text/markdown",
      }),
    ),
  "uploads.parts and complete": async (client, ids) => {
    const part = await client.uploads.parts.create(ids.upload, { data: await toFile(Buffer.from(CARS), "part") });
    const done = await client.uploads.complete(ids.upload, { part_ids: [part.id] });
    ids.second = done.file?.id ?? "";
    return done;
  },
  "vectorStores.create": (client, ids) =>
    idOf(ids, "store", client.vectorStores.create({ name: "Handbook", metadata: { team: "people" } })),
  "vectorStores.files.createAndPoll": (client, ids) =>
    client.vectorStores.files.createAndPoll(ids.store, { file_id: ids.file, attributes: { lang: "de" } }),
  "vectorStores.fileBatches.createAndPoll": (client, ids) =>
    idOf(ids, "batch", client.vectorStores.fileBatches.createAndPoll(ids.store, { file_ids: [ids.second] })),
  "vectorStores.fileBatches.listFiles": async (client, ids) =>
    (await client.vectorStores.fileBatches.listFiles(ids.batch, { vector_store_id: ids.store })).data,
  "vectorStores.files.list, page by page": async (client, ids) => {
    const files: unknown[] = [];
    for await (const file of client.vectorStores.files.list(ids.store, { limit: 1, order: "asc" })) files.push(file);
    return files;
  },
  "vectorStores.files.content": async (client, ids) =>
    (await client.vectorStores.files.content(ids.file, { vector_store_id: ids.store })).data,
  "vectorStores.retrieve": (client, ids) => client.vectorStores.retrieve(ids.store),
  "vectorStores.update": (client, ids) => client.vectorStores.update(ids.store, { name: "Handbuch" }),
  "vectorStores.search": (client, ids) => client.vectorStores.search(ids.store, { query: QUESTION }).then(bodyOf),
  "vectorStores.search, filtered": (client, ids) =>
    client.vectorStores
      .search(ids.store, { query: ["cars", "hotel"], filters: { type: "eq", key: "lang", value: "de" } })
      .then(bodyOf),
  "vectorStores.search, wrong": (client, ids) => client.vectorStores.search(ids.store, { query: 5 as never }),
  "responses.create": (client, ids) =>
    idOf(ids, "response", client.responses.create({ model: MODEL, input: QUESTION, tools: searchIn(ids) })),
  "responses.create, streamed": async (client, ids) =>
    collect(await client.responses.create({ model: MODEL, input: QUESTION, tools: searchIn(ids), stream: true })),
  "responses.retrieve, with results": (client, ids) =>
    client.responses.retrieve(ids.response, { include: ["file_search_call.results"] }),
  "responses.inputItems.list": async (client, ids) => (await client.responses.inputItems.list(ids.response)).data,
  "responses.create, going on": (client, ids) =>
    client.responses.create({ model: MODEL, input: "And trains?", previous_response_id: ids.response }),
  "GET /responses": (client) => client.get("/responses?limit=2"),
  "responses.create, unknown model": (client) => client.responses.create({ model: "gpt-none", input: "x" }),
  "responses.create, unknown store, streamed": (client) =>
    client.responses.create({ model: MODEL, input: "x", stream: true, tools: searchIn({ store: "vs_none" } as Ids) }),
  "conversations.create": (client, ids) =>
    idOf(ids, "conversation", client.conversations.create({ items: [{ role: "user", content: "Hello" }] })),
  "responses.create, in a conversation": (client, ids) =>
    client.responses.create({ model: MODEL, input: QUESTION, conversation: ids.conversation, tools: searchIn(ids) }),
  "conversations.items.list": async (client, ids) => {
    const { data } = await client.conversations.items.list(ids.conversation, { order: "asc" });
    ids.item = data[0]?.id ?? "";
    return data;
  },
  "conversations.items.delete": (client, ids) =>
    client.conversations.items.delete(ids.item, { conversation_id: ids.conversation }),
  "conversations.delete": (client, ids) => client.conversations.delete(ids.conversation),
  "chat.completions.create": (client) =>
    client.chat.completions.create({ model: MODEL, messages: [{ role: "user", content: QUESTION }] }),
  "chat.completions.create, streamed": async (client) =>
    collect(
      await client.chat.completions.create({
        model: MODEL,
        messages: [{ role: "user", content: [{ type: "text", text: QUESTION }] }],
        stream: true,
        stream_options: { include_usage: true },
      }),
    ),
  "embeddings.create": async (client) => {
    const embedding = (await client.models.list()).data.at(-1)?.id ?? "";
    return client.embeddings.create({ model: embedding, input: ["hotel", "Zürich"] });
  },
  "beta.assistants.list": async (client) => (await client.beta.assistants.list()).data,
  "beta.threads.create": (client) => client.beta.threads.create(),
  "vectorStores.files.delete": (client, ids) =>
    client.vectorStores.files.delete(ids.second, { vector_store_id: ids.store }),
  "files.delete": (client, ids) => client.files.delete(ids.second),
  "files.delete, twice": (client, ids) => client.files.delete(ids.second),
  "responses.delete": async (client, ids) => (await client.responses.delete(ids.response)) ?? null,
  "vectorStores.list": async (client) => (await client.vectorStores.list()).data,
  "files.list": async (client) => (await client.files.list()).data,
};

/** Everything an application does, one call after the other. */
export async function makeCalls(client: OpenAI): Promise<{ outcomes: Outcome[]; ids: Ids }> {
  const ids = {} as Ids;
  const outcomes: Outcome[] = [];
  for (const [call, make] of Object.entries(CALLS)) {
    const result = await make(client, ids).catch((error: unknown) => {
      if (!(error instanceof APIError)) throw error;
      return { raised: error.constructor.name, status: error.status, body: error.error };
    });
    outcomes.push({ call, result });
  }
  return { outcomes, ids };
}

const IDS = /\b(file-|vs_|vsfb_|upload_|part_|resp_|msg_|fs_|conv_|item_|chatcmpl-)(?!none)[A-Za-z0-9]{8,}/g;
const TIMES = /"(created_at|completed_at|last_active_at|expires_at|created)":\d+/g;

/** The same for two servers that did the same: ids by the order in which they came, no times. */
export function normalised(outcomes: readonly Outcome[]): Outcome[] {
  const names = new Map<string, string>();
  const nameOf = (id: string, kind: string): string => {
    if (!names.has(id)) names.set(id, `${kind}${names.size + 1}`);
    return names.get(id) ?? "";
  };
  return outcomes.map(({ call, result }) => {
    // Addresses begin with that of the server that was asked.
    const here = JSON.stringify(result).replaceAll(/http:\/\/127\.0\.0\.1:\d+/g, "http://here");
    const text = here.replace(IDS, nameOf).replace(TIMES, '"$1":0');
    return { call, result: JSON.parse(text) as unknown };
  });
}

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const events: T[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Pages of the client carry the client itself. */
function bodyOf(page: object): unknown {
  const { data, object, has_more, next_page, search_query } = page as Record<string, unknown>;
  return { data, object, has_more, next_page, search_query };
}

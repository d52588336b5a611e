import type { App } from "../../app/app.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { QueryAnswer } from "../../engine/query.ts";
import { type Answer, type Endpoint, endpoint, ok } from "../grammar/endpoint.ts";
import type { Envelope } from "../grammar/envelope.ts";
import { optional, required, withDefault } from "../grammar/parameters.ts";
import { json, text, type Value, wholeNumber } from "../grammar/values.ts";
import { queryPage } from "../pages/query-page.ts";
import { toQueryJson } from "./query-codec.ts";

const results = wholeNumber({ from: 1, to: 50 });

const vectorStoreId: Value<VectorStoreId> = {
  accepts: "the id of a vector store",
  // Ids come with stray blanks from people's configuration files.
  read: (raw) => (typeof raw === "string" && raw.trim() !== "" ? (raw.trim() as VectorStoreId) : undefined),
};

const queryEnvelope: Envelope = {
  answer: (result) => toQueryJson(result.data as QueryAnswer),
  failure: (message) => ({ error: message }),
};

interface Question {
  readonly query: string;
  readonly vsid: VectorStoreId | undefined;
  readonly results: number;
}

export function queryEndpoints(app: App): Endpoint[] {
  return [queryByGet(app), queryByPost(app)];
}

function queryByGet(app: App): Endpoint {
  return endpoint({
    path: "/query2",
    methods: ["GET"],
    formats: ["html", "json"],
    description: "Searches the documents of a vector store.",
    changes: null,
    unknownParameters: "tolerated",
    query: {
      query: withDefault(text, "", "What to search for."),
      vsid: optional(vectorStoreId, "The vector store; without it, the default one."),
      results: withDefault(results, app.config.search.maxNumResults, "At most this many results."),
    },
    examples: ["?query=travel+expenses", "?query=travel+expenses&vsid=vs_123&results=5&format=json"],
    envelope: queryEnvelope,
    run: (question) => ask(app, question),
    html: ({ data }) => queryPage(data),
  });
}

function queryByPost(app: App): Endpoint {
  return endpoint({
    path: "/query",
    methods: ["POST"],
    formats: ["json"],
    description: "Searches the documents of a vector store.",
    changes: null,
    unknownParameters: "tolerated",
    query: {},
    body: {
      data: required(
        json,
        'An object {"query", "vsid", "results"}: what to search for, the vector store (default: the configured one), at most how many results.',
        "Missing 'data' attribute in request JSON.",
      ),
    },
    examples: [
      `curl '{origin}/query' -H 'content-type: application/json' -d '{"data":{"query":"travel expenses","results":5}}'`,
    ],
    envelope: queryEnvelope,
    run: ({ body }) => ask(app, readQuestion(body.data, app.config.search.maxNumResults)),
  });
}

/** An empty query finds nothing, and that is not an error. */
async function ask(app: App, question: Question): Promise<Answer<QueryAnswer>> {
  const query = question.query.trim();
  const vectorStore = question.vsid;
  if (query === "") return ok({ query: "", vectorStoreId: vectorStore ?? ("" as VectorStoreId), sources: [] });
  return ok(await app.query({ text: query, vectorStoreId: vectorStore, domainId: undefined, limit: question.results }));
}

function readQuestion(data: unknown, defaultResults: number): Question {
  if (typeof data !== "object" || data === null || Array.isArray(data)) {
    throw new BadInputError("'data' must be a JSON object.");
  }
  const field = (name: string): unknown => (data as Record<string, unknown>)[name] ?? undefined;
  return {
    query: read("query", text, field("query")) ?? "",
    vsid: field("vsid") === "" ? undefined : read("vsid", vectorStoreId, field("vsid")),
    results: read("results", results, field("results")) ?? defaultResults,
  };
}

function read<T>(name: string, value: Value<T>, raw: unknown): T | undefined {
  if (raw === undefined) return undefined;
  const result = value.read(raw);
  if (result === undefined) throw new BadInputError(`'data.${name}' must be ${value.accepts}.`);
  return result;
}

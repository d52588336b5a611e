import type { App } from "../../app/app.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { VectorStoreId } from "../../contracts/ids.ts";
import type { QueryAnswer, QuerySource } from "../../engine/query.ts";
import { queryPage } from "../pages/search-pages.ts";
import { type Answer, type Call, type Endpoint, endpoint, ok } from "../routing/endpoint.ts";
import { type Envelope, plainFailure } from "../routing/envelope.ts";
import { optional, required, withDefault } from "../routing/parameters.ts";
import type { JsonSchema } from "../routing/values.ts";
import { json, text, type Value, wholeNumber } from "../routing/values.ts";
import { freshnessJson, withOpenableUrls } from "./search-endpoints.ts";

const SOURCE_SCHEMA: JsonSchema = {
  type: "object",
  required: ["data", "source", "metadata"],
  properties: {
    data: { type: "string", description: "The passage." },
    source: { type: "string", description: "An address of the document that opens in a browser." },
    metadata: {
      type: "object",
      required: ["file_id", "score"],
      properties: { file_id: { type: "string" }, score: { type: "number" } },
    },
  },
};

const QUERY_SCHEMA: JsonSchema = {
  type: "object",
  required: ["data"],
  properties: {
    data: {
      type: "object",
      required: ["query", "answer", "source_markers", "sources"],
      properties: {
        query: { type: "string" },
        answer: { type: "string" },
        source_markers: { type: "array", items: { type: "string" } },
        sources: { type: "array", items: SOURCE_SCHEMA },
      },
    },
  },
};

const results = wholeNumber({ from: 1, to: 50 });

const vectorStoreId: Value<VectorStoreId> = {
  accepts: "the id of a vector store",
  schema: { type: "string" },
  // Ids in people's configuration files have stray blanks.
  read: (raw) => (typeof raw === "string" && raw.trim() !== "" ? (raw.trim() as VectorStoreId) : undefined),
};

const questionJson: Value<unknown> = {
  ...json,
  schema: {
    type: "object",
    properties: {
      query: { type: "string" },
      vsid: { type: "string" },
      results: results.schema,
    },
  },
};

const queryEnvelope: Envelope = {
  name: "Query",
  answer: (result) => toQueryJson(result.data as QueryAnswer),
  ...plainFailure,
  answerSchema: QUERY_SCHEMA,
};

interface Question {
  readonly query: string;
  readonly vsid: VectorStoreId | undefined;
  /** undefined: the number in the settings. */
  readonly results: number | undefined;
}

export function queryEndpoints(app: App): Endpoint[] {
  return [queryByGet(app), queryByPost(app)];
}

function queryByGet(app: App): Endpoint {
  return endpoint({
    path: "/query2",
    forReaders: true,
    methods: ["GET"],
    formats: ["html", "json"],
    description: "Searches the documents of all domains, or of one vector store.",
    changes: null,
    unknownParameters: "tolerated",
    query: {
      query: withDefault(text, "", "What to search for."),
      vsid: optional(vectorStoreId, "The vector store; without it, the default one, or all domains."),
      results: optional(results, `At most this many results; without it, ${app.config.search.maxNumResults}.`),
    },
    examples: ["?query=travel+expenses", "?query=travel+expenses&vsid=vs_123&results=5&format=json"],
    envelope: queryEnvelope,
    run: ({ query, vsid, results: limit }, call) => ask(app, { query, vsid, results: limit }, call),
    html: ({ data }, _args, frame) => queryPage(data, frame),
  });
}

function queryByPost(app: App): Endpoint {
  return endpoint({
    path: "/query",
    forReaders: true,
    methods: ["POST"],
    formats: ["json"],
    description: "Searches the documents of all domains, or of one vector store.",
    changes: null,
    unknownParameters: "tolerated",
    query: {},
    body: {
      data: required(
        questionJson,
        'An object {"query", "vsid", "results"}: what to search for, the vector store (default: the configured one, or all domains), at most how many results.',
        "Missing 'data' attribute in request JSON.",
      ),
    },
    examples: [
      `curl '{origin}/query' -H 'content-type: application/json' -d '{"data":{"query":"travel expenses","results":5}}'`,
    ],
    envelope: queryEnvelope,
    run: ({ body }, call) => ask(app, readQuestion(body.data), call),
  });
}

/** An empty query finds nothing, which is not an error. */
async function ask(app: App, question: Question, call: Call): Promise<Answer<QueryAnswer>> {
  const query = question.query.trim();
  const vectorStore = question.vsid;
  if (query === "") return ok({ query: "", vectorStoreId: vectorStore ?? ("" as VectorStoreId), sources: [] });
  const limit = question.results ?? app.config.search.maxNumResults;
  const asked = { text: query, vectorStoreId: vectorStore, domainId: undefined, limit };
  return ok(withOpenableUrls(await app.query(asked, call), call));
}

function readQuestion(data: unknown): Question {
  if (typeof data !== "object" || data === null || Array.isArray(data)) {
    throw new BadInputError("'data' must be a JSON object.");
  }
  // Older clients send null or "" for fields they leave to the server.
  const field = (name: string): unknown => {
    const value = (data as Record<string, unknown>)[name];
    return value === null || value === "" ? undefined : value;
  };
  return {
    query: read("query", text, field("query")) ?? "",
    vsid: read("vsid", vectorStoreId, field("vsid")),
    results: read("results", results, field("results")),
  };
}

function read<T>(name: string, value: Value<T>, raw: unknown): T | undefined {
  if (raw === undefined) return undefined;
  const result = value.read(raw);
  if (result === undefined) throw new BadInputError(`'data.${name}' must be ${value.accepts}.`);
  return result;
}

/** Formats the response of `/query` and `/query2` with the fields that older clients read. */
function toQueryJson(answer: QueryAnswer): Record<string, unknown> {
  return {
    data: {
      query: answer.query,
      answer: "",
      source_markers: ["【", "】"],
      sources: answer.sources.map(toSourceJson),
    },
  };
}

function toSourceJson(source: QuerySource): Record<string, unknown> {
  const { url: _shownAsSource, ...metadata } = source.metadata ?? {};
  const section = source.sectionPath === "" ? {} : { section_path: source.sectionPath };
  const own = { file_id: source.fileId, score: source.score, ...section, ...freshnessJson(source) };
  return {
    data: source.text,
    source: source.url,
    metadata: { title: source.title, ...own, ...source.attributes, ...metadata, ...own },
  };
}

import type { ProductFacts } from "../http-env.ts";
import { SESSION_COOKIE } from "../middleware/authenticator.ts";
import { firstSentence, routerOf } from "./describe-endpoint.ts";
import type { Endpoint, Format, Method } from "./endpoint.ts";
import { objectSchema, type Parameters, withFallback } from "./parameters.ts";
import type { JsonSchema } from "./values.ts";

type Json = Readonly<Record<string, unknown>>;

const MEDIA_TYPES: Readonly<Record<Exclude<Format, "json">, string>> = {
  html: "text/html",
  ui: "text/html",
  stream: "text/event-stream",
  raw: "application/octet-stream",
  zip: "application/zip",
  csv: "text/csv",
};

const BODY_TYPES = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"] as const;

const REFUSALS: Readonly<Record<string, string>> = {
  400: "The request is wrong; the error says in what.",
  401: "Nobody has signed in.",
  403: "The role does not allow it, or another site asked.",
  404: "There is no such thing.",
  default: "It did not work out; the error says why.",
};

const SECURITY_SCHEMES: Json = {
  bearer: { type: "http", scheme: "bearer", description: "An API key, or a token of Entra ID." },
  apiKey: { type: "apiKey", in: "header", name: "x-api-key", description: "An API key." },
  session: { type: "apiKey", in: "cookie", name: SESSION_COOKIE, description: "What signing in on the pages leaves." },
};

/** The OpenAPI document, made from the declarations. */
export function describeForPrograms(endpoints: readonly Endpoint[], product: ProductFacts): Json {
  const envelopes = new Map(endpoints.map(({ envelope }) => [envelope.name, envelope]));
  const bodies = endpoints.flatMap((one) =>
    one.body ? [[bodyName(one.path), objectSchema(one.body, one.unknownParameters)]] : [],
  );
  const schemas = [...envelopes.values()].flatMap(({ name, answerSchema, failureSchema }) => [
    [name, answerSchema],
    [`${name}Failure`, failureSchema],
  ]);
  return {
    openapi: "3.1.0",
    info: {
      title: "lockstep",
      version: product.version,
      description:
        "A GET without parameters answers what an address takes, as text. x-role is the role that is needed.",
    },
    servers: [{ url: "/" }],
    // Any one is enough; none is needed while the server has no keys.
    security: [{}, ...Object.keys(SECURITY_SCHEMES).map((name) => ({ [name]: [] }))],
    paths: { ...Object.fromEntries(endpoints.map((one) => [one.path, pathItem(one)])), ...OPENAI_PROTOCOL },
    components: { schemas: Object.fromEntries([...schemas, ...bodies]), securitySchemes: SECURITY_SCHEMES },
  };
}

function pathItem(one: Endpoint): Json {
  const operations = one.methods.map((method) => [method.toLowerCase(), operation(one, method)]);
  if (!one.methods.includes("GET")) operations.push(["get", documentation(one)]);
  return Object.fromEntries(operations);
}

function operation(one: Endpoint, method: Method): Json {
  return {
    operationId: operationId(method, one.path),
    tags: [routerOf(one.path)],
    summary: firstSentence(one.description),
    description: one.changes === null ? one.description : `${one.description}\n\nChanges: ${one.changes}`,
    parameters: [...queryParameters(one.query), formatParameter(one.formats)],
    ...(one.body && method !== "GET" && { requestBody: requestBody(one, one.body) }),
    responses: responses(one, method),
    "x-role": one.role,
  };
}

/** Describes the response of a GET without parameters for endpoints that have no GET. */
function documentation({ path }: Endpoint): Json {
  return {
    operationId: operationId("GET", path),
    tags: [routerOf(path)],
    summary: "Parameters of this address, as text.",
    parameters: [],
    responses: { 200: { description: "The documentation.", content: { "text/plain": TEXT } } },
    "x-role": "read",
  };
}

const TEXT: Json = { schema: { type: "string" } };

function queryParameters(parameters: Parameters): Json[] {
  return Object.entries(parameters).map(([name, { description, presence, value, fallback }]) => ({
    name,
    in: "query",
    description,
    required: presence === "required",
    schema: withFallback(value.schema, fallback),
  }));
}

function formatParameter(formats: readonly Format[]): Json {
  const schema = { type: "string", enum: formats, default: formats[0] };
  return { name: "format", in: "query", description: "How the answer comes.", required: false, schema };
}

function requestBody({ path }: Endpoint, fields: Parameters): Json {
  const rows = Object.entries(fields);
  const schema: JsonSchema = { $ref: ref(bodyName(path)) };
  const encodings = rows.flatMap(([name, { value }]) => {
    const encoding = encodingOf(value.schema);
    return encoding ? [[name, encoding]] : [];
  });
  const formed = encodings.length > 0 ? { schema, encoding: Object.fromEntries(encodings) } : { schema };
  const content = BODY_TYPES.map((type) => [type, type === "application/json" ? { schema } : formed]);
  return { required: rows.some(([, { presence }]) => presence === "required"), content: Object.fromEntries(content) };
}

/** How a form sends lists and objects: lists of texts with commas, everything else as JSON. */
function encodingOf({ type, items }: JsonSchema): Json | undefined {
  if (type === "array" && items?.type === "string") return { style: "form", explode: false };
  return type === undefined || type === "object" || type === "array" ? { contentType: "application/json" } : undefined;
}

function responses(one: Endpoint, method: Method): Json {
  const content: Record<string, Json> = {};
  for (const format of one.formats) {
    if (format === "json") content["application/json"] = { schema: { $ref: ref(one.envelope.name) } };
    else content[MEDIA_TYPES[format]] = TEXT;
  }
  if (method === "GET" && one.bareGet !== "answer") content["text/plain"] = TEXT;
  const failure = { "application/json": { schema: { $ref: ref(`${one.envelope.name}Failure`) } } };
  return {
    200: {
      description:
        "The answer, in the format asked for; as text/plain, where there is that, the documentation: without parameters.",
      content,
    },
    ...(one.later !== undefined && { 202: { description: one.later, content } }),
    ...(one.stream && { 204: { description: "Of a stream: nothing more will come." } }),
    ...Object.fromEntries(
      Object.entries(REFUSALS).map(([status, description]) => [status, { description, content: failure }]),
    ),
  };
}

function ref(name: string): string {
  return `#/components/schemas/${name}`;
}

function operationId(method: Method, path: string): string {
  return `${method.toLowerCase()}${toName(path)}`;
}

function bodyName(path: string): string {
  return `body${toName(path)}`;
}

/** `/v2/jobs/get` is `_v2_jobs_get`. */
function toName(path: string): string {
  return path.replaceAll(/[^A-Za-z0-9]+/g, "_");
}

const OPENAI_PROTOCOL: Json = {
  "/openai/v1/{route}": Object.fromEntries(
    (["GET", "POST", "DELETE"] as const).map((method) => [
      method.toLowerCase(),
      {
        operationId: `${method.toLowerCase()}_openai`,
        tags: ["openai"],
        summary: "The OpenAI protocol: files, vector stores, search, responses. OpenAI's own reference describes it.",
        parameters: [
          {
            name: "route",
            in: "path",
            required: true,
            description: "As in OpenAI's reference, for example vector_stores/vs_123/search.",
            schema: { type: "string" },
          },
        ],
        responses: { default: { description: "As OpenAI answers, errors too.", content: { "application/json": {} } } },
      },
    ]),
  ),
};

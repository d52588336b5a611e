import { Hono } from "hono";
import { isJsonObject, type JsonObject } from "../../../lib/json-object.ts";
import { randomId } from "../../../lib/random-id.ts";
import type { Sql } from "../../../lib/sql/sql.ts";
import type { AnswerContext } from "../answers/answer-context.ts";
import { readPage } from "../read-page.ts";
import { toList } from "./codec.ts";
import {
  asArray,
  asMetadata,
  asNumber,
  asObject,
  asOneOf,
  asString,
  readFields,
  readListParams,
  toPageRequest,
} from "./read-fields.ts";
import { badRequest, notFound } from "./wire-error.ts";

const LIST_LIMITS = { max: 100, usual: 20 };
const FIELDS = [
  "model",
  "name",
  "description",
  "instructions",
  "tools",
  "tool_resources",
  "metadata",
  "temperature",
  "top_p",
  "response_format",
  "reasoning_effort",
];

/** Below `/assistants`: definitions only, for older clients; nothing runs them. */
export function assistantRoutes({ db }: Pick<AnswerContext, "db">): Hono {
  const find = async (id: string): Promise<AssistantRow> => {
    const row = await findAssistant(db, id);
    if (!row) throw notFound(`No assistant found with id '${id}'.`);
    return row;
  };
  const routes = new Hono();
  routes.get("/", async ({ req, json }) => {
    const params = readListParams(new URL(req.url).searchParams, LIST_LIMITS);
    const request = await toPageRequest(params, (id) => findAssistant(db, id));
    const list = { columns: ASSISTANT_COLUMNS, from: "assistants", createdAt: "created_at", seq: "seq" };
    const { rows, hasMore } = await readPage<AssistantRow>(db, list, request);
    const ids = rows.map(({ id }) => id);
    return json(toList(rows.map(toAssistant), ids, hasMore));
  });
  routes.post("/", async ({ req, json }) => {
    const fields = await readFields(req.raw, FIELDS);
    if (fields["model"] === undefined) throw badRequest("Missing required parameter: 'model'.", "model");
    const id = randomId("asst_");
    await insertAssistant(db, id, Math.floor(Date.now() / 1000), readAssistant(fields, {}));
    return json(toAssistant(await find(id)));
  });
  routes.get("/:id", async ({ req, json }) => json(toAssistant(await find(req.param("id")))));
  routes.post("/:id", async ({ req, json }) => {
    const row = await find(req.param("id"));
    const fields = await readFields(req.raw, FIELDS);
    await updateAssistant(db, row.id, readAssistant(fields, settingsOf(row)));
    return json(toAssistant(await find(row.id)));
  });
  routes.delete("/:id", async ({ req, json }) => {
    const { id } = await find(req.param("id"));
    await deleteAssistant(db, id);
    return json({ id, object: "assistant.deleted", deleted: true });
  });
  return routes;
}

/** Below `/threads`. */
export function threadRoutes(): Hono {
  const routes = new Hono();
  routes.all("*", () => {
    throw notFound("Threads, messages and runs are not served by the embedded backend: use /responses instead.");
  });
  return routes;
}

function settingsOf(row: AssistantRow): JsonObject {
  return JSON.parse(row.assistant) as JsonObject;
}

function toAssistant(row: AssistantRow): object {
  return { id: row.id, object: "assistant", created_at: row.createdAt, ...settingsOf(row) };
}

interface AssistantRow {
  readonly id: string;
  readonly seq: number;
  /** Unix seconds. */
  readonly createdAt: number;
  /** JSON: the settings of the assistant as the wire protocol spells them. */
  readonly assistant: string;
}

const ASSISTANT_COLUMNS = 'id, seq, created_at AS "createdAt", assistant';

async function insertAssistant(sql: Sql, id: string, createdAt: number, settings: JsonObject): Promise<void> {
  const values = [id, createdAt, JSON.stringify(settings)];
  await sql.run("INSERT INTO assistants (id, created_at, assistant) VALUES ($1, $2, $3)", values);
}

async function findAssistant(sql: Sql, id: string): Promise<AssistantRow | undefined> {
  return sql.get<AssistantRow>(`SELECT ${ASSISTANT_COLUMNS} FROM assistants WHERE id = $1`, [id]);
}

async function updateAssistant(sql: Sql, id: string, settings: JsonObject): Promise<void> {
  await sql.run("UPDATE assistants SET assistant = $1 WHERE id = $2", [JSON.stringify(settings), id]);
}

async function deleteAssistant(sql: Sql, id: string): Promise<void> {
  await sql.run("DELETE FROM assistants WHERE id = $1", [id]);
}

const TOOLS = ["code_interpreter", "file_search", "function"] as const;
const MAX_TOOLS = 128;
const MAX_LENGTHS = { name: 256, description: 512, instructions: 256_000 } as const;

/** Reads the settings of an assistant; fields that are not given keep their value. */
function readAssistant(fields: Readonly<JsonObject>, before: Readonly<JsonObject>): JsonObject {
  const given = (name: string, usual: unknown, read: (value: unknown, param: string) => unknown): unknown => {
    const value = fields[name];
    if (value === undefined) return before[name] ?? usual;
    return value === null ? usual : read(value, name);
  };
  const between = (max: number) => {
    return (value: unknown, param: string): number => asNumber(value, param, { min: 0, max, integer: false });
  };
  return {
    name: given("name", null, asShortText),
    description: given("description", null, asShortText),
    model: asString(given("model", undefined, asString), "model"),
    instructions: given("instructions", null, asShortText),
    tools: given("tools", [], asTools),
    tool_resources: given("tool_resources", {}, asResources),
    metadata: given("metadata", {}, asMetadata),
    temperature: given("temperature", 1, between(2)),
    top_p: given("top_p", 1, between(1)),
    response_format: given("response_format", "auto", asFormat),
    reasoning_effort: given("reasoning_effort", null, asString),
  };
}

function asShortText(value: unknown, param: string): string {
  const text = asString(value, param);
  const most = MAX_LENGTHS[param as keyof typeof MAX_LENGTHS];
  if (text.length > most) throw badRequest(`'${param}' has more than ${most} characters.`, param);
  return text;
}

function asTools(value: unknown, param: string): JsonObject[] {
  const tools = asArray(value, param).map((tool, at) => {
    const fields = asObject(tool, `${param}[${at}]`);
    asOneOf(fields["type"], `${param}[${at}].type`, TOOLS);
    return fields;
  });
  if (tools.length > MAX_TOOLS) throw badRequest(`'${param}' has more than ${MAX_TOOLS} tools.`, param);
  return tools;
}

function asResources(value: unknown, param: string): JsonObject {
  const resources = asObject(value, param);
  const search = resources["file_search"];
  if (search === undefined || search === null) return resources;
  const at = `${param}.file_search`;
  const fields = asObject(search, at);
  if (fields["vector_stores"] !== undefined) {
    throw badRequest(`'${at}.vector_stores' is not served: create the store and name it in 'vector_store_ids'.`, at);
  }
  const ids = asArray(fields["vector_store_ids"] ?? [], `${at}.vector_store_ids`);
  if (ids.length > 1) {
    throw badRequest(`'${at}.vector_store_ids' has ${ids.length} ids; an assistant has at most one.`, at);
  }
  return { ...resources, file_search: { vector_store_ids: ids.map((id) => asString(id, `${at}.vector_store_ids`)) } };
}

function asFormat(value: unknown, param: string): unknown {
  if (value === "auto" || isJsonObject(value)) return value;
  throw badRequest(`Invalid value for '${param}': expected 'auto' or an object.`, param);
}

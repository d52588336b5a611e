import { Hono } from "hono";
import type { JsonObject } from "../../../lib/json-object.ts";
import { randomId } from "../../../lib/random-id.ts";
import type { AnswerParts } from "../answers/answer-parts.ts";
import {
  ASSISTANT_COLUMNS,
  type AssistantRow,
  deleteAssistant,
  findAssistant,
  insertAssistant,
  updateAssistant,
} from "../answers/assistants.ts";
import { readAssistant } from "../answers/read-assistant.ts";
import { readPage } from "../catalog/read-page.ts";
import { toList } from "./codec.ts";
import { readFields } from "./read-fields.ts";
import { readListParams, toPageRequest } from "./read-list-params.ts";
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

/** Below `/assistants`: definitions only, for clients of before; nothing runs them. */
export function assistantRoutes({ db }: Pick<AnswerParts, "db">): Hono {
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

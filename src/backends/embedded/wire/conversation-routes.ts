import { Hono } from "hono";
import { randomId } from "../../../index/storage/random-id.ts";
import { nowSeconds } from "../../../lib/time.ts";
import type { AnswerParts } from "../answers/answer-parts.ts";
import {
  appendItems,
  type Conversation,
  deleteConversation,
  deleteItem,
  findConversation,
  findItem,
  type ItemRow,
  insertConversation,
  listItems,
  updateConversation,
} from "../answers/conversations.ts";
import { type Item, showItem } from "../answers/items.ts";
import { noSuchConversation } from "../answers/make-response.ts";
import { ITEM_LIMITS, itemList } from "../answers/page-of-items.ts";
import { readItems } from "../answers/read-items.ts";
import { asArray, asMetadata, readFields } from "./read-fields.ts";
import { readListParams, toPageRequest } from "./read-list-params.ts";
import { includeOf } from "./response-routes.ts";
import { badRequest, notFound } from "./wire-error.ts";

const MAX_ITEMS = 20;

/** Below `/conversations`. */
export function conversationRoutes({ db }: AnswerParts): Hono {
  const find = async (id: string): Promise<Conversation> => {
    const found = await findConversation(db, id);
    if (!found) throw noSuchConversation(id);
    return found;
  };
  const routes = new Hono();
  routes.post("/", async ({ req, json }) => {
    const fields = await readFields(req.raw);
    const items = asItems(fields["items"] ?? []);
    const made = { id: randomId("conv_"), createdAt: nowSeconds(), metadata: asMetadata(fields["metadata"]) };
    await insertConversation(db, made, items);
    return json(toConversation(made));
  });
  routes.get("/:id", async ({ req, json }) => json(toConversation(await find(req.param("id")))));
  routes.post("/:id", async ({ req, json }) => {
    const { id } = await find(req.param("id"));
    const fields = await readFields(req.raw);
    if (fields["metadata"] === undefined) throw badRequest("Missing required parameter: 'metadata'.", "metadata");
    await updateConversation(db, id, asMetadata(fields["metadata"]));
    return json(toConversation(await find(id)));
  });
  routes.delete("/:id", async ({ req, json }) => {
    const { id } = await find(req.param("id"));
    await deleteConversation(db, id);
    return json({ id, object: "conversation.deleted", deleted: true });
  });
  addItemRoutes(routes, db, find);
  return routes;
}

function addItemRoutes(routes: Hono, db: AnswerParts["db"], find: (id: string) => Promise<Conversation>): void {
  routes.post("/:id/items", async ({ req, json }) => {
    const { id } = await find(req.param("id"));
    const include = includeOf(new URL(req.url).searchParams);
    const fields = await readFields(req.raw);
    if (fields["items"] === undefined) throw badRequest("Missing required parameter: 'items'.", "items");
    const items = asItems(fields["items"]);
    if (!(await db.write((sql) => appendItems(sql, id, items)))) throw noSuchConversation(id);
    return json(itemList(items, false, include));
  });
  routes.get("/:id/items", async ({ req, json }) => {
    const { id } = await find(req.param("id"));
    const query = new URL(req.url).searchParams;
    const request = await toPageRequest(readListParams(query, ITEM_LIMITS), (itemId) => findItem(db, id, itemId));
    const page = await listItems(db, id, request);
    return json(itemList(page.rows.map(toItem), page.hasMore, includeOf(query)));
  });
  routes.get("/:id/items/:item", async ({ req, json }) => {
    const { id } = await find(req.param("id"));
    const row = await findItem(db, id, req.param("item"));
    if (!row) throw noSuchItem(id, req.param("item"));
    return json(showItem(toItem(row), includeOf(new URL(req.url).searchParams)));
  });
  routes.delete("/:id/items/:item", async ({ req, json }) => {
    const conversation = await find(req.param("id"));
    if (!(await deleteItem(db, conversation.id, req.param("item")))) {
      throw noSuchItem(conversation.id, req.param("item"));
    }
    return json(toConversation(conversation));
  });
}

function asItems(value: unknown): Item[] {
  const items = asArray(value, "items");
  if (items.length > MAX_ITEMS) {
    throw badRequest(`'items' has ${items.length} items; at most ${MAX_ITEMS} can be added at a time.`, "items");
  }
  return readItems(items, "items", "any");
}

function toItem({ item }: ItemRow): Item {
  return JSON.parse(item) as Item;
}

function toConversation({ id, createdAt, metadata }: Conversation): object {
  return { id, object: "conversation", created_at: createdAt, metadata };
}

function noSuchItem(id: string, itemId: string): Error {
  return notFound(`Item with id '${itemId}' not found in conversation '${id}'.`);
}

import { type Context, Hono } from "hono";
import { askerOf } from "../../../contracts/access.ts";
import { randomId } from "../../../lib/random-id.ts";
import { nowSeconds } from "../../../lib/time.ts";
import type { AnswerContext } from "../answers/answer-context.ts";
import {
  appendItems,
  type Conversation,
  checkItems,
  checkRoom,
  deleteConversation,
  deleteItem,
  findConversation,
  findItem,
  type ItemRow,
  insertConversation,
  listItems,
  updateConversation,
} from "../answers/conversations.ts";
import { ITEM_LIMITS, type Item, itemList, readItems, showItem } from "../answers/items.ts";
import { noSuchConversation } from "../answers/make-response.ts";
import { asArray, asMetadata, readFields, readListParams, toPageRequest } from "./read-fields.ts";
import { includeOf } from "./response-routes.ts";
import type { WireEnv } from "./wire-context.ts";
import { badRequest, notFound } from "./wire-error.ts";

const MAX_ITEMS = 20;

type Find = (c: Context<WireEnv>) => Promise<Conversation>;

/** Below `/conversations`. */
export function conversationRoutes(parts: AnswerContext): Hono<WireEnv> {
  const { db, quota } = parts;
  const find: Find = async ({ req, env }) => {
    const id = req.param("id") ?? "";
    const found = await findConversation(db, id, askerOf(env.call.by));
    if (!found) throw noSuchConversation(id);
    return found;
  };
  const routes = new Hono<WireEnv>();
  routes.post("/", async ({ req, json, env }) => {
    const fields = await readFields(req.raw);
    const items = asItems(fields["items"] ?? []);
    const { owner } = askerOf(env.call.by);
    await checkRoom(db, owner, quota);
    const made = { id: randomId("conv_"), createdAt: nowSeconds(), metadata: asMetadata(fields["metadata"]), owner };
    await insertConversation(db, made, items);
    return json(toConversation(made));
  });
  routes.get("/:id", async (c) => c.json(toConversation(await find(c))));
  routes.post("/:id", async (c) => {
    const { id } = await find(c);
    const fields = await readFields(c.req.raw);
    if (fields["metadata"] === undefined) throw badRequest("Missing required parameter: 'metadata'.", "metadata");
    await updateConversation(db, id, asMetadata(fields["metadata"]));
    return c.json(toConversation(await find(c)));
  });
  routes.delete("/:id", async (c) => {
    const { id } = await find(c);
    await deleteConversation(db, id);
    return c.json({ id, object: "conversation.deleted", deleted: true });
  });
  addItemRoutes(routes, parts, find);
  return routes;
}

function addItemRoutes(routes: Hono<WireEnv>, { db, quota }: AnswerContext, find: Find): void {
  routes.post("/:id/items", async (c) => {
    const conversation = await find(c);
    const { id } = conversation;
    const include = includeOf(new URL(c.req.url).searchParams);
    const fields = await readFields(c.req.raw);
    if (fields["items"] === undefined) throw badRequest("Missing required parameter: 'items'.", "items");
    const items = asItems(fields["items"]);
    checkItems(items, conversation, askerOf(c.env.call.by));
    await checkRoom(db, conversation.owner, quota);
    if (!(await db.write((sql) => appendItems(sql, id, items)))) throw noSuchConversation(id);
    return c.json(itemList(items, false, include));
  });
  routes.get("/:id/items", async (c) => {
    const { id } = await find(c);
    const query = new URL(c.req.url).searchParams;
    const request = await toPageRequest(readListParams(query, ITEM_LIMITS), (itemId) => findItem(db, id, itemId));
    const page = await listItems(db, id, request);
    return c.json(itemList(page.rows.map(toItem), page.hasMore, includeOf(query)));
  });
  routes.get("/:id/items/:item", async (c) => {
    const { id } = await find(c);
    const row = await findItem(db, id, c.req.param("item"));
    if (!row) throw noSuchItem(id, c.req.param("item"));
    return c.json(showItem(toItem(row), includeOf(new URL(c.req.url).searchParams)));
  });
  routes.delete("/:id/items/:item", async (c) => {
    const conversation = await find(c);
    const item = c.req.param("item");
    if (!(await db.write((sql) => deleteItem(sql, conversation.id, item)))) throw noSuchItem(conversation.id, item);
    return c.json(toConversation(conversation));
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

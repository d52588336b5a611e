import { Hono } from "hono";
import { keyOfStore, listStores, type StoreEntry, updateStore } from "../catalog/vector-stores.ts";
import { toDeleted, toList, toStoreObject } from "./codec.ts";
import { filesToAttach } from "./files-to-attach.ts";
import { readStoreExpiry } from "./read-expiry.ts";
import { asArray, asChunking, asMetadata, asString, asText, readFields } from "./read-fields.ts";
import { readListParams, toPageRequest } from "./read-list-params.ts";
import { searchPage } from "./search-page.ts";
import type { WireContext, WireEnv } from "./wire-context.ts";
import { badRequest, noSuchStore, storeExpired } from "./wire-error.ts";

const LIST_LIMITS = { max: 100, usual: 20 };
const MAX_FILES_AT_CREATION = 500;
const CREATE_FIELDS = ["name", "description", "file_ids", "expires_after", "chunking_strategy", "metadata"];

/** Below `/vector_stores`: the stores themselves, and search. */
export function storeRoutes(context: WireContext): Hono<WireEnv> {
  const { catalog, stores } = context;
  const show = async (entry: StoreEntry): Promise<object> => {
    const usage = await context.usage.of(entry.id, await stores.open(entry));
    if (usage.inProgress > 0) await context.processing.takeUp();
    return toStoreObject(entry, usage, stores.isExpired(entry));
  };
  const find = (id: string): Promise<StoreEntry> => findEntry(context, id);
  const routes = new Hono<WireEnv>();
  routes.post("/", async ({ req, json }) => json(await show(await find(await createStore(context, req.raw)))));
  routes.get("/", async ({ req, json }) => {
    const params = readListParams(new URL(req.url).searchParams, LIST_LIMITS);
    const page = await listStores(catalog, await toPageRequest(params, (id) => keyOfStore(catalog, id)));
    const ids = page.rows.map(({ id }) => id);
    const objects: object[] = [];
    // One after the other: every store that is in use is open.
    for (const entry of page.rows) objects.push(await show(entry));
    return json(toList(objects, ids, page.hasMore));
  });
  routes.get("/:id", async ({ req, json }) => json(await show(await find(req.param("id")))));
  routes.post("/:id", async ({ req, json }) => {
    const { id } = await changeStore(context, await findLive(context, req.param("id")), req.raw);
    return json(await show(await find(id)));
  });
  routes.delete("/:id", async ({ req, json }) => {
    const { id } = await find(req.param("id"));
    if (!(await stores.delete(id))) throw noSuchStore(id);
    context.usage.forget(id);
    return json(toDeleted(id, "vector_store.deleted"));
  });
  routes.post("/:id/search", async ({ req, json, env }) => {
    const entry = await findLive(context, req.param("id"));
    return json(await searchPage((query) => context.search(entry.id, query, env.call.by), req.raw));
  });
  return routes;
}

export async function findEntry({ stores }: WireContext, id: string): Promise<StoreEntry> {
  const entry = await stores.entry(id);
  if (!entry) throw noSuchStore(id);
  return entry;
}

/** For everything but looking at the store and deleting it. */
export async function findLive(context: WireContext, id: string): Promise<StoreEntry> {
  const entry = await findEntry(context, id);
  if (context.stores.isExpired(entry)) throw storeExpired(id);
  return entry;
}

async function createStore(context: WireContext, request: Request): Promise<string> {
  const { stores, attachments } = context;
  const fields = await readFields(request, CREATE_FIELDS);
  const text = (name: string): string => asText(fields[name] ?? "", name);
  const chunking = asChunking(fields["chunking_strategy"]);
  const ids = asArray(fields["file_ids"] ?? [], "file_ids").map((id) => asString(id, "file_ids"));
  if (ids.length > MAX_FILES_AT_CREATION) {
    throw badRequest(`'file_ids' has ${ids.length} ids; at most ${MAX_FILES_AT_CREATION} are allowed.`, "file_ids");
  }
  if (fields["chunking_strategy"] != null && ids.length === 0) {
    throw badRequest("'chunking_strategy' is only for the files in 'file_ids'.", "chunking_strategy");
  }
  const asked = {
    name: text("name"),
    description: text("description"),
    metadata: asMetadata(fields["metadata"]),
    expiresAfterDays: readStoreExpiry(fields["expires_after"]),
  };
  const files = await filesToAttach(context, ids);
  const id = await stores.create(asked);
  if (files.length > 0) {
    const attached = files.map((file) => ({ file, attributes: undefined, chunking }));
    await attachments.attach({ id, store: await stores.get(id) }, attached);
  }
  return id;
}

async function changeStore(
  { catalog, nowSeconds }: WireContext,
  entry: StoreEntry,
  request: Request,
): Promise<StoreEntry> {
  const fields = await readFields(request, ["name", "expires_after", "metadata"]);
  const { name, metadata, expires_after: expiry } = fields;
  await updateStore(catalog, entry.id, {
    name: name === undefined ? entry.name : asText(name ?? "", "name"),
    metadata: metadata === undefined ? entry.metadata : asMetadata(metadata),
    expiresAfterDays: expiry === undefined ? entry.expiresAfterDays : readStoreExpiry(expiry),
    lastActiveAt: nowSeconds(),
  });
  return entry;
}

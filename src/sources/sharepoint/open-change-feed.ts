import { RemoteError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { ChangeFeed, ChangesSince, RememberedItem, Sighting } from "../../contracts/source.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { isJsonObject, parseJsonObject } from "../../lib/json-object.ts";
import { createFileReader, type FileReaderOptions } from "./file-reader.ts";
import { findLibrary, type LibraryTarget, scopeOf } from "./find-library.ts";
import { GUID, itemFields, LIBRARY_TOKEN_FIELDS, type LibraryRoot, type Row } from "./library-codec.ts";
import { readItems, windowFilter } from "./read-items.ts";
import { type CallContext, type RestClient, SharePointError } from "./rest-client.ts";
import { pathBelow, type SiteAddress } from "./site-url.ts";

interface LibraryFeed extends FileReaderOptions {
  readonly urlPart: string;
  /** OData, "" for none. */
  readonly filter: string;
  callWith(signal: AbortSignal): CallContext;
  /** Adds advice to the error when the library cannot be read. */
  advise(error: RemoteError): RemoteError;
  /** Called with the library whenever it was found. */
  onFound(library: LibraryRoot): void;
}

/** How often the log may grow while it is read before the feed declines. */
const MAX_ATTEMPTS = 3;

/** Reads the change log of a library. In any doubt the feed declines (undefined) and never guesses. */
export function openChangeFeed(feed: LibraryFeed): ChangeFeed {
  const find = async (call: CallContext): Promise<LibraryTarget> => {
    const target = await findLibrary(feed.rest, feed.site, feed.urlPart, call, LIBRARY_TOKEN_FIELDS);
    feed.onFound(target.library);
    return target;
  };
  return {
    async cursor(signal) {
      try {
        const target = await find(feed.callWith(signal));
        return hidesDrafts(target, feed) ? "" : encodeChangeToken(changeTokenOf(target, feed.filter));
      } catch (error) {
        // A server without a change log rejects the field. since() declines an empty cursor.
        if (error instanceof SharePointError && error.status === 400) return "";
        throw error instanceof RemoteError ? feed.advise(error) : error;
      }
    },
    async since(text, isKnown, signal) {
      const cursor = decodeChangeToken(text);
      if (!cursor) return undefined;
      const call = feed.callWith(signal);
      try {
        for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
          const changes = await readChangesSince({ feed, since: cursor, call, find, isKnown });
          if (changes !== "unstable") return changes;
        }
      } catch (error) {
        // The listing that follows meets the same error and reports it.
        if (!(error instanceof RemoteError)) throw error;
      }
      return undefined;
    },
  };
}

/** Who may see a draft can change without an entry in the log: a source that takes drafts always lists. */
function hidesDrafts({ library }: LibraryTarget, { drafts }: LibraryFeed): boolean {
  return drafts && library.mayHoldDrafts;
}

function changeTokenOf(target: LibraryTarget, filter: string): ChangeToken {
  const { listId, changeToken, itemCount, showing } = target.library;
  return { listId, root: target.root, filter, token: changeToken, itemCount, showing };
}

interface FeedQuery {
  readonly feed: LibraryFeed;
  readonly since: ChangeToken;
  readonly call: CallContext;
  find(call: CallContext): Promise<LibraryTarget>;
  isKnown(item: ItemId): Promise<boolean>;
}

/** Returns "unstable" when the library changed while it was read, so that the results do not fit together. */
async function readChangesSince(query: FeedQuery): Promise<ChangesSince | "unstable" | undefined> {
  const { feed, since: cursor, call } = query;
  const before = await query.find(call);
  if (!isContinuous(cursor, changeTokenOf(before, feed.filter)) || hidesDrafts(before, feed)) return undefined;
  if (before.library.changeToken === cursor.token && before.library.itemCount === cursor.itemCount) {
    return toChangesSince(query, before, { touched: [], gone: [] });
  }
  const log = await readChanges(feed, cursor.listId, cursor.token, call);
  if (!log || (cursor.filter && log.items.length > 0)) return undefined;
  const { rows, folders } = await readCurrentRows(feed, before, log.items, call);
  const after = await query.find(call);
  const later = await readChanges(feed, cursor.listId, log.token, call);
  if (!later || later.items.length > 0) return later && "unstable";
  if (!isContinuous(cursor, changeTokenOf(after, feed.filter))) return undefined;

  const isPresent = (item: TouchedItem): boolean => rows.has(item.itemId);
  const grown = log.items.filter(isPresent).length - log.items.filter((item) => !item.arrived).length;
  if (cursor.itemCount + grown !== after.library.itemCount) return undefined;
  if (log.items.some((item) => item.relocated && folders.has(item.itemId))) return undefined;
  const found = await splitGone(log.items, rows, query);
  return found && toChangesSince(query, after, found);
}

function isContinuous(cursor: ChangeToken, now: ChangeToken): boolean {
  const isSame = (["listId", "root", "filter", "showing"] as const).every((key) => cursor[key] === now[key]);
  return isSame && now.token !== "";
}

interface FoundChanges {
  readonly touched: readonly Sighting[];
  readonly gone: readonly ItemId[];
}

/** Returns undefined when something unknown was removed: it may have been a folder with files below it. */
async function splitGone(
  items: readonly TouchedItem[],
  rows: ReadonlyMap<ItemId, Sighting | undefined>,
  { isKnown }: FeedQuery,
): Promise<FoundChanges | undefined> {
  const touched: Sighting[] = [];
  const gone: ItemId[] = [];
  for (const item of items) {
    const sighting = rows.get(item.itemId);
    if (sighting) touched.push(sighting);
    else if (await isKnown(item.itemId)) gone.push(item.itemId);
    else if (!rows.has(item.itemId) && !item.arrived) return undefined;
  }
  return { touched, gone };
}

function toChangesSince({ feed }: FeedQuery, target: LibraryTarget, found: FoundChanges): ChangesSince {
  const { root } = scopeOf(feed.site, target);
  return {
    cursor: encodeChangeToken(changeTokenOf(target, feed.filter)),
    ...found,
    recall: (item) => recall(item, root),
  };
}

/** Throws for an item that is outside the listed folder. */
function recall(item: RememberedItem, root: string): Sighting {
  const path = pathBelow(root, item.serverPath);
  if (path === undefined) throw new RemoteError(`recall '${item.serverPath}': it does not lie below '${root}'`);
  const { itemId, listItemId, name, serverPath, url, rawUrl, fingerprint } = item;
  const remembered = { itemId, listItemId, name, serverPath, url, rawUrl, fingerprint };
  return { ...remembered, kind: "sighting", path, documentType: fileTypeOf(path), form: "document" };
}

interface CurrentRows {
  /** Items that are in the library now; undefined for folders and for files outside the listed folder. */
  readonly rows: ReadonlyMap<ItemId, Sighting | undefined>;
  readonly folders: ReadonlySet<ItemId>;
}

interface Wanted {
  readonly itemId: ItemId;
  readonly listItemId: number;
}

/** Ids this close together are requested in one query; the rows between them are ignored. */
const MAX_ID_GAP = 20;
const WINDOW = 500;
const CONCURRENCY = 4;

/**
 * Reads the current rows of these items, in windows of ids, with the same query as the listing: an item that the listing
 * would not show is not returned either. Throws for an invalid row.
 */
async function readCurrentRows(
  options: FileReaderOptions,
  target: LibraryTarget,
  items: readonly Wanted[],
  call: CallContext,
): Promise<CurrentRows> {
  const reader = createFileReader(target.library, options);
  const wantedIds = new Set(items.map((item) => item.itemId));
  const rows = new Map<ItemId, Sighting | undefined>();
  const folders = new Set<ItemId>();
  const addRow = (row: Row): void => {
    if (row.key && !wantedIds.has(row.key as ItemId)) return;
    if (row.kind === "invalid") throw new RemoteError(`look up what changed: ${row.unreadable.reason}`);
    rows.set(row.key as ItemId, row.kind === "file" ? row.sighting : undefined);
    if (row.kind === "ignored" && row.folder) folders.add(row.key as ItemId);
  };
  await forEachConcurrent(toIdWindows(items.map((item) => item.listItemId)), CONCURRENCY, async ({ first, last }) => {
    const filter = windowFilter("", first - 1, last);
    const query = { ...options, listId: target.library.listId, filter, pageSize: WINDOW, call };
    const rowsInWindow = await readWithTag((fields) => readAll({ ...query, fields }));
    for (const response of rowsInWindow) addRow(reader.decode(response, scopeOf(options.site, target)));
  });
  const found = [...rows.values()].filter((sighting) => sighting !== undefined);
  for (const listed of await reader.resolvePublished(found, call)) {
    if (listed.kind !== "sighting") throw new RemoteError(`look up what changed: ${listed.reason}`);
    rows.set(listed.itemId, listed);
  }
  return { rows, folders };
}

async function readAll(query: Parameters<typeof readItems>[0]): Promise<unknown[]> {
  const rows: unknown[] = [];
  for await (const page of readItems(query, (listed) => listed)) rows.push(...page);
  return rows;
}

/** Retries without the content tag, as the listing does: some servers have none. */
async function readWithTag<T>(read: (fields: string) => Promise<T>): Promise<T> {
  try {
    return await read(itemFields({ contentTag: true }));
  } catch (error) {
    if (!(error instanceof SharePointError) || error.status !== 400) throw error;
    return await read(itemFields({ contentTag: false }));
  }
}

function toIdWindows(ids: readonly number[]): { readonly first: number; readonly last: number }[] {
  const sorted = ids.toSorted((a, b) => a - b);
  const found: { first: number; last: number }[] = [];
  for (const id of sorted) {
    const open = found.at(-1);
    if (open && id - open.last <= MAX_ID_GAP && id - open.first < WINDOW) open.last = id;
    else found.push({ first: id, last: id });
  }
  return found;
}

/** All entries of the log about one item, combined. */
interface TouchedItem {
  readonly itemId: ItemId;
  /** The latest one: an item that left the library and came back has a new one. */
  readonly listItemId: number;
  /** It was not in the library where the log begins. */
  readonly arrived: boolean;
  readonly relocated: boolean;
}

interface ChangeLog {
  readonly items: readonly TouchedItem[];
  /** Where the log ends. */
  readonly token: string;
}

const FETCH_LIMIT = 1000;
/** Beyond these limits listing is cheaper and safer. */
const MAX_ITEMS = 500;
const MAX_PAGES = 20;

/** Reads the log to its end. Returns undefined when there are too many changes, or when the log does not advance. */
async function readChanges(
  options: { readonly rest: RestClient; readonly site: SiteAddress },
  listId: string,
  from: string,
  call: CallContext,
): Promise<ChangeLog | undefined> {
  const url = `${options.site.api}web/lists(guid'${encodeURIComponent(listId)}')/GetChanges`;
  const items = new Map<ItemId, TouchedItem>();
  let token = from;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const changes = decodeChanges(await options.rest.postJson(url, changesQuery(token, FETCH_LIMIT), call));
    if (changes.token === "") return { items: [...items.values()], token };
    for (const { itemId, listItemId, arrives, relocates } of changes.items) {
      const known = items.get(itemId);
      const relocated = relocates || (known?.relocated ?? false);
      items.set(itemId, { itemId, listItemId, arrived: known?.arrived ?? arrives, relocated });
    }
    if (changes.token === token || items.size > MAX_ITEMS) return undefined;
    token = changes.token;
  }
  return undefined;
}

/** The state of a library at the last listing, stored as JSON. */
interface ChangeToken {
  readonly listId: string;
  readonly root: string;
  readonly filter: string;
  readonly token: string;
  readonly itemCount: number;
  /** The library's settings that decide what is shown. */
  readonly showing: string;
}

/** Version 1 had no `showing`. */
const VERSION = 2;

function encodeChangeToken(cursor: ChangeToken): string {
  return JSON.stringify({ version: VERSION, ...cursor });
}

/** Returns undefined for a token of another version, or none. */
function decodeChangeToken(text: string): ChangeToken | undefined {
  const value = parseJsonObject(text);
  if (value?.["version"] !== VERSION) return undefined;
  const { listId, root, filter, token, itemCount, showing } = value;
  if (typeof listId !== "string" || typeof root !== "string" || typeof filter !== "string") return undefined;
  if (typeof token !== "string" || token === "" || typeof itemCount !== "number") return undefined;
  return { listId, root, filter, token, itemCount, showing: typeof showing === "string" ? showing : "" };
}

/** One entry of the log: an item was changed. It does not tell how the item is now. */
interface LoggedChange {
  readonly itemId: ItemId;
  readonly listItemId: number;
  /** The item was not in the library before. */
  readonly arrives: boolean;
  /** On a folder it changes the paths of everything below, for which the log has no entries. */
  readonly relocates: boolean;
}

const ADD = 1;
const UPDATE = 2;
const DELETE = 3;
const RENAME = 4;
const MOVE_AWAY = 5;
const MOVE_INTO = 6;
const RESTORE = 7;
const SYSTEM_UPDATE = 15;
const KNOWN_TYPES = new Set<unknown>([ADD, UPDATE, DELETE, RENAME, MOVE_AWAY, MOVE_INTO, RESTORE, SYSTEM_UPDATE]);
const ARRIVING = new Set<unknown>([ADD, MOVE_INTO, RESTORE]);
const RELOCATING = new Set<unknown>([RENAME, MOVE_AWAY, MOVE_INTO, RESTORE]);

/** Changes of rights. They change which items we are shown, and do not name those items. */
const RIGHTS = new Set<unknown>([8, 9, 10, 11, 12, 13, 14, 17, 18]);

function changesQuery(token: string, limit: number): unknown {
  const objects = { Item: true, File: true, Folder: true, List: true, RecursiveAll: true };
  const verbs = {
    Add: true,
    Update: true,
    DeleteObject: true,
    Rename: true,
    Move: true,
    Restore: true,
    SystemUpdate: true,
    RoleAssignmentAdd: true,
    RoleAssignmentDelete: true,
    RoleDefinitionAdd: true,
    RoleDefinitionDelete: true,
    RoleDefinitionUpdate: true,
  };
  return { query: { ...objects, ...verbs, FetchLimit: limit, ChangeTokenStart: { StringValue: token } } };
}

interface ChangePage {
  readonly items: readonly LoggedChange[];
  /** The token of the last entry; "" on an empty page. */
  readonly token: string;
}

/** Throws RemoteError for any entry it does not understand. */
function decodeChanges(response: Record<string, unknown>): ChangePage {
  const rows = response["value"];
  if (!Array.isArray(rows)) throw new RemoteError("SharePoint's answer is not a page of changes");
  return {
    items: rows.filter((row) => !isOfList(row)).map(decodeChange),
    token: rows.length > 0 ? positionOf(rows.at(-1)) : "",
  };
}

/** An edit of the list itself. The parts that matter are in the description of the library. */
function isOfList(row: unknown): boolean {
  const { ItemId, UniqueId, ListId, ChangeType } = isJsonObject(row) ? row : {};
  return ChangeType === UPDATE && typeof ListId === "string" && !ItemId && !UniqueId;
}

function positionOf(row: unknown): string {
  const token = isJsonObject(row) ? row["ChangeToken"] : undefined;
  const position = isJsonObject(token) ? token["StringValue"] : undefined;
  if (typeof position !== "string") throw new RemoteError("the change log has a change that does not say where it is");
  return position;
}

function decodeChange(row: unknown): LoggedChange {
  const { ChangeType: type, ItemId: listItemId, UniqueId: id } = isJsonObject(row) ? row : {};
  const key = typeof id === "string" ? id.replaceAll(/[{}]/g, "").toLowerCase() : "";
  if (RIGHTS.has(type)) throw new RemoteError("rights were changed");
  if (!KNOWN_TYPES.has(type)) throw new RemoteError(`the change log has a change of the unknown type ${String(type)}`);
  if (!GUID.test(key) || !Number.isInteger(listItemId) || Number(listItemId) < 1) {
    throw new RemoteError("the change log has a change that does not say what it is about");
  }
  return {
    itemId: key as ItemId,
    listItemId: Number(listItemId),
    arrives: ARRIVING.has(type),
    relocates: RELOCATING.has(type),
  };
}

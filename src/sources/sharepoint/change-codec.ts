import { RemoteError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import { isObject } from "./error-body.ts";
import { GUID } from "./library-codec.ts";

/** SharePoint's change log (GetChanges) and the mark we keep of it, in our words. */

/** Where a library stood when we last looked. */
export interface Mark {
  readonly listId: string;
  readonly root: string;
  readonly filter: string;
  readonly token: string;
  readonly itemCount: number;
  /** The library's settings that decide what is shown. */
  readonly showing: string;
}

/** One of version 1 says nothing about what is shown. */
const VERSION = 2;

export function encodeMark(mark: Mark): string {
  return JSON.stringify({ version: VERSION, ...mark });
}

/** undefined: a mark of another kind, or none at all. */
export function decodeMark(text: string): Mark | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || value["version"] !== VERSION) return undefined;
  const { listId, root, filter, token, itemCount, showing } = value;
  if (typeof listId !== "string" || typeof root !== "string" || typeof filter !== "string") return undefined;
  if (typeof token !== "string" || token === "" || typeof itemCount !== "number") return undefined;
  return { listId, root, filter, token, itemCount, showing: typeof showing === "string" ? showing : "" };
}

/** One entry of the log: something happened to an item. It says nothing about how the item is now. */
export interface LoggedChange {
  readonly itemId: ItemId;
  readonly listItemId: number;
  /** Items that come with it were not in the library before; the others were. */
  readonly arrives: boolean;
  /** On a folder it changes the paths of everything below, of which the log says nothing. */
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
const KNOWN = new Set<unknown>([ADD, UPDATE, DELETE, RENAME, MOVE_AWAY, MOVE_INTO, RESTORE, SYSTEM_UPDATE]);
const ARRIVING = new Set<unknown>([ADD, MOVE_INTO, RESTORE]);
const RELOCATING = new Set<unknown>([RENAME, MOVE_AWAY, MOVE_INTO, RESTORE]);

/** Changes of rights. They move the line between what we are shown and what we are not, and name no item that crossed it. */
const RIGHTS = new Set<unknown>([8, 9, 10, 11, 12, 13, 14, 17, 18]);

export function changesQuery(token: string, limit: number): unknown {
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

export interface ChangePage {
  readonly items: readonly LoggedChange[];
  /** Of the last entry; "" on an empty page. */
  readonly token: string;
}

/** Throws RemoteError for anything it does not understand: a log that is half understood is not understood. */
export function decodeChanges(answer: Record<string, unknown>): ChangePage {
  const rows = answer["value"];
  if (!Array.isArray(rows)) throw new RemoteError("SharePoint's answer is not a page of changes");
  return {
    items: rows.filter((row) => !isOfList(row)).map(decodeChange),
    token: rows.length > 0 ? tokenOf(rows.at(-1)) : "",
  };
}

/** An edit of the list itself. What of that matters to us, its description says. */
function isOfList(row: unknown): boolean {
  const { ItemId, UniqueId, ListId, ChangeType } = isObject(row) ? row : {};
  return ChangeType === UPDATE && typeof ListId === "string" && !ItemId && !UniqueId;
}

function tokenOf(row: unknown): string {
  const token = isObject(row) ? row["ChangeToken"] : undefined;
  const position = isObject(token) ? token["StringValue"] : undefined;
  if (typeof position !== "string") throw new RemoteError("the change log has a change that does not say where it is");
  return position;
}

function decodeChange(row: unknown): LoggedChange {
  const { ChangeType: type, ItemId: listItemId, UniqueId: id } = isObject(row) ? row : {};
  const key = typeof id === "string" ? id.replaceAll(/[{}]/g, "").toLowerCase() : "";
  if (RIGHTS.has(type)) throw new RemoteError("rights were changed");
  if (!KNOWN.has(type)) throw new RemoteError(`the change log has a change of the unknown type ${String(type)}`);
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

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
}

export function encodeMark(mark: Mark): string {
  return JSON.stringify({ version: 1, ...mark });
}

/** undefined: a mark of another kind, or none at all. */
export function decodeMark(text: string): Mark | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || value["version"] !== 1) return undefined;
  const { listId, root, filter, token, itemCount } = value;
  if (typeof listId !== "string" || typeof root !== "string" || typeof filter !== "string") return undefined;
  if (typeof token !== "string" || token === "" || typeof itemCount !== "number") return undefined;
  return { listId, root, filter, token, itemCount };
}

/** One entry of the log: something happened to an item. It says nothing about how the item is now. */
export interface LoggedChange {
  readonly token: string;
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

export function changesQuery(token: string, limit: number): unknown {
  const objects = { Item: true, File: true, Folder: true, RecursiveAll: true };
  const verbs = {
    Add: true,
    Update: true,
    DeleteObject: true,
    Rename: true,
    Move: true,
    Restore: true,
    SystemUpdate: true,
  };
  return { query: { ...objects, ...verbs, FetchLimit: limit, ChangeTokenStart: { StringValue: token } } };
}

/** Throws RemoteError for anything it does not understand: a log that is half understood is not understood. */
export function decodeChanges(answer: Record<string, unknown>): LoggedChange[] {
  const rows = answer["value"];
  if (!Array.isArray(rows)) throw new RemoteError("SharePoint's answer is not a page of changes");
  return rows.map(decodeChange);
}

function decodeChange(row: unknown): LoggedChange {
  const { ChangeToken: token, ChangeType: type, ItemId: listItemId, UniqueId: id } = isObject(row) ? row : {};
  const key = typeof id === "string" ? id.replaceAll(/[{}]/g, "").toLowerCase() : "";
  const position = isObject(token) ? token["StringValue"] : undefined;
  if (!KNOWN.has(type)) throw new RemoteError(`the change log has a change of the unknown type ${String(type)}`);
  if (!GUID.test(key) || typeof position !== "string" || !Number.isInteger(listItemId) || Number(listItemId) < 1) {
    throw new RemoteError("the change log has a change that does not say what it is about");
  }
  return {
    token: position,
    itemId: key as ItemId,
    listItemId: Number(listItemId),
    arrives: ARRIVING.has(type),
    relocates: RELOCATING.has(type),
  };
}

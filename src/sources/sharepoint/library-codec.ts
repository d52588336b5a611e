import { RemoteError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { Sighting, Unreadable } from "../../contracts/source.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { isJsonObject } from "../../lib/json-object.ts";
import { toInstant } from "../../lib/time.ts";
import { encodePath, pathBelow } from "./site-url.ts";

/** Decodes SharePoint's JSON (nometadata) about libraries and files. */

export interface LibraryRoot {
  readonly listId: string;
  readonly title: string;
  /** As the server spells it, without a trailing slash. */
  readonly path: string;
  /** Files and folders on all levels. */
  readonly itemCount: number;
  /** The current position of its change log; "" unless requested and returned. */
  readonly changeToken: string;
  /** Files may have versions that readers do not see. */
  readonly mayHoldDrafts: boolean;
  /** Versions wait for approval. */
  readonly isModerated: boolean;
  /** The settings that decide which versions are shown, as one string to compare: the change log has no entry for them. */
  readonly showing: string;
}

export const WEB_FIELDS = "Title,Url,ServerRelativeUrl";
const SHOWING_FIELDS = ["EnableMinorVersions", "EnableModeration", "ForceCheckout", "DraftVersionVisibility"];
export const LIBRARY_FIELDS = `Id,Title,BaseType,ItemCount,RootFolder/ServerRelativeUrl,${SHOWING_FIELDS.join()}`;
export const LIBRARY_TOKEN_FIELDS = `${LIBRARY_FIELDS},CurrentChangeToken`;
const ITEM_FIELDS = [
  "Id,UniqueId,FileSystemObjectType,FileRef,FileLeafRef",
  "File/UniqueId,File/Name,File/Length,File/ServerRelativeUrl,File/TimeLastModified,File/ETag,File/Level,File/UIVersion",
].join();
const CONTENT_TAG = "File/ContentTag";

/** Returns `$select` and `$expand` of a request for items. */
export function itemFields(options: { readonly contentTag: boolean; readonly columns?: readonly string[] }): string {
  const further = [...(options.contentTag ? [CONTENT_TAG] : []), ...(options.columns ?? [])];
  return `$select=${[ITEM_FIELDS, ...further].join()}&$expand=File`;
}

/** "" for the root site, as in our own paths. */
export function decodeWebPath(response: Record<string, unknown>): string {
  const path = response["ServerRelativeUrl"];
  if (typeof path !== "string") throw new RemoteError("SharePoint did not say which site it is");
  return path.replace(/\/+$/, "");
}

export function decodeLibrary(response: Record<string, unknown>): LibraryRoot {
  const root = response["RootFolder"];
  const path = isJsonObject(root) ? root["ServerRelativeUrl"] : undefined;
  const { Id: listId, Title: title, ItemCount: itemCount } = response;
  if (typeof listId !== "string" || typeof path !== "string" || typeof itemCount !== "number") {
    throw new RemoteError("SharePoint's description of the library lacks its id, its folder or its item count");
  }
  if ((response["BaseType"] ?? LIBRARY) !== LIBRARY)
    throw new RemoteError(`'${path}' is a list, not a document library`);
  const token = response["CurrentChangeToken"];
  return {
    listId,
    title: text(title),
    path: path.replace(/\/+$/, ""),
    itemCount,
    changeToken: isJsonObject(token) ? text(token["StringValue"]) : "",
    mayHoldDrafts: ["EnableMinorVersions", "EnableModeration", "ForceCheckout"].some((name) => response[name] === true),
    isModerated: response["EnableModeration"] === true,
    showing: JSON.stringify(SHOWING_FIELDS.map((name) => response[name] ?? null)),
  };
}

/** Query of a request for the lists of a site. */
export const LIBRARY_PATHS_QUERY = "$select=BaseType,Hidden,RootFolder/ServerRelativeUrl&$expand=RootFolder";

export function decodeLibraryPaths(response: Record<string, unknown>): string[] {
  return decodePage(response).rows.flatMap((row) => {
    if (!isJsonObject(row) || row["BaseType"] !== LIBRARY || row["Hidden"] === true) return [];
    return isJsonObject(row["RootFolder"]) ? text(row["RootFolder"]["ServerRelativeUrl"]) || [] : [];
  });
}

/** A value of SharePoint's `BaseType`; 0 is a list. */
const LIBRARY = 1;

/** For a missing folder, SharePoint returns 404 or this flag. */
export function decodeFolderExists(response: Record<string, unknown>): boolean {
  return response["Exists"] !== false;
}

export interface ItemPage {
  readonly rows: readonly unknown[];
  /** "" on the last page. */
  readonly nextLink: string;
}

export function decodePage(response: Record<string, unknown>): ItemPage {
  const rows = response["value"];
  const nextLink = response["odata.nextLink"] ?? response["@odata.nextLink"] ?? "";
  if (!Array.isArray(rows) || typeof nextLink !== "string") {
    throw new RemoteError("SharePoint's answer is not a page of items");
  }
  return { rows, nextLink };
}

export type Row =
  | { readonly kind: "file"; readonly key: string; readonly sighting: Sighting }
  /** A folder, or a file outside the listed folder. It counts as a row, but is no item. */
  | { readonly kind: "ignored"; readonly key: string; readonly folder: boolean }
  | { readonly kind: "invalid"; readonly key: string; readonly unreadable: Unreadable };

/** The listed library and folder. */
export interface LibraryScope {
  readonly origin: string;
  /** The path of the library. */
  readonly library: string;
  /** The same, or the path of the listed folder. */
  readonly root: string;
}

/** Returns the id of a row, whichever columns were requested, or "". */
export function rowKey(row: unknown): string {
  if (!isJsonObject(row)) return "";
  const id = text(row["UniqueId"]) || (isJsonObject(row["File"]) ? text(row["File"]["UniqueId"]) : "");
  // Every row is asked twice, and most ids are as they should be.
  return GUID.test(id) ? id : id.replaceAll(/[{}]/g, "").toLowerCase();
}

export function decodeRow(row: unknown, scope: LibraryScope): Row {
  const { origin, library, root } = scope;
  if (!isJsonObject(row)) return invalidRow("", "", "a row is not an object");
  const file = isJsonObject(row["File"]) ? row["File"] : undefined;
  const key = rowKey(row);
  const serverPath = text(row["FileRef"]) || text(file?.["ServerRelativeUrl"]);
  if (row["FileSystemObjectType"] === 1) return { kind: "ignored", key, folder: true };
  if (pathBelow(library, serverPath) === undefined) {
    return invalidRow(key, "", `the row of item ${key || "without id"} has no path in the library ('${serverPath}')`);
  }
  const path = pathBelow(root, serverPath);
  if (path === undefined) return { kind: "ignored", key, folder: false };
  if (!GUID.test(key)) return invalidRow(key, path, "the row has no usable id");
  const size = Number(text(file?.["Length"]) || Number.NaN);
  const modifiedAt = readTime(text(file?.["TimeLastModified"]));
  if (!file || !Number.isSafeInteger(size) || modifiedAt === "") {
    return invalidRow(key, path, "the row does not tell size and time of the file");
  }
  return {
    kind: "file",
    key,
    sighting: {
      kind: "sighting",
      itemId: key as ItemId,
      listItemId: typeof row["Id"] === "number" ? row["Id"] : 0,
      name: text(row["FileLeafRef"]) || path.slice(path.lastIndexOf("/") + 1),
      path,
      serverPath,
      url: `${origin}${encodePath(serverPath)}`,
      rawUrl: `${origin}${serverPath}`,
      documentType: fileTypeOf(path),
      form: "document",
      fingerprint: {
        size,
        modifiedAt,
        etag: text(file["ETag"]),
        contentVersion: contentVersion(text(file["ContentTag"])),
      },
    },
  };
}

/** Returns "" for an invalid time. Whole seconds, as SharePoint writes them, are converted without parsing. */
export function readTime(time: string): string {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(time) ? `${time.slice(0, -1)}.000000Z` : toInstant(time);
}

export const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function invalidRow(key: string, path: string, reason: string): Row {
  const item = GUID.test(key) ? { itemId: key as ItemId } : {};
  return { kind: "invalid", key, unreadable: { kind: "unreadable", path, ...item, reason } };
}

/** `{GUID},3,1`: the first number counts every touch, the second the content alone. */
function contentVersion(tag: string): string {
  return /^"?\{[^}]*\},\d+,(\d+)"?$/.exec(tag)?.[1] ?? "";
}

/** SharePoint writes 64-bit numbers as strings; plain numbers are accepted, too. */
function text(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
}

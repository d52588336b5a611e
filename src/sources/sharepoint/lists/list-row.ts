import { createHash } from "node:crypto";
import type { ItemId } from "../../../contracts/ids.ts";
import type { Sighting, Unreadable } from "../../../contracts/source.ts";
import { fileTypeOf } from "../../../lib/file-type.ts";
import { toUtcMicros } from "../../../lib/time.ts";
import { isObject } from "../error-body.ts";
import { encodePath } from "../escaping.ts";
import { GUID } from "../library-codec.ts";
import { columnText, type KnownTexts } from "./column-text.ts";
import { TOUCH_COUNT, VERSION_LABEL } from "./field-groups.ts";
import { text } from "./list-codec.ts";
import type { Column } from "./list-columns.ts";
import { rowMarkdown } from "./row-markdown.ts";

/** What the rows of a listing have in common. */
export interface RowPlace {
  readonly origin: string;
  /** The path of the list's root folder. */
  readonly root: string;
  /** The list as its documents call it. */
  readonly title: string;
  readonly columns: readonly Column[];
  /** Whether attachments were asked for. */
  readonly attachments: boolean;
}

export type RawRow = Readonly<Record<string, unknown>>;

export interface ItemRow {
  readonly id: number;
  /** Of its line in the export. */
  readonly cells: readonly string[];
  /** The row itself, then its attachments. */
  readonly found: readonly (Sighting | Unreadable)[];
}

/** The list item id of a row; undefined when it makes no sense. */
export function listItemIdOf(row: RawRow): number | undefined {
  const id = row["Id"] ?? row["ID"];
  return typeof id === "number" && Number.isSafeInteger(id) && id > 0 ? id : undefined;
}

export function isFolder(row: RawRow): boolean {
  return row["FileSystemObjectType"] === 1;
}

/** "" when the row has none. */
export function uniqueIdOf(row: RawRow): string {
  const id = text(row["UniqueId"]).replaceAll(/[{}]/g, "").toLowerCase();
  return GUID.test(id) ? id : "";
}

export function decodeItem(id: number, row: RawRow, place: RowPlace, known: KnownTexts): ItemRow | Unreadable[] {
  const uniqueId = uniqueIdOf(row);
  const modifiedAt = toInstant(text(row["Modified"]));
  if (!uniqueId || !modifiedAt) return unreadableItem(id, uniqueId, "the row does not tell its id and time");
  const cells = place.columns.map((column, at) => (at === 0 ? String(id) : columnText(column, row, known)));
  const touched = { size: 0, modifiedAt, etag: versionOf(row) };
  const address = `${place.root}/DispForm.aspx`;
  const sighting: Sighting = {
    kind: "sighting",
    itemId: uniqueId as ItemId,
    listItemId: id,
    name: `${id}.md`,
    path: `${id}.md`,
    serverPath: text(row["FileRef"]) || `${place.root}/${id}_.000`,
    url: `${place.origin}${encodePath(address)}?ID=${id}`,
    rawUrl: `${place.origin}${address}?ID=${id}`,
    documentType: "md",
    form: "row",
    fingerprint: { ...touched, contentVersion: contentVersion(place, cells) },
  };
  return { id, cells, found: [sighting, ...attachmentsOf(sighting, row, place)] };
}

/**
 * Whatever is known of the item, its attachments included, is kept. What is known is told by its place at the source.
 * Without an id nobody can tell which item this is, so any may be missing.
 */
function unreadableItem(id: number, uniqueId: string, reason: string): Unreadable[] {
  if (!uniqueId) return [{ kind: "unreadable", path: "", reason: `row ${id}: ${reason}` }];
  return [
    { kind: "unreadable", path: `${id}_.000`, itemId: uniqueId as ItemId, reason },
    { kind: "unreadable", path: attachmentFolder(id), reason },
  ];
}

/** Where SharePoint keeps the attachments of an item, below the list. */
function attachmentFolder(id: number): string {
  return `Attachments/${id}`;
}

/** What the document says: a looked-up text or a column's title can change without a touch of the item. */
function contentVersion(place: RowPlace, cells: readonly string[]): string {
  const titles = place.columns.map((column) => column.heading);
  return createHash("sha256")
    .update(rowMarkdown(place.title, titles, cells))
    .digest("hex")
    .slice(0, 32);
}

/** "" when the list tells neither; then the time has to do. */
function versionOf(row: RawRow): string {
  const version = row[TOUCH_COUNT] ?? row[VERSION_LABEL];
  return typeof version === "number" || (typeof version === "string" && version !== "") ? `"${version}"` : "";
}

function attachmentsOf(item: Sighting, row: RawRow, place: RowPlace): (Sighting | Unreadable)[] {
  if (!place.attachments) return [];
  const folder = attachmentFolder(item.listItemId);
  const value = row["AttachmentFiles"];
  const files: unknown = isObject(value) ? value["results"] : value;
  if (!Array.isArray(files)) {
    return [{ kind: "unreadable", path: folder, reason: "SharePoint did not tell the attachments of the item" }];
  }
  return files.map((file: unknown) => {
    const name = isObject(file) ? text(file["FileName"]) : "";
    const serverPath = isObject(file) ? attachmentPath(file) : "";
    if (name === "" || name.includes("/") || serverPath === "") {
      return { kind: "unreadable", path: folder, reason: "an attachment has no usable name or place" };
    }
    return {
      ...item,
      itemId: `${item.itemId}/${name}` as ItemId,
      name,
      path: `attachments/${item.listItemId}/${name}`,
      serverPath,
      url: `${place.origin}${encodePath(serverPath)}`,
      rawUrl: `${place.origin}${serverPath}`,
      documentType: fileTypeOf(name),
      form: "document",
      fingerprint: { ...item.fingerprint, contentVersion: "" },
    };
  });
}

function attachmentPath(file: Readonly<Record<string, unknown>>): string {
  const path = file["ServerRelativePath"];
  return (isObject(path) ? text(path["DecodedUrl"]) : "") || text(file["ServerRelativeUrl"]);
}

/** "" when it is none. */
function toInstant(time: string): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? "" : toUtcMicros(date);
}

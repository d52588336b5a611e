import type { ItemId } from "../../../contracts/ids.ts";
import type { Sighting, Unreadable } from "../../../contracts/source.ts";
import { fileTypeOf } from "../../../lib/file-type.ts";
import { sha256Of } from "../../../lib/hash.ts";
import { BLOCK_TAGS, type HtmlNode, parseHtml } from "../../../lib/html.ts";
import { isJsonObject } from "../../../lib/json-object.ts";
import { toInstant } from "../../../lib/time.ts";
import { GUID } from "../library-codec.ts";
import { encodePath } from "../site-url.ts";
import { isLookup, SHOWN_TEXTS, shownField, TOUCH_COUNT, VERSION_LABEL } from "./field-groups.ts";
import { text } from "./find-list.ts";
import type { Column } from "./list-columns.ts";
import { rowMarkdown } from "./list-converter.ts";

/** Common to all rows of a listing. */
export interface RowContext {
  readonly origin: string;
  /** The path of the list's root folder. */
  readonly root: string;
  /** The list's title in its documents. */
  readonly title: string;
  readonly columns: readonly Column[];
  /** Whether attachments were requested. */
  readonly attachments: boolean;
}

export type RawRow = Readonly<Record<string, unknown>>;

interface ItemRow {
  readonly id: number;
  /** Cells of its row in the export. */
  readonly cells: readonly string[];
  /** The item, then its attachments. */
  readonly found: readonly (Sighting | Unreadable)[];
}

/** Returns the list item id of a row; undefined if it is invalid. */
export function listItemIdOf(row: RawRow): number | undefined {
  const id = row["Id"] ?? row["ID"];
  return typeof id === "number" && Number.isSafeInteger(id) && id > 0 ? id : undefined;
}

export function isFolder(row: RawRow): boolean {
  return row["FileSystemObjectType"] === 1;
}

/** Returns "" if the row has none. */
export function uniqueIdOf(row: RawRow): string {
  const id = text(row["UniqueId"]).replaceAll(/[{}]/g, "").toLowerCase();
  return GUID.test(id) ? id : "";
}

export function decodeItem(id: number, row: RawRow, context: RowContext, texts: LookupTexts): ItemRow | Unreadable[] {
  const uniqueId = uniqueIdOf(row);
  const modifiedAt = toInstant(text(row["Modified"]));
  if (!uniqueId || !modifiedAt) return unreadableItem(id, uniqueId, "the row does not tell its id and time");
  const cells = context.columns.map((column, at) => (at === 0 ? String(id) : columnText(column, row, texts)));
  const touched = { size: 0, modifiedAt, etag: versionOf(row) };
  const address = `${context.root}/DispForm.aspx`;
  const sighting: Sighting = {
    kind: "sighting",
    itemId: uniqueId as ItemId,
    listItemId: id,
    name: `${id}.md`,
    path: `${id}.md`,
    serverPath: text(row["FileRef"]) || `${context.root}/${id}_.000`,
    url: `${context.origin}${encodePath(address)}?ID=${id}`,
    rawUrl: `${context.origin}${address}?ID=${id}`,
    documentType: "md",
    form: "row",
    fingerprint: { ...touched, contentVersion: contentVersion(context, cells) },
  };
  return { id, cells, found: [sighting, ...attachmentsOf(sighting, row, context)] };
}

/**
 * Marks an item and its attachments as unreadable, so that they are kept; they are found by their server path. Without an
 * id it is unknown which item this is, so the whole listing counts as incomplete.
 */
function unreadableItem(id: number, uniqueId: string, reason: string): Unreadable[] {
  if (!uniqueId) return [{ kind: "unreadable", path: "", reason: `row ${id}: ${reason}` }];
  return [
    { kind: "unreadable", path: `${id}_.000`, itemId: uniqueId as ItemId, reason },
    { kind: "unreadable", path: attachmentFolder(id), reason },
  ];
}

/** The attachment folder of an item, below the list. */
function attachmentFolder(id: number): string {
  return `Attachments/${id}`;
}

/** Hash of the document: a looked-up text or a column title can change without an edit of the item. */
function contentVersion(context: RowContext, cells: readonly string[]): string {
  const titles = context.columns.map((column) => column.heading);
  return sha256Of(rowMarkdown(context.title, titles, cells)).slice(0, 32);
}

/** Returns "" if the list has neither column; then only the modified time shows changes. */
function versionOf(row: RawRow): string {
  const version = row[TOUCH_COUNT] ?? row[VERSION_LABEL];
  return typeof version === "number" || (typeof version === "string" && version !== "") ? `"${version}"` : "";
}

function attachmentsOf(item: Sighting, row: RawRow, context: RowContext): (Sighting | Unreadable)[] {
  if (!context.attachments) return [];
  const folder = attachmentFolder(item.listItemId);
  const value = row["AttachmentFiles"];
  const files: unknown = isJsonObject(value) ? value["results"] : value;
  if (!Array.isArray(files)) {
    return [{ kind: "unreadable", path: folder, reason: "SharePoint did not tell the attachments of the item" }];
  }
  return files.map((file: unknown) => {
    const name = isJsonObject(file) ? text(file["FileName"]) : "";
    const serverPath = isJsonObject(file) ? attachmentPath(file) : "";
    if (name === "" || name.includes("/") || serverPath === "") {
      return { kind: "unreadable", path: folder, reason: "an attachment has no usable name or place" };
    }
    return {
      ...item,
      itemId: `${item.itemId}/${name}` as ItemId,
      name,
      path: `attachments/${item.listItemId}/${name}`,
      serverPath,
      url: `${context.origin}${encodePath(serverPath)}`,
      rawUrl: `${context.origin}${serverPath}`,
      documentType: fileTypeOf(name),
      form: "document",
      fingerprint: { ...item.fingerprint, contentVersion: "" },
    };
  });
}

function attachmentPath(file: Readonly<Record<string, unknown>>): string {
  const path = file["ServerRelativePath"];
  return (isJsonObject(path) ? text(path["DecodedUrl"]) : "") || text(file["ServerRelativeUrl"]);
}

/** Texts that rows do not contain. */
interface LookupTexts {
  /** Labels of terms by the number that single-valued columns have instead. */
  readonly terms: ReadonlyMap<number, string>;
  /** E-mail addresses by user id. */
  readonly emails: ReadonlyMap<number, string>;
}

/** Returns the displayed text of a column, "" for none. */
export function columnText(column: Column, row: Readonly<Record<string, unknown>>, texts: LookupTexts): string {
  const value = column.property === "" ? undefined : row[column.property];
  if (value === undefined && isLookup(column)) return wellFormed(shownLookup(row, column));
  if (value === null || value === undefined) return "";
  const render = RENDERERS[column.type] ?? plainText;
  return wellFormed(render(value, column, texts));
}

type Renderer = (value: unknown, column: Column, texts: LookupTexts) => string;

const RENDERERS: Readonly<Record<string, Renderer>> = {
  DateTime: (value, column) => (column.dateOnly ? dayText(text(value)) : instantText(text(value))),
  Note: (value, column) => (isRich(text(value), column) ? noteText(text(value)) : text(value)),
  HTML: (value) => noteText(text(value)),
  URL: (value) => (isJsonObject(value) ? text(value["Url"]) : text(value)),
  MultiChoice: (value) => each(value, plainText, "|"),
  User: (value, _, texts) => each(value, (one) => personText(one, texts), "; "),
  UserMulti: (value, _, texts) => each(value, (one) => personText(one, texts), "; "),
  Lookup: (value, column) => each(value, (one) => lookupText(one, column), "|"),
  LookupMulti: (value, column) => each(value, (one) => lookupText(one, column), "|"),
  TaxonomyFieldType: (value, _, texts) => each(value, (one) => termText(one, texts), "|"),
  TaxonomyFieldTypeMulti: (value, _, texts) => each(value, (one) => termText(one, texts), "|"),
  Calculated: (value) => calculatedText(value),
  Thumbnail: (value) => nameInJson(text(value), "fileName"),
  Location: (value) => nameInJson(text(value), "DisplayName"),
  Geolocation: (value) => (isJsonObject(value) ? `${value["Latitude"]}, ${value["Longitude"]}` : ""),
};

function plainText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value) || isResults(value)) return each(value, plainText, "|");
  return isJsonObject(value) ? text(value["Label"]) || text(value["Title"]) || text(value["Url"]) : "";
}

/** Renders one or several values, in SharePoint's order. */
function each(value: unknown, render: (one: unknown) => string, separator: string): string {
  const values: readonly unknown[] = isResults(value) ? value.results : Array.isArray(value) ? value : [value];
  return values
    .map((one) => render(one))
    .filter((one) => one !== "")
    .join(separator);
}

function isResults(value: unknown): value is { readonly results: readonly unknown[] } {
  return isJsonObject(value) && Array.isArray(value["results"]);
}

function personText(value: unknown, { emails }: LookupTexts): string {
  if (!isJsonObject(value)) return "";
  const mail = text(value["EMail"]) || (emails.get(Number(value["Id"] ?? value["ID"])) ?? "");
  const name = text(value["Title"]);
  return name && mail ? `${name} <${mail}>` : name || mail;
}

function lookupText(value: unknown, { lookupField }: Column): string {
  if (!isJsonObject(value)) return "";
  const shown = value[decodeURIComponent(shownField(lookupField))];
  return typeof shown === "string" && ISO_INSTANT.test(shown) ? `${instantText(shown)} UTC` : plainText(shown);
}

/** Returns the text SharePoint displays. It joins several values with a semicolon, which a value may contain, too. */
function shownLookup(row: Readonly<Record<string, unknown>>, { internalName, type }: Column): string {
  const texts = row[SHOWN_TEXTS];
  const shown = isJsonObject(texts) ? shownText(texts, internalName) : "";
  return type === "LookupMulti" ? shown.split("; ").join("|") : shown;
}

/** In displayed texts, unlike in rows, underscores of names are escaped. */
export function shownText(texts: Readonly<Record<string, unknown>>, internalName: string): string {
  return text(texts[internalName] ?? texts[internalName.replaceAll("_", "_x005f_")]);
}

function termText(value: unknown, { terms }: LookupTexts): string {
  const number = termNumber(value);
  return number === undefined ? (isJsonObject(value) ? text(value["Label"]) : "") : (terms.get(number) ?? "");
}

/** Returns the number of a term without label; undefined if it has one. */
export function termNumber(value: unknown): number | undefined {
  if (!isJsonObject(value) || typeof value["WssId"] !== "number") return undefined;
  return text(value["Label"]) === String(value["WssId"]) ? value["WssId"] : undefined;
}

const ISO_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

function instantText(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : date.toISOString().slice(0, 19).replace("T", " ");
}

/**
 * Returns the day of a date column. SharePoint stores midnight in the site's time zone, which in UTC is often on the day
 * before. The nearest UTC midnight is the displayed day, for sites from Hawaii (UTC-10) to New Zealand in summer (UTC+13).
 */
function dayText(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return instantText(new Date(date.getTime() + EASTERNMOST_MS).toISOString().slice(0, 10));
}

const EASTERNMOST_MS = 13 * 3_600_000;

/** Decodes `string;#x`, `float;#12.5000000`, `boolean;#1`, `datetime;#2024-01-01 00:00:00`; other values stay as they are. */
function calculatedText(value: unknown): string {
  const match = /^(string|float|boolean|datetime|error);#(.*)$/s.exec(text(value));
  if (!match) return plainText(value);
  const [, kind, rest = ""] = match;
  if (kind === "boolean") return rest === "1" ? "True" : "False";
  if (kind === "float" && rest.trim() !== "" && Number.isFinite(Number(rest))) return String(Number(rest));
  return rest;
}

/** Whether a note is HTML. If SharePoint does not say, a value wrapped in markup is. */
function isRich(value: string, { richText }: Column): boolean {
  return richText ?? (/^\s*<(div|p|span|ul|ol|table|h\d)\b/i.test(value) && value.trimEnd().endsWith(">"));
}

function nameInJson(json: string, key: string): string {
  try {
    const value: unknown = JSON.parse(json);
    return isJsonObject(value) ? text(value[key]) : "";
  } catch {
    return json;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be kept out.
const UNPRINTABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** Removes control characters and normalises line ends. */
function wellFormed(value: string): string {
  return value.toWellFormed().replaceAll(/\r\n?/g, "\n").replaceAll(UNPRINTABLE, "").trim();
}

/** Returns the text of a rich text column, one line per block. */
function noteText(html: string): string {
  const { root } = parseHtml(html, () => undefined);
  return textOf(root)
    .replaceAll("\u200b", "")
    .replaceAll(/[^\S\n]+/g, " ")
    .replaceAll(/ ?\n[ \n]*/g, "\n")
    .trim();
}

/** Recursion is safe: the depth of the tree is limited. */
function textOf(node: HtmlNode): string {
  // Line ends in HTML are blanks.
  if (typeof node === "string") return node.replaceAll(/\s+/g, " ");
  const { tag, attributes } = node;
  if (tag === "br") return "\n";
  if (tag === "img") return attributes.get("alt") ?? "";
  const text = node.children.map(textOf).join("");
  if (tag === "li") return `\n• ${text.trim()}\n`;
  if (tag === "td" || tag === "th") return `${text.trim()} `;
  return BLOCK_TAGS.has(tag) ? `\n${text}\n` : text;
}

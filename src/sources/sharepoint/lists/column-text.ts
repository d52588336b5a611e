import { BLOCK_TAGS, type HtmlNode } from "../../../lib/html/html-tree.ts";
import { parseHtml } from "../../../lib/html/parse-html.ts";
import { isObject } from "../error-body.ts";
import { isLookup, SHOWN_TEXTS, shownField } from "./field-groups.ts";
import { text } from "./list-codec.ts";
import type { Column } from "./list-columns.ts";

/** What rows do not tell themselves. */
export interface KnownTexts {
  /** Texts of terms by the number that single-valued columns show instead. */
  readonly terms: ReadonlyMap<number, string>;
  /** By the ids of people. */
  readonly mails: ReadonlyMap<number, string>;
}

/** What a person reads in a column, "" when nothing. */
export function columnText(column: Column, row: Readonly<Record<string, unknown>>, known: KnownTexts): string {
  const value = column.property === "" ? undefined : row[column.property];
  if (value === undefined && isLookup(column)) return wellFormed(shownLookup(row, column));
  if (value === null || value === undefined) return "";
  const render = RENDERERS[column.type] ?? plainText;
  return wellFormed(render(value, column, known));
}

type Renderer = (value: unknown, column: Column, known: KnownTexts) => string;

const RENDERERS: Readonly<Record<string, Renderer>> = {
  DateTime: (value, column) => (column.dateOnly ? dayText(text(value)) : instantText(text(value))),
  Note: (value, column) => (isRich(text(value), column) ? noteText(text(value)) : text(value)),
  HTML: (value) => noteText(text(value)),
  URL: (value) => (isObject(value) ? text(value["Url"]) : text(value)),
  MultiChoice: (value) => each(value, plainText, "|"),
  User: (value, _, known) => each(value, (one) => personText(one, known), "; "),
  UserMulti: (value, _, known) => each(value, (one) => personText(one, known), "; "),
  Lookup: (value, column) => each(value, (one) => lookupText(one, column), "|"),
  LookupMulti: (value, column) => each(value, (one) => lookupText(one, column), "|"),
  TaxonomyFieldType: (value, _, known) => each(value, (one) => termText(one, known), "|"),
  TaxonomyFieldTypeMulti: (value, _, known) => each(value, (one) => termText(one, known), "|"),
  Calculated: (value) => calculatedText(value),
  Thumbnail: (value) => nameInJson(text(value), "fileName"),
  Location: (value) => nameInJson(text(value), "DisplayName"),
  Geolocation: (value) => (isObject(value) ? `${value["Latitude"]}, ${value["Longitude"]}` : ""),
};

function plainText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value) || isResults(value)) return each(value, plainText, "|");
  return isObject(value) ? text(value["Label"]) || text(value["Title"]) || text(value["Url"]) : "";
}

/** One value or many, in the order SharePoint keeps them. */
function each(value: unknown, render: (one: unknown) => string, separator: string): string {
  const values: readonly unknown[] = isResults(value) ? value.results : Array.isArray(value) ? value : [value];
  return values
    .map((one) => render(one))
    .filter((one) => one !== "")
    .join(separator);
}

function isResults(value: unknown): value is { readonly results: readonly unknown[] } {
  return isObject(value) && Array.isArray(value["results"]);
}

function personText(value: unknown, { mails }: KnownTexts): string {
  if (!isObject(value)) return "";
  const mail = text(value["EMail"]) || (mails.get(Number(value["Id"] ?? value["ID"])) ?? "");
  const name = text(value["Title"]);
  return name && mail ? `${name} <${mail}>` : name || mail;
}

function lookupText(value: unknown, { lookupField }: Column): string {
  if (!isObject(value)) return "";
  const shown = value[decodeURIComponent(shownField(lookupField))];
  return typeof shown === "string" && ISO_INSTANT.test(shown) ? `${instantText(shown)} UTC` : plainText(shown);
}

/** The text SharePoint shows. It joins several with a semicolon, which is no longer told from one within a text. */
function shownLookup(row: Readonly<Record<string, unknown>>, { internalName, type }: Column): string {
  const texts = row[SHOWN_TEXTS];
  const shown = isObject(texts) ? shownText(texts, internalName) : "";
  return type === "LookupMulti" ? shown.split("; ").join("|") : shown;
}

/** There, unlike in rows, every underscore of a name is written out. */
export function shownText(texts: Readonly<Record<string, unknown>>, internalName: string): string {
  return text(texts[internalName] ?? texts[internalName.replaceAll("_", "_x005f_")]);
}

function termText(value: unknown, { terms }: KnownTexts): string {
  const number = termNumber(value);
  return number === undefined ? (isObject(value) ? text(value["Label"]) : "") : (terms.get(number) ?? "");
}

/** The number of a term that does not tell its text; undefined for one that does. */
export function termNumber(value: unknown): number | undefined {
  if (!isObject(value) || typeof value["WssId"] !== "number") return undefined;
  return text(value["Label"]) === String(value["WssId"]) ? value["WssId"] : undefined;
}

const ISO_INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

function instantText(iso: string): string {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? iso : date.toISOString().slice(0, 19).replace("T", " ");
}

/**
 * A day is stored as its midnight where the site is, which in UTC is often an hour of the day before. The UTC midnight
 * near it is the day people see, for sites from Hawaii (UTC-10) to New Zealand in summer (UTC+13).
 */
function dayText(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return instantText(new Date(date.getTime() + EASTERNMOST_MS).toISOString().slice(0, 10));
}

const EASTERNMOST_MS = 13 * 3_600_000;

/** `string;#x`, `float;#12.5000000`, `boolean;#1`, `datetime;#2024-01-01 00:00:00`, or the value as it is. */
function calculatedText(value: unknown): string {
  const match = /^(string|float|boolean|datetime|error);#(.*)$/s.exec(text(value));
  if (!match) return plainText(value);
  const [, kind, rest = ""] = match;
  if (kind === "boolean") return rest === "1" ? "True" : "False";
  if (kind === "float" && rest.trim() !== "" && Number.isFinite(Number(rest))) return String(Number(rest));
  return rest;
}

/** Where SharePoint does not tell, markup that fills the whole value gives it away. */
function isRich(value: string, { richText }: Column): boolean {
  return richText ?? (/^\s*<(div|p|span|ul|ol|table|h\d)\b/i.test(value) && value.trimEnd().endsWith(">"));
}

function nameInJson(json: string, key: string): string {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) ? text(value[key]) : "";
  } catch {
    return json;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be kept out.
const UNPRINTABLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** Without characters that break the files the text is written to; line ends are ours. */
function wellFormed(value: string): string {
  return value.toWellFormed().replaceAll(/\r\n?/g, "\n").replaceAll(UNPRINTABLE, "").trim();
}

/** What a person reads of a rich text column, a line for every block. */
function noteText(html: string): string {
  const { root } = parseHtml(html, () => undefined);
  return textOf(root)
    .replaceAll("\u200b", "")
    .replaceAll(/[^\S\n]+/g, " ")
    .replaceAll(/ ?\n[ \n]*/g, "\n")
    .trim();
}

/** Recursion is safe: the tree is of bounded depth. */
function textOf(node: HtmlNode): string {
  // Line ends in the source of a page are blanks like any other.
  if (typeof node === "string") return node.replaceAll(/\s+/g, " ");
  const { tag, attributes } = node;
  if (tag === "br") return "\n";
  if (tag === "img") return attributes.get("alt") ?? "";
  const text = node.children.map(textOf).join("");
  if (tag === "li") return `\n• ${text.trim()}\n`;
  if (tag === "td" || tag === "th") return `${text.trim()} `;
  return BLOCK_TAGS.has(tag) ? `\n${text}\n` : text;
}

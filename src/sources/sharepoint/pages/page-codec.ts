import { RemoteError } from "../../../contracts/errors.ts";
import type { Sighting } from "../../../contracts/source.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json-object.ts";
import { decodeRow, type LibraryScope, type Row } from "../library-codec.ts";
import { newestMajor, type Publication, publicationOf, VERSION_FIELDS, versionLabel } from "../published-version.ts";
import { pathBelow } from "../site-url.ts";
import { MARKUP_COLUMNS } from "./page-converter.ts";
import type { PageOriginal } from "./page-original.ts";

/** Decodes SharePoint's JSON about pages; the only file here that knows its field names. */

const FLAGS = "OData__SPSitePageFlags";
const TEXT_COLUMNS = ["Title", "Description", ...MARKUP_COLUMNS];

export const COLUMN_NAME_FIELDS = "EntityPropertyName";

/** The columns that exist: a request for a missing one would fail. */
export interface PageColumns {
  readonly listing: readonly string[];
  readonly texts: readonly string[];
}

export function decodeColumns(response: JsonObject): PageColumns {
  const fields = response["value"];
  if (!Array.isArray(fields)) throw new RemoteError("SharePoint's answer is not a list of columns");
  const names = new Set(fields.filter(isJsonObject).map((field) => field[COLUMN_NAME_FIELDS]));
  return {
    listing: [FLAGS].filter((name) => names.has(name)),
    texts: TEXT_COLUMNS.filter((name) => names.has(name)),
  };
}

/** Whether a column has the text of pages. Without one, only titles are left. */
export function holdsText({ texts }: PageColumns): boolean {
  return MARKUP_COLUMNS.some((name) => texts.includes(name));
}

/** Decodes a row. Anything but a published page counts as a row, but is no item. */
export function decodePageRow(
  value: unknown,
  scope: LibraryScope,
): { readonly row: Row; readonly publication: Publication } {
  const row = decodeRow(value, scope);
  if (row.kind !== "file" || !isJsonObject(value)) return { row, publication: "published" };
  const publication = publicationOf(value);
  if (publication === "never published" || !isPage(row.sighting) || isTemplate(value, row.sighting, scope)) {
    return { row: { kind: "ignored", key: row.key, folder: false }, publication };
  }
  const version = isJsonObject(value["File"]) ? Number(value["File"]["UIVersion"]) : Number.NaN;
  return { row: { ...row, sighting: pageSighting(row.sighting, { version }) }, publication };
}

function isPage({ name }: Sighting): boolean {
  return /\.aspx$/i.test(name);
}

function isTemplate(row: JsonObject, { serverPath }: Sighting, scope: LibraryScope): boolean {
  const inTemplates = /^templates\//i.test(pathBelow(scope.library, serverPath) ?? "");
  return inTemplates || /template/i.test(JSON.stringify(row[FLAGS] ?? ""));
}

/**
 * The published version stands for the content. The content tag does not: the text of a page is in columns, which change
 * without it.
 */
export function pageSighting(
  sighting: Sighting,
  published: { readonly version: number; readonly size?: number; readonly modifiedAt?: string },
): Sighting {
  const { size = sighting.fingerprint.size, modifiedAt = sighting.fingerprint.modifiedAt, version } = published;
  const contentVersion = Number.isSafeInteger(version) ? versionLabel(version) : "";
  return {
    ...sighting,
    documentType: "html",
    form: "original",
    fingerprint: { ...sighting.fingerprint, size, modifiedAt, contentVersion },
  };
}

export const ITEM_VERSION_FIELDS = "VersionId,IsCurrentVersion";

/** Returns the newest published version number of an item. Item versions are numbered like file versions, and contain the columns. */
export function decodePublishedItemVersion(response: JsonObject, approved?: ReadonlySet<number>): number | undefined {
  return newestMajor(response, "VersionId", approved)?.version;
}

/** Fields of a request for one page: whether it is still the same item, and published. */
export const PAGE_FIELDS: readonly string[] = [
  "Id",
  "UniqueId",
  "FileRef",
  ...VERSION_FIELDS.map((name) => `File/${name}`),
];

export function decodePageIdentity(row: JsonObject): { readonly key: string; readonly serverPath: string } {
  const [id, path] = [row["UniqueId"], row["FileRef"]];
  if (typeof id !== "string" || typeof path !== "string")
    throw new RemoteError("SharePoint did not say which page it is");
  return { key: id.replaceAll(/[{}]/g, "").toLowerCase(), serverPath: path };
}

/** Decodes an item or one of its versions: both name the columns alike. */
export function decodePageTexts(row: JsonObject, address: string): PageOriginal {
  const text = (name: string): string => {
    const value = row[name];
    return typeof value === "string" ? value : "";
  };
  const columns = new Map(MARKUP_COLUMNS.map((name) => [name, text(name)]));
  return { title: text("Title"), description: text("Description"), address, columns };
}

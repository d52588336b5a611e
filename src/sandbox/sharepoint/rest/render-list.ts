import { beyondThreshold, invalidExpression } from "../odata/odata-error.ts";
import type { Json } from "../odata/projection.ts";
import type { Column } from "../tenant/column.ts";
import type { Library } from "../tenant/library.ts";
import type { SiteUser } from "../tenant/site-users.ts";
import { toSharePointTime } from "../tenant/tenant-clock.ts";
import { folderPathOf, pathOf, type TenantItem, versionLabelOf } from "../tenant/tenant-item.ts";
import { displayText, localTime, shownItems } from "./display-text.ts";
import { contentTypeIdOf } from "./entity-types.ts";
import { isTerm, lookedUpRows, peopleIn } from "./field-type.ts";
import type { RequestScope, Resource } from "./resource.ts";

const DEFAULT_ROWS = 30;
const MAX_ROWS = 5000;
const NO_VIEW = "00000000-0000-0000-0000-000000000000";

interface View {
  readonly scope: string;
  readonly fields: readonly string[];
  readonly rowLimit: number;
}

/**
 * `POST …/RenderListDataAsStream`: rows as the list's web page gets them, everything as text. It pages by id and passes
 * the list view threshold. Of CAML it understands the scope, the fields and the row limit; a query is refused.
 */
export function renderList(library: Library, body: Uint8Array, scope: RequestScope): Resource {
  const parameters = parseParameters(body);
  const view = parseView(textOf(parameters, "ViewXml") ?? "");
  const paging = new URLSearchParams((textOf(parameters, "Paging") ?? "").replace(/^\?/, ""));
  const folder = textOf(parameters, "FolderServerRelativeUrl") ?? library.path;
  const after = Number(paging.get("p_ID") ?? 0);
  const first = Number(paging.get("PageFirstRow") ?? 1);
  const wanted = shownItems(library.rows, scope).filter((row) => row.listItemId > after && isIn(row, folder, view));
  const rows = wanted.slice(0, view.rowLimit);
  const last = rows.at(-1);
  const options = { utc: parameters["DatesInUtc"] === true, fields: view.fields };
  const answer: Record<string, Json> = {
    Row: rows.map((row) => renderedRow(row, options)),
    FirstRow: first,
    FolderPermissions: "0x1b03c4312ef",
    LastRow: first + rows.length - 1,
    RowLimit: view.rowLimit,
    ...(wanted.length > rows.length && last
      ? { NextHref: `?Paged=TRUE&p_ID=${last.listItemId}&PageFirstRow=${first + rows.length}&View=${NO_VIEW}` }
      : {}),
    FilterLink: "?",
    ForceNoHierarchy: "1",
    HierarchyHasIndention: "",
    CurrentFolderSpItemUrl: "",
  };
  return { kind: "json", body: answer };
}

function isIn(row: TenantItem, folder: string, { scope }: View): boolean {
  const parent = folderPathOf(row).toLowerCase();
  const wanted = folder.toLowerCase().replace(/\/+$/, "");
  if (!scope.startsWith("recursive")) return parent === wanted;
  if (scope === "recursive" && row.kind === "folder") return false;
  return parent === wanted || parent.startsWith(`${wanted}/`);
}

function parseParameters(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const { parameters } = JSON.parse(Buffer.from(body).toString()) as { parameters?: unknown };
    if (typeof parameters === "object" && parameters !== null) return parameters as Record<string, unknown>;
  } catch {
    // Falls through to the same refusal as a body without parameters.
  }
  throw invalidExpression("RenderListDataAsStream: a JSON body with an object 'parameters' is expected");
}

function textOf(parameters: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = parameters[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function parseView(xml: string): View {
  if (/<Where\b|<GroupBy\b/i.test(xml)) throw invalidExpression("the sandbox understands no <Where> and no <GroupBy>");
  const order = [...(/(?:<OrderBy\b[^>]*>)([\s\S]*?)<\/OrderBy>/gi.exec(xml)?.[1]?.matchAll(FIELD_REF) ?? [])];
  if (order.some(([, name]) => name?.toUpperCase() !== "ID")) throw invalidExpression("the sandbox orders by ID only");
  const scope = /<View\b[^>]*\bScope\s*=\s*["'](\w+)["']/i.exec(xml)?.[1] ?? "";
  const fields = /<ViewFields>([\s\S]*?)<\/ViewFields>/i.exec(xml)?.[1] ?? "";
  const rowLimit = Number(/<RowLimit\b[^>]*>\s*(\d+)\s*<\/RowLimit>/i.exec(xml)?.[1] ?? DEFAULT_ROWS);
  if (rowLimit > MAX_ROWS) throw beyondThreshold();
  return {
    scope: scope.toLowerCase(),
    fields: [...fields.matchAll(FIELD_REF)].map(([, name = ""]) => name),
    rowLimit: Math.max(1, rowLimit),
  };
}

const FIELD_REF = /<FieldRef\b[^>]*\bName\s*=\s*["']([^"']+)["']/gi;

interface RowOptions {
  /** Otherwise times come as the page shows them. */
  readonly utc: boolean;
  /** Internal names to add to what every row has; none: all columns. */
  readonly fields: readonly string[];
}

/** A row of RenderListDataAsStream: all values are text, ids are in capitals and braces. */
function renderedRow(item: TenantItem, { utc, fields }: RowOptions): Json {
  const columns = [...item.library.columns.values()];
  const wanted = fields.length === 0 ? columns : columns.filter(({ internalName }) => fields.includes(internalName));
  const time = (ms: number): string => (utc ? toSharePointTime(ms) : localTime(ms));
  return {
    ID: String(item.listItemId),
    PermMask: "0x1b03c4312ef",
    FSObjType: item.kind === "folder" ? "1" : "0",
    ContentTypeId: contentTypeIdOf(item),
    UniqueId: `{${item.uniqueId.toUpperCase()}}`,
    FileRef: pathOf(item),
    "FileRef.urlencode": encodeURIComponent(pathOf(item)),
    FileLeafRef: item.name,
    FileDirRef: folderPathOf(item),
    ...sizesOf(item),
    Title: String(item.columns.get("Title") ?? ""),
    Modified: time(item.modifiedAtMs),
    Created: time(item.createdAtMs),
    Author: userOf(item, item.authorId),
    Editor: userOf(item, item.editorId),
    owshiddenversion: String(item.etag),
    _UIVersionString: versionLabelOf(item),
    ...(item.kind === "row" ? { Attachments: item.attachments.size > 0 ? "1" : "0" } : {}),
    ...Object.assign({}, ...wanted.map((column) => rendered(column, item, utc))),
  };
}

/** The bytes of the current version, and of all versions together. */
function sizesOf(item: TenantItem): Record<string, Json> {
  if (item.kind !== "file") return {};
  const earlier = item.history.reduce((sum, version) => sum + (version.listedSize ?? 0), 0);
  return { File_x0020_Size: String(item.listedSize), SMTotalSize: String(item.listedSize + earlier) };
}

function userOf(item: TenantItem, id: number): Json {
  const user = item.library.site.users.find(id);
  return user ? [person(user)] : "";
}

function person(user: SiteUser): Json {
  return { id: String(user.id), title: user.title, email: user.email, sip: user.email, picture: "" };
}

function rendered(column: Column, item: TenantItem, utc: boolean): Record<string, Json> {
  const name = column.internalName;
  const value = item.columns.get(name) ?? null;
  const text = displayText(column, item);
  if (column.type.startsWith("Lookup")) {
    const found = lookedUpRows(column, item).map((row) => ({
      lookupId: row.listItemId,
      lookupValue: String(row.columns.get(column.lookupField) ?? ""),
      isSecretFieldValue: false,
    }));
    return { [name]: found.length > 0 ? found : "" };
  }
  if (column.type.startsWith("User")) return { [name]: peopleIn(column, item).map(person) };
  if (value === null) return { [name]: "" };
  if (isTerm(value)) return { [name]: { __type: "TaxonomyFieldValue", Label: value.label, TermID: value.termGuid } };
  if (Array.isArray(value)) {
    return { [name]: value.map((each) => (isTerm(each) ? { Label: each.label, TermID: each.termGuid } : each)) };
  }
  if (typeof value === "boolean") return { [name]: text, [`${name}.value`]: value ? "1" : "0" };
  if (typeof value === "number") return { [name]: text, [`${name}.`]: String(value) };
  if (typeof value === "object" && "Url" in value) return { [name]: value.Url, [`${name}.desc`]: value.Description };
  if (column.type === "DateTime") return { [name]: utc ? String(value) : text };
  const isRich = column.richText || column.type === "HTML";
  return { [name]: isRich ? `<div dir="" class="ms-rtestate-field">${text}</div>` : text };
}

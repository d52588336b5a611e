import { RemoteError } from "../../../contracts/errors.ts";
import { isJsonObject } from "../../../lib/json-object.ts";
import { missingListError } from "../find-library.ts";
import { type CallContext, type RestClient, SharePointError } from "../rest-client.ts";
import { odataLiteral, type SiteAddress } from "../site-url.ts";

/** Throws RemoteError if there is no such list; it names lists with a similar title. */
export async function findList(
  rest: RestClient,
  site: SiteAddress,
  title: string,
  call: CallContext,
): Promise<ListRoot> {
  const url = `${site.api}web/lists/getbytitle(${odataLiteral(title)})?$select=${LIST_FIELDS}&$expand=RootFolder`;
  try {
    if (title !== "") return decodeList(await rest.getJson(url, call));
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const names = await readTitles(rest, site, call);
  throw missingListError(`the site has no list with the title '${title}'`, {
    field: "list_name",
    requested: title,
    names,
  });
}

/** Reads the list's current properties; undefined if it is gone. */
export async function readList(
  rest: RestClient,
  site: SiteAddress,
  listId: string,
  call: CallContext,
): Promise<ListRoot | undefined> {
  try {
    return decodeList(await rest.getJson(`${listUrl(site, listId)}?$select=${LIST_FIELDS}&$expand=RootFolder`, call));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Reads all columns in one request, with all properties: which ones a column has depends on its type. */
export async function readFields(
  rest: RestClient,
  site: SiteAddress,
  listId: string,
  call: CallContext,
): Promise<FieldDescription[]> {
  return decodeFields(await rest.getJson(`${listUrl(site, listId)}/fields`, call));
}

export function listUrl(site: SiteAddress, listId: string): string {
  return `${site.api}web/lists(guid'${encodeURIComponent(listId)}')`;
}

/** Whether SharePoint itself says that it is missing. A 404 without error code may come from a gateway. */
export function isMissing(error: unknown): boolean {
  return error instanceof SharePointError && error.status === 404 && error.exception !== "";
}

async function readTitles(rest: RestClient, site: SiteAddress, call: CallContext): Promise<string[]> {
  try {
    return decodeTitles(await rest.getJson(`${site.api}web/lists?$select=${TITLE_FIELDS}`, call));
  } catch (error) {
    // Suggestions are optional; the error is that the list is missing.
    if (error instanceof RemoteError) return [];
    throw error;
  }
}

/** Decodes SharePoint's JSON about lists and columns. */

export interface ListRoot {
  readonly listId: string;
  readonly title: string;
  /** As the server spells it, without trailing slash: `/sites/demo/Lists/Tasks`. */
  readonly path: string;
  /** Items and folders on all levels. */
  readonly itemCount: number;
}

const LIST_FIELDS = "Id,Title,BaseType,ItemCount,RootFolder/ServerRelativeUrl";

/** A column as SharePoint describes it. */
export interface FieldDescription {
  readonly internalName: string;
  /** The column's name in the JSON of an item. */
  readonly property: string;
  readonly title: string;
  readonly type: string;
  readonly hidden: boolean;
  readonly readOnly: boolean;
  /** The column of the other list that a lookup displays. */
  readonly lookupField: string;
  readonly dateOnly: boolean;
  /** undefined if SharePoint does not say. */
  readonly richText: boolean | undefined;
  readonly currencyLocaleId: number;
}

/** Value of SharePoint's `BaseType`; 0 is a list. */
const LIBRARY = 1;

function decodeList(response: Record<string, unknown>): ListRoot {
  const root = response["RootFolder"];
  const path = isJsonObject(root) ? root["ServerRelativeUrl"] : undefined;
  const { Id: listId, ItemCount: itemCount } = response;
  const title = text(response["Title"]);
  if (typeof listId !== "string" || typeof path !== "string" || typeof itemCount !== "number") {
    throw new RemoteError("SharePoint's description of the list lacks its id, its folder or its item count");
  }
  if (response["BaseType"] === LIBRARY) {
    throw new RemoteError(`'${title}' is a document library, not a list; make it one of the 'file_sources'`);
  }
  return { listId, title, path: path.replace(/\/+$/, ""), itemCount };
}

const TITLE_FIELDS = "Title,BaseType,Hidden";

/** Returns the titles of visible lists. */
function decodeTitles(response: Record<string, unknown>): string[] {
  return rowsOf(response)
    .filter((list) => list["BaseType"] !== LIBRARY && list["Hidden"] !== true)
    .map((list) => text(list["Title"]))
    .filter((title) => title !== "");
}

export function decodeFields(response: Record<string, unknown>): FieldDescription[] {
  return rowsOf(response).map((field) => {
    const internalName = text(field["InternalName"]);
    return {
      internalName,
      property: text(field["EntityPropertyName"]) || internalName,
      title: text(field["Title"]) || internalName,
      type: text(field["TypeAsString"]),
      hidden: field["Hidden"] === true,
      readOnly: field["ReadOnlyField"] === true,
      lookupField: text(field["LookupField"]),
      dateOnly: text(field["TypeAsString"]) === "DateTime" && field["DisplayFormat"] === DATE_ONLY,
      richText: typeof field["RichText"] === "boolean" ? field["RichText"] : undefined,
      currencyLocaleId: typeof field["CurrencyLocaleId"] === "number" ? field["CurrencyLocaleId"] : 0,
    };
  });
}

const DATE_ONLY = 0;

/** Returns e-mail addresses by user id, without empty ones. */
export function decodeEmails(response: Record<string, unknown>): [number, string][] {
  return rowsOf(response)
    .map((user): [number, string] => [Number(user["Id"]), text(user["Email"])])
    .filter(([, mail]) => mail !== "");
}

function rowsOf(response: Record<string, unknown>): Record<string, unknown>[] {
  const rows = response["value"];
  if (!Array.isArray(rows)) throw new RemoteError("SharePoint's answer is not a list of descriptions");
  return rows.filter(isJsonObject);
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

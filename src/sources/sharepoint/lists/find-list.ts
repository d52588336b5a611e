import { RemoteError } from "../../../contracts/errors.ts";
import { odataLiteral } from "../escaping.ts";
import { missingPlace } from "../missing-place.ts";
import { type CallContext, type RestClient, SharePointError } from "../rest-client.ts";
import type { SiteAddress } from "../site-url.ts";
import {
  decodeFields,
  decodeList,
  decodeTitles,
  type FieldDescription,
  LIST_FIELDS,
  type ListRoot,
  TITLE_FIELDS,
} from "./list-codec.ts";

/** Throws RemoteError when there is no such list, naming those with a title like it. */
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
  throw missingPlace(`the site has no list with the title '${title}'`, { field: "list_name", wanted: title, names });
}

/** The list as it is now; undefined when it is gone. */
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

/** All of them in one answer. Everything is asked for: which properties a column has depends on its type. */
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

/** Only with an error code in it is a 404 SharePoint's own answer, and not that of a gateway in front of it. */
export function isMissing(error: unknown): boolean {
  return error instanceof SharePointError && error.status === 404 && error.exception !== "";
}

async function readTitles(rest: RestClient, site: SiteAddress, call: CallContext): Promise<string[]> {
  try {
    return decodeTitles(await rest.getJson(`${site.api}web/lists?$select=${TITLE_FIELDS}`, call));
  } catch (error) {
    // A suggestion is a nicety; what matters is that the list is missing.
    if (error instanceof RemoteError) return [];
    throw error;
  }
}

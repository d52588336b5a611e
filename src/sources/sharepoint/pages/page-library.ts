import { RemoteError } from "../../../contracts/errors.ts";
import { type CallContext, type RestClient, SharePointError } from "../rest-client.ts";
import type { SiteAddress } from "../site-url.ts";
import {
  COLUMN_NAME_FIELDS,
  decodeColumns,
  decodePublishedItemVersion,
  ITEM_VERSION_FIELDS,
  type PageColumns,
} from "./page-codec.ts";

/** A library of pages that was found. */
export interface PageLibrary {
  readonly rest: RestClient;
  readonly site: SiteAddress;
  readonly listId: string;
  readonly columns: PageColumns;
}

type Place = Omit<PageLibrary, "columns">;

export async function openPageLibrary(place: Place, call: CallContext): Promise<PageLibrary> {
  const url = `${listUrl(place)}/fields?$select=${COLUMN_NAME_FIELDS}`;
  return { ...place, columns: decodeColumns(await place.rest.getJson(url, call)) };
}

/** The columns of that version. */
export async function readPublishedTexts(
  library: PageLibrary,
  listItemId: number,
  call: CallContext,
): Promise<Record<string, unknown>> {
  const { rest, columns } = library;
  const versions = `${listUrl(library)}/items(${listItemId})/versions`;
  const answer = await rest.getJson(`${versions}?$select=${ITEM_VERSION_FIELDS}`, call);
  const version = decodePublishedItemVersion(answer) ?? notInHistory();
  try {
    return await rest.getJson(`${versions}(${version})?$select=${["VersionId", ...columns.texts].join()}`, call);
  } catch (error) {
    if (!(error instanceof SharePointError) || error.status !== 400) throw error;
    // A column may be younger than the version, or not to be chosen there: then all there are, of this one version.
    return await rest.getJson(`${versions}(${version})`, call);
  }
}

export function listUrl({ site, listId }: Pick<PageLibrary, "site" | "listId">): string {
  return `${site.api}web/lists(guid'${encodeURIComponent(listId)}')`;
}

function notInHistory(): never {
  throw new RemoteError("the published version is not in the history of the page");
}

import { RemoteError } from "../../../contracts/errors.ts";
import type { LibraryRoot } from "../library-codec.ts";
import { readApproved, type VersionedPlace } from "../published-version.ts";
import { type CallContext, SharePointError } from "../rest-client.ts";
import {
  COLUMN_NAME_FIELDS,
  decodeColumns,
  decodePublishedItemVersion,
  ITEM_VERSION_FIELDS,
  type PageColumns,
} from "./page-codec.ts";

/** A library of pages that was found. */
export interface PageLibrary extends VersionedPlace {
  readonly listId: string;
  readonly columns: PageColumns;
}

export async function openPageLibrary(
  { rest, site }: Pick<PageLibrary, "rest" | "site">,
  { listId, isModerated }: LibraryRoot,
  call: CallContext,
): Promise<PageLibrary> {
  const place = { rest, site, listId, ...(isModerated && { moderatedListId: listId }) };
  const url = `${listUrl(place)}/fields?$select=${COLUMN_NAME_FIELDS}`;
  return { ...place, columns: decodeColumns(await rest.getJson(url, call)) };
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
  const version = decodePublishedItemVersion(answer, await readApproved(library, listItemId, call)) ?? notInHistory();
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

import { RemoteError } from "../../../contracts/errors.ts";
import type { ItemId } from "../../../contracts/ids.ts";
import type { Fetched, ItemRef, Listing, Source } from "../../../contracts/source.ts";
import type { OnWait } from "../../../lib/pace.ts";
import { diagnoseSource, withAdvice } from "../diagnose-source.ts";
import { expectedOutcome } from "../fetch-file.ts";
import { findLibrary, type LibraryTarget } from "../find-library.ts";
import { oncePerPause } from "../http.ts";
import type { LibraryRoot } from "../library-codec.ts";
import { type LibraryListingOptions, listLibrary } from "../list-library.ts";
import { publicationOf, readApproved, type VersionedLibrary, withPublished } from "../published-version.ts";
import { type CallContext, SharePointError } from "../rest-client.ts";
import type { SharePointConnection } from "../sharepoint-connection.ts";
import type { SitePageSourceConfig } from "../sharepoint-source-codec.ts";
import { encodePath, parseSiteUrl } from "../site-url.ts";
import {
  COLUMN_NAME_FIELDS,
  decodeColumns,
  decodePageIdentity,
  decodePageRow,
  decodePageTexts,
  decodePublishedItemVersion,
  holdsText,
  ITEM_VERSION_FIELDS,
  PAGE_FIELDS,
  type PageColumns,
  pageSighting,
} from "./page-codec.ts";
import { writePageOriginal } from "./page-original.ts";

interface SharePointPagesOptions {
  /** Called when requests wait; once per pause, not per request. */
  readonly onWait?: OnWait;
  readonly pageSize?: number;
}

const DEFAULT_URL_PART = "/SitePages";
const DEFAULT_PAGE_SIZE = 2000;

/**
 * Opens the published pages of a site, or of one folder, as a source. The text comes from columns: the page itself is an
 * application that shows nothing without a browser. Throws BadInputError for an invalid site URL.
 */
export function openSharePointPages(
  config: SitePageSourceConfig,
  connection: SharePointConnection,
  options: SharePointPagesOptions = {},
): Source {
  const { rest } = connection;
  const site = parseSiteUrl(config.siteUrl);
  const urlPart = `/${(config.urlPart || DEFAULT_URL_PART).replaceAll(/^\/+|\/+$/g, "")}`;
  const filter = config.filter.trim();
  const pageSize = options.pageSize ?? DEFAULT_PAGE_SIZE;
  const onWait = oncePerPause(options.onWait);
  const advise = (error: RemoteError): RemoteError =>
    new RemoteError(`list '${urlPart}' of ${site.text}: ${withAdvice(error, filter)}`, { cause: error });
  /** From the last listing. */
  let pageLibrary: PageLibrary | undefined;
  let hidden = 0;

  async function findPages(call: CallContext): Promise<{ library: LibraryRoot; pages: PageLibrary }> {
    const { library } = await findLibrary(rest, site, urlPart, call);
    return { library, pages: await openPageLibrary({ rest, site }, library, call) };
  }

  async function findTextPages(call: CallContext): Promise<LibraryRoot> {
    const { library, pages } = await findPages(call);
    if (holdsText(pages.columns)) return library;
    throw new RemoteError(`'${library.title}' holds no pages: it has none of the columns that their text is in`);
  }

  return {
    id: config.sourceId,
    list(signal) {
      const call = { signal, onWait };
      hidden = 0;
      const onHidden = (rows: number): void => {
        hidden = rows;
      };
      return listPages({ rest, site, urlPart, filter, pageSize, call, advise, onHidden }, (library) => {
        pageLibrary = library;
      });
    },
    hiddenRows: () => hidden,
    async fetch(item, signal) {
      const call = { signal, onWait };
      pageLibrary ??= (await findPages(call)).pages;
      return await fetchPage(pageLibrary, item, call);
    },
    diagnose: (signal) =>
      diagnoseSource({
        connection,
        site,
        call: { signal, onWait },
        subject: `Pages '${urlPart}'`,
        filter,
        find: findTextPages,
      }),
  };
}

/** Fetches the published page as one HTML file. Returns "gone" if it is another page now, or unpublished. */
async function fetchPage(library: PageLibrary, item: ItemRef, call: CallContext): Promise<Fetched> {
  try {
    const original = await readOriginal(library, item, call);
    return original === undefined ? { status: "gone" } : { status: "fetched", body: asStream(original) };
  } catch (error) {
    const outcome = expectedOutcome(error);
    if (outcome) return outcome;
    if (error instanceof RemoteError)
      throw new RemoteError(`download '${item.path}': ${error.message}`, { cause: error });
    throw error;
  }
}

/** Returns undefined if it is gone. */
async function readOriginal(library: PageLibrary, item: ItemRef, call: CallContext): Promise<string | undefined> {
  const { rest, site, columns } = library;
  if (!Number.isSafeInteger(item.listItemId) || item.listItemId < 1) {
    throw new RemoteError(`${item.listItemId} is no number of a page`);
  }
  const select = [...PAGE_FIELDS, ...columns.texts].join();
  const url = `${listUrl(library)}/items(${item.listItemId})?$select=${select}&$expand=File`;
  const row = await rest.getJson(url, call);
  const { key, serverPath } = decodePageIdentity(row);
  const publication = publicationOf(row);
  if (key !== item.itemId || publication === "never published") return undefined;
  const texts = publication === "published" ? row : await readPublishedTexts(library, item.listItemId, call);
  return writePageOriginal(decodePageTexts(texts, `${site.origin}${encodePath(serverPath)}`));
}

async function* asStream(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

/** Lists every page in its published version; unpublished edits have no effect. Calls `onFound` before the first page. */
async function* listPages(
  options: Omit<LibraryListingOptions, "chooseDecoder">,
  onFound: (library: PageLibrary) => void,
): Listing {
  const { rest, site, call } = options;
  const drafts = new Set<ItemId>();
  let pageLibrary: PageLibrary | undefined;
  const listing = listLibrary({
    ...options,
    async chooseDecoder({ library }: LibraryTarget) {
      pageLibrary = await openPageLibrary({ rest, site }, library, call);
      onFound(pageLibrary);
      return {
        columns: pageLibrary.columns.listing,
        decode(value, base) {
          const { row, publication } = decodePageRow(value, base);
          if (row.kind === "file" && publication !== "published") drafts.add(row.sighting.itemId);
          return row;
        },
      };
    },
  });
  let step = await listing.next();
  for (; !step.done; step = await listing.next())
    yield await withPublished(step.value, drafts, { ...(pageLibrary ?? { rest, site }), call }, pageSighting);
  return step.value;
}

/** A found library of pages. */
interface PageLibrary extends VersionedLibrary {
  readonly listId: string;
  readonly columns: PageColumns;
}

async function openPageLibrary(
  { rest, site }: Pick<PageLibrary, "rest" | "site">,
  { listId, isModerated }: LibraryRoot,
  call: CallContext,
): Promise<PageLibrary> {
  const base = { rest, site, listId, ...(isModerated && { moderatedListId: listId }) };
  const url = `${listUrl(base)}/fields?$select=${COLUMN_NAME_FIELDS}`;
  return { ...base, columns: decodeColumns(await rest.getJson(url, call)) };
}

/** Reads the columns of this version. */
async function readPublishedTexts(
  library: PageLibrary,
  listItemId: number,
  call: CallContext,
): Promise<Record<string, unknown>> {
  const { rest, columns } = library;
  const versions = `${listUrl(library)}/items(${listItemId})/versions`;
  const response = await rest.getJson(`${versions}?$select=${ITEM_VERSION_FIELDS}`, call);
  const version = decodePublishedItemVersion(response, await readApproved(library, listItemId, call)) ?? notInHistory();
  try {
    return await rest.getJson(`${versions}(${version})?$select=${["VersionId", ...columns.texts].join()}`, call);
  } catch (error) {
    if (!(error instanceof SharePointError) || error.status !== 400) throw error;
    // A column may be newer than the version, or not selectable: then read all columns of this version.
    return await rest.getJson(`${versions}(${version})`, call);
  }
}

function listUrl({ site, listId }: Pick<PageLibrary, "site" | "listId">): string {
  return `${site.api}web/lists(guid'${encodeURIComponent(listId)}')`;
}

function notInHistory(): never {
  throw new RemoteError("the published version is not in the history of the page");
}

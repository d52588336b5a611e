import { RemoteError } from "../../../contracts/errors.ts";
import type { Source } from "../../../contracts/source.ts";
import { adviseOn } from "../advise-on.ts";
import { examineSource } from "../examine-source.ts";
import { findLibrary } from "../find-library.ts";
import type { LibraryRoot } from "../library-codec.ts";
import { oncePerPause } from "../once-per-pause.ts";
import type { CallContext } from "../rest-client.ts";
import type { SharePointConnection } from "../sharepoint-connection.ts";
import type { SitePageSourceConfig } from "../sharepoint-source-codec.ts";
import { parseSiteUrl } from "../site-url.ts";
import type { OnWait } from "../throttle-gate.ts";
import { fetchPage } from "./fetch-page.ts";
import { listPages } from "./list-pages.ts";
import { holdsText } from "./page-codec.ts";
import { openPageLibrary, type PageLibrary } from "./page-library.ts";

export interface SharePointPagesOptions {
  /** Told when requests wait; once per pause, not per request. */
  readonly onWait?: OnWait;
  readonly pageSize?: number;
}

const DEFAULT_URL_PART = "/SitePages";
const DEFAULT_PAGE_SIZE = 2000;

/**
 * The published pages of a site, or of one folder of its pages, as a source. Their text comes from the page's columns:
 * the page itself is a program that shows nothing without a browser. Throws BadInputError when the site's address is none.
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
    new RemoteError(`list '${urlPart}' of ${site.text}: ${adviseOn(error, filter)}`, { cause: error });
  /** As the last listing found it. */
  let found: PageLibrary | undefined;
  let hidden = 0;

  async function findPages(call: CallContext): Promise<{ library: LibraryRoot; pages: PageLibrary }> {
    const { library } = await findLibrary(rest, site, urlPart, call);
    return { library, pages: await openPageLibrary({ rest, site }, library, call) };
  }

  async function examinePages(call: CallContext): Promise<LibraryRoot> {
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
        found = library;
      });
    },
    hiddenRows: () => hidden,
    async fetch(item, signal) {
      const call = { signal, onWait };
      found ??= (await findPages(call)).pages;
      return await fetchPage(found, item, call);
    },
    examine: (signal) =>
      examineSource({
        connection,
        site,
        call: { signal, onWait },
        subject: `Pages '${urlPart}'`,
        filter,
        find: examinePages,
      }),
  };
}

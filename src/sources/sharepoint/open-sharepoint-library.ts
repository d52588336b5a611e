import type { FileSourceConfig } from "../../contracts/domain.ts";
import { RemoteError } from "../../contracts/errors.ts";
import type { Source } from "../../contracts/source.ts";
import { fetchFile } from "./fetch-file.ts";
import { listLibrary } from "./list-library.ts";
import { SharePointError } from "./rest-client.ts";
import { QUERY_THROTTLED } from "./retry.ts";
import type { SharePointConnection } from "./sharepoint-connection.ts";
import { parseSiteUrl } from "./site-url.ts";
import type { OnWait } from "./throttle-gate.ts";

export interface SharePointLibraryOptions {
  /** Told when requests wait, because the server asked for it or before another try; once per pause, not per request. */
  readonly onWait?: OnWait;
  readonly pageSize?: number;
}

/** SharePoint allows 5000, but a page of 2000 with the file of every row comes in good time. */
const DEFAULT_PAGE_SIZE = 2000;

/** A document library, or one folder of it, as a source. Throws BadInputError when the site's address is none. */
export function openSharePointLibrary(
  config: FileSourceConfig,
  connection: SharePointConnection,
  options: SharePointLibraryOptions = {},
): Source {
  const { rest } = connection;
  const site = parseSiteUrl(config.siteUrl);
  const urlPart = `/${config.urlPart.replaceAll(/^\/+|\/+$/g, "")}`;
  const filter = config.filter.trim();
  const pageSize = options.pageSize ?? DEFAULT_PAGE_SIZE;
  const onWait = oncePerPause(options.onWait);

  return {
    id: config.sourceId,
    list(signal) {
      const advise = (error: RemoteError): RemoteError =>
        new RemoteError(`list '${urlPart}' of ${site.text}: ${adviseOn(error, filter)}`, { cause: error });
      return listLibrary({ rest, site, urlPart, filter, pageSize, call: { signal, onWait }, advise });
    },
    fetch: (item, signal) => fetchFile(rest, site, item, { signal, onWait }),
    examine: async function* () {},
  };
}

/** The reason, and what a person can do about it where we know. */
function adviseOn(error: RemoteError, filter: string): string {
  const reason = error.message;
  if (!(error instanceof SharePointError)) return reason;
  if (error.code === QUERY_THROTTLED || error.exception.endsWith("SPQueryThrottledException")) {
    return filter
      ? `${reason}. The library is too large for the filter "${filter}": filter by an indexed column, or leave 'filter' empty.`
      : `${reason}. Ask the site's owner about the list view threshold.`;
  }
  if (error.status === 400 && filter) return `${reason}. Check the filter "${filter}".`;
  if (error.status === 401)
    return `${reason}. The app needs a certificate and a permission on SharePoint, not on Graph.`;
  if (error.status === 403)
    return `${reason}. Grant the app read access to this site (Sites.Selected or Sites.Read.All).`;
  if (error.status === 404) return `${reason}. Check 'site_url'.`;
  if (error.status >= 300 && error.status < 400) return `${reason}. The site may have moved: check 'site_url'.`;
  return reason;
}

/** Four downloads wait for the same pause; the log should say so once. */
function oncePerPause(onWait: OnWait | undefined): OnWait {
  let toldUntilMs = 0;
  return (reason, ms) => {
    const untilMs = performance.now() + ms;
    if (!onWait || untilMs <= toldUntilMs + SAME_PAUSE_MS) return;
    toldUntilMs = untilMs;
    onWait(reason, ms);
  };
}

/** Computed at slightly different moments, the end of one pause differs by about this much. */
const SAME_PAUSE_MS = 50;

import { RemoteError } from "../../contracts/errors.ts";
import type { Listing, Source } from "../../contracts/source.ts";
import type { OnWait } from "../../lib/pace.ts";
import { adviseOn, examineSource } from "./diagnose-source.ts";
import { downloadFailure } from "./fetch-file.ts";
import { type FilePlace, type FileReading, readingOf } from "./file-reader.ts";
import { findLibrary } from "./find-library.ts";
import { oncePerPause } from "./http.ts";
import type { LibraryRoot } from "./library-codec.ts";
import { type LibraryListing, listLibrary } from "./list-library.ts";
import { openChangeFeed } from "./open-change-feed.ts";
import type { CallContext } from "./rest-client.ts";
import type { SharePointConnection } from "./sharepoint-connection.ts";
import type { FileSourceConfig } from "./sharepoint-source-codec.ts";
import { parseSiteUrl } from "./site-url.ts";

interface SharePointLibraryOptions {
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

  const advise = (error: RemoteError): RemoteError =>
    new RemoteError(`list '${urlPart}' of ${site.text}: ${adviseOn(error, filter)}`, { cause: error });
  const callWith = (signal: AbortSignal): CallContext => ({ signal, onWait });
  const place = { rest, site, urlPart, filter, advise, drafts: config.drafts ?? false };
  let hidden = 0;
  /** As the last look found it. */
  let reading: FileReading | undefined;

  return {
    id: config.sourceId,
    list(signal) {
      hidden = 0;
      const onHidden = (rows: number): void => {
        hidden = rows;
      };
      return listFiles({ ...place, pageSize, call: callWith(signal), onHidden }, (found) => {
        reading = found;
      });
    },
    hiddenRows: () => hidden,
    feed: openChangeFeed({
      ...place,
      callWith,
      onFound(library) {
        reading = readingOf(library, place);
      },
    }),
    async fetch(item, signal) {
      const call = callWith(signal);
      try {
        reading ??= readingOf((await findLibrary(rest, site, urlPart, call)).library, place);
      } catch (error) {
        throw downloadFailure(error, item);
      }
      return await reading.fetch(item, call);
    },
    examine(signal) {
      const find = async (call: CallContext): Promise<LibraryRoot> =>
        (await findLibrary(rest, site, urlPart, call)).library;
      return examineSource({ connection, site, call: callWith(signal), subject: `Library '${urlPart}'`, filter, find });
    },
  };
}

/** Every file of the library as `readingOf` has it. `onFound` is told how before the first page of the listing. */
async function* listFiles(
  wanted: Omit<LibraryListing, "chooseReading"> & FilePlace,
  onFound: (reading: FileReading) => void,
): Listing {
  let reading: FileReading | undefined;
  const listing = listLibrary({
    ...wanted,
    async chooseReading({ library }) {
      reading = readingOf(library, wanted);
      onFound(reading);
      return { columns: [], decode: reading.decode };
    },
  });
  let step = await listing.next();
  for (; !step.done; step = await listing.next()) yield (await reading?.settle(step.value, wanted.call)) ?? step.value;
  return step.value;
}

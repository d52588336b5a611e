import { RemoteError } from "../../contracts/errors.ts";
import type { Listing, Source } from "../../contracts/source.ts";
import type { OnWait } from "../../lib/pace.ts";
import { diagnoseSource, withAdvice } from "./diagnose-source.ts";
import { downloadFailure } from "./fetch-file.ts";
import { createFileReader, type FileReader, type FileReaderOptions } from "./file-reader.ts";
import { findLibrary } from "./find-library.ts";
import { oncePerPause } from "./http.ts";
import type { LibraryRoot } from "./library-codec.ts";
import { type LibraryListingOptions, listLibrary } from "./list-library.ts";
import { openChangeFeed } from "./open-change-feed.ts";
import type { CallContext } from "./rest-client.ts";
import type { SharePointConnection } from "./sharepoint-connection.ts";
import type { FileSourceConfig } from "./sharepoint-source-codec.ts";
import { parseSiteUrl } from "./site-url.ts";

interface SharePointLibraryOptions {
  /** Called when requests wait (throttling or a retry); once per pause, not per request. */
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
    new RemoteError(`list '${urlPart}' of ${site.text}: ${withAdvice(error, filter)}`, { cause: error });
  const callWith = (signal: AbortSignal): CallContext => ({ signal, onWait });
  const access = { rest, site, urlPart, filter, advise, drafts: config.drafts ?? false };
  let hidden = 0;
  /** From the last listing. */
  let reader: FileReader | undefined;

  return {
    id: config.sourceId,
    list(signal) {
      hidden = 0;
      const onHidden = (rows: number): void => {
        hidden = rows;
      };
      return listFiles({ ...access, pageSize, call: callWith(signal), onHidden }, (foundReader) => {
        reader = foundReader;
      });
    },
    hiddenRows: () => hidden,
    feed: openChangeFeed({
      ...access,
      callWith,
      onFound(library) {
        reader = createFileReader(library, access);
      },
    }),
    async fetch(item, signal) {
      const call = callWith(signal);
      try {
        reader ??= createFileReader((await findLibrary(rest, site, urlPart, call)).library, access);
      } catch (error) {
        throw downloadFailure(error, item);
      }
      return await reader.fetch(item, call);
    },
    diagnose(signal) {
      const find = async (call: CallContext): Promise<LibraryRoot> =>
        (await findLibrary(rest, site, urlPart, call)).library;
      return diagnoseSource({
        connection,
        site,
        call: callWith(signal),
        subject: `Library '${urlPart}'`,
        filter,
        find,
      });
    },
  };
}

/** Lists every file as the reader decodes it. `onFound` is called before the first page. */
async function* listFiles(
  options: Omit<LibraryListingOptions, "chooseDecoder"> & FileReaderOptions,
  onFound: (reader: FileReader) => void,
): Listing {
  let reader: FileReader | undefined;
  const listing = listLibrary({
    ...options,
    async chooseDecoder({ library }) {
      reader = createFileReader(library, options);
      onFound(reader);
      return { columns: [], decode: reader.decode };
    },
  });
  let step = await listing.next();
  for (; !step.done; step = await listing.next())
    yield (await reader?.resolvePublished(step.value, options.call)) ?? step.value;
  return step.value;
}

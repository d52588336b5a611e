import type { ItemId } from "../../contracts/ids.ts";
import type { Fetched, ItemRef, Listed, Sighting } from "../../contracts/source.ts";
import { downloadFailure, etagVersion, expectedOutcome, fetchFile, fetchFrom, fileUrl } from "./fetch-file.ts";
import { decodeRow, type LibraryRoot, type LibraryScope, type Row } from "./library-codec.ts";
import {
  NEVER_PUBLISHED,
  type PublishedVersion,
  publicationOf,
  readPublishedVersion,
  VERSION_FIELDS,
  type VersionedLibrary,
  versionLabel,
  withPublished,
} from "./published-version.ts";
import type { CallContext, RestClient } from "./rest-client.ts";
import type { SiteAddress } from "./site-url.ts";

/** Reads the files of one library: the latest version, or the latest published one. */
export interface FileReader {
  decode(value: unknown, library: LibraryScope): Row;
  /** Replaces drafts of a decoded page by their published versions. */
  resolvePublished(found: readonly Listed[], call: CallContext): Promise<readonly Listed[]>;
  fetch(item: ItemRef, call: CallContext): Promise<Fetched>;
}

export interface FileReaderOptions {
  readonly rest: RestClient;
  readonly site: SiteAddress;
  /** Drafts are read, too. */
  readonly drafts: boolean;
}

export function createFileReader(
  library: LibraryRoot,
  { rest, site, drafts: takesDrafts }: FileReaderOptions,
): FileReader {
  if (takesDrafts) {
    const resolvePublished = async (found: readonly Listed[]): Promise<readonly Listed[]> => found;
    return { decode: decodeRow, resolvePublished, fetch: (item, call) => fetchFile(rest, site, item, call) };
  }
  const drafts = new Set<ItemId>();
  const versioned = { rest, site, ...(library.isModerated && { moderatedListId: library.listId }) };
  return {
    decode(value, at) {
      const row = decodeRow(value, at);
      if (row.kind !== "file") return row;
      const publication = publicationOf(value as { File?: unknown });
      if (publication === "draft over a published version") drafts.add(row.sighting.itemId);
      return publication === "never published"
        ? { ...row, sighting: { ...row.sighting, withheld: NEVER_PUBLISHED } }
        : row;
    },
    resolvePublished: (found, call) => withPublished(found, drafts, { ...versioned, call }, asPublished),
    // If the ETag has a version and the library no drafts, the file is fetched without asking for its version first.
    fetch(item, call) {
      const { etag } = item.fingerprint;
      const fetchLatest = (): Promise<Fetched> => fetchPublished(versioned, item, call);
      return library.mayHoldDrafts || etagVersion(etag) === ""
        ? fetchLatest()
        : fetchFrom(`${fileUrl(site, item)}/$value`, rest, item, call, { etag, onMismatch: fetchLatest });
    },
  };
}

/** The fingerprint has no content version, which SharePoint tells only of the latest one: the version label stands for it. */
function asPublished(sighting: Sighting, { version, size, modifiedAt }: PublishedVersion): Sighting {
  return {
    ...sighting,
    fingerprint: { size, modifiedAt, etag: `version ${versionLabel(version)}`, contentVersion: "" },
  };
}

/** Reads the version again: a file that was published when listed may have a draft on top of it by now. */
async function fetchPublished(library: VersionedLibrary, item: ItemRef, call: CallContext): Promise<Fetched> {
  const { rest, site } = library;
  const url = fileUrl(site, item);
  try {
    const file = await rest.getJson(`${url}?$select=${[...VERSION_FIELDS, "ETag"].join()}`, call);
    const publication = publicationOf({ File: file });
    if (publication === "published")
      return await fetchFrom(`${url}/$value`, rest, item, call, { etag: String(file["ETag"] ?? "") });
    const published = publication === "never published" ? undefined : await readPublishedVersion(library, item, call);
    return published
      ? await fetchFrom(`${url}/versions(${published.version})/$value`, rest, item, call)
      : { status: "gone" };
  } catch (error) {
    const outcome = expectedOutcome(error);
    if (outcome) return outcome;
    throw downloadFailure(error, item);
  }
}

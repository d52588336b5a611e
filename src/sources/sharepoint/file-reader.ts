import type { ItemId } from "../../contracts/ids.ts";
import type { Fetched, ItemRef, Listed, Sighting } from "../../contracts/source.ts";
import { downloadFailure, expectedOutcome, fetchFile, fetchFrom, fileUrl, touchCount } from "./fetch-file.ts";
import { decodeRow, type LibraryRoot, type Place, type Row } from "./library-codec.ts";
import {
  NEVER_PUBLISHED,
  type PublishedVersion,
  publicationOf,
  readPublishedVersion,
  VERSION_FIELDS,
  type VersionedPlace,
  versionLabel,
  withPublished,
} from "./published-version.ts";
import type { CallContext, RestClient } from "./rest-client.ts";
import type { SiteAddress } from "./site-url.ts";

/** How the files of one library are read: as they are, or as they were published. */
export interface FileReading {
  decode(value: unknown, place: Place): Row;
  /** To be asked for every batch of what was decoded. */
  settle(found: readonly Listed[], call: CallContext): Promise<readonly Listed[]>;
  fetch(item: ItemRef, call: CallContext): Promise<Fetched>;
}

export interface FilePlace {
  readonly rest: RestClient;
  readonly site: SiteAddress;
  /** Drafts are taken, too. */
  readonly drafts: boolean;
}

export function readingOf(library: LibraryRoot, { rest, site, drafts: takesDrafts }: FilePlace): FileReading {
  if (takesDrafts) {
    const settle = async (found: readonly Listed[]): Promise<readonly Listed[]> => found;
    return { decode: decodeRow, settle, fetch: (item, call) => fetchFile(rest, site, item, call) };
  }
  const drafts = new Set<ItemId>();
  const place = { rest, site, ...(library.isModerated && { moderatedListId: library.listId }) };
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
    settle: (found, call) => withPublished(found, drafts, { ...place, call }, asPublished),
    // Of a row that was a published one, its ETag tells; only where it does is a question saved.
    fetch(item, call) {
      const { etag } = item.fingerprint;
      const ask = (): Promise<Fetched> => fetchPublished(place, item, call);
      return library.mayHoldDrafts || touchCount(etag) === ""
        ? ask()
        : fetchFrom(`${fileUrl(site, item)}/$value`, rest, item, call, { etag, otherwise: ask });
    },
  };
}

/** Without a content version, which only the latest one tells: the label stands for it until there is another. */
function asPublished(sighting: Sighting, { version, size, modifiedAt }: PublishedVersion): Sighting {
  return {
    ...sighting,
    fingerprint: { size, modifiedAt, etag: `version ${versionLabel(version)}`, contentVersion: "" },
  };
}

/** Asked anew: what was published when it was listed may have a draft on top of it by now. */
async function fetchPublished(place: VersionedPlace, item: ItemRef, call: CallContext): Promise<Fetched> {
  const { rest, site } = place;
  const url = fileUrl(site, item);
  try {
    const file = await rest.getJson(`${url}?$select=${[...VERSION_FIELDS, "ETag"].join()}`, call);
    const publication = publicationOf({ File: file });
    if (publication === "published")
      return await fetchFrom(`${url}/$value`, rest, item, call, { etag: String(file["ETag"] ?? "") });
    const published = publication === "never published" ? undefined : await readPublishedVersion(place, item, call);
    return published
      ? await fetchFrom(`${url}/versions(${published.version})/$value`, rest, item, call)
      : { status: "gone" };
  } catch (error) {
    const outcome = expectedOutcome(error);
    if (outcome) return outcome;
    throw downloadFailure(error, item);
  }
}

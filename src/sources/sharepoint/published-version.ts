import { CancelledError, explain, RemoteError } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { ItemRef, Listed, Sighting } from "../../contracts/source.ts";
import { forEachConcurrent } from "../../lib/concurrency.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { readTime } from "./library-codec.ts";
import { type CallContext, type RestClient, SharePointError } from "./rest-client.ts";
import type { SiteAddress } from "./site-url.ts";

/** Finds the version of a file that readers see, where that is not the latest one. */

export type Publication = "published" | "draft over a published version" | "never published";

/** Fields of the file; every library has them. */
export const VERSION_FIELDS: readonly string[] = ["Level", "UIVersion"];

/** A major version has a multiple of this number, its drafts the numbers after it. */
const VERSIONS_PER_MAJOR = 512;
const PUBLISHED_LEVEL = 1;

/** A row without version counts as published: a library without versions publishes everything. */
export function publicationOf({ File: file }: { readonly File?: unknown }): Publication {
  const { UIVersion, Level } = isJsonObject(file) ? file : {};
  const [version, level] = [Number(UIVersion) || VERSIONS_PER_MAJOR, Number(Level) || PUBLISHED_LEVEL];
  // With approval, or before the first check-in, version 1.0 is still a draft.
  if (version < VERSIONS_PER_MAJOR || (version === VERSIONS_PER_MAJOR && level !== PUBLISHED_LEVEL))
    return "never published";
  const isPublished = version % VERSIONS_PER_MAJOR === 0 && level === PUBLISHED_LEVEL;
  return isPublished ? "published" : "draft over a published version";
}

export function versionLabel(version: number): string {
  return `${Math.floor(version / VERSIONS_PER_MAJOR)}.${version % VERSIONS_PER_MAJOR}`;
}

export interface PublishedVersion {
  readonly version: number;
  readonly size: number;
  readonly modifiedAt: string;
}

/** A library whose files may have versions that readers do not see. */
export interface VersionedLibrary {
  readonly rest: RestClient;
  readonly site: SiteAddress;
  /** Set where versions wait for approval: then a major version alone is not a published one. */
  readonly moderatedListId?: string;
}

/** Returns undefined when none was ever published. Throws when there should be one and it is not in the history. */
export async function readPublishedVersion(
  library: VersionedLibrary,
  item: Pick<ItemRef, "itemId" | "listItemId">,
  call: CallContext,
): Promise<PublishedVersion | undefined> {
  const response = await library.rest.getJson(`${library.site.api}web/GetFileById('${item.itemId}')/versions`, call);
  const approved = await readApproved(library, item.listItemId, call);
  if (approved?.size === 0) return undefined;
  const found = decodePublishedFileVersion(response, approved);
  if (!found) throw new RemoteError("the published version is not in the history");
  return found;
}

/** Returns the newest published one of a file's earlier versions; undefined when none is left. */
export function decodePublishedFileVersion(
  response: JsonObject,
  approved?: ReadonlySet<number>,
): PublishedVersion | undefined {
  const found = newestMajor(response, "ID", approved);
  if (!found) return undefined;
  const size = Number(found.row["Length"] ?? found.row["Size"] ?? 0);
  const modifiedAt = readTime(String(found.row["Created"] ?? ""));
  if (!modifiedAt) throw new RemoteError("a version does not tell its time");
  return { version: found.version, size: Number.isSafeInteger(size) ? size : 0, modifiedAt };
}

const MODERATION_STATUS = "OData__x005f_ModerationStatus";
const APPROVED = 0;

/** Returns the approved versions; undefined where none needs approval. Throws when the server does not tell: other versions may have been rejected. */
export async function readApproved(
  { rest, site, moderatedListId }: VersionedLibrary,
  listItemId: number,
  call: CallContext,
): Promise<ReadonlySet<number> | undefined> {
  if (moderatedListId === undefined) return undefined;
  const item = `${site.api}web/lists(guid'${encodeURIComponent(moderatedListId)}')/items(${listItemId})`;
  const response = await rest
    .getJson(`${item}/versions?$select=VersionId,${MODERATION_STATUS}`, call)
    .catch((error) => {
      if (!(error instanceof SharePointError) || error.status !== 400) throw error;
      throw new RemoteError(`${NO_APPROVAL_STATUS}: ${error.message}`, { cause: error });
    });
  const rows = Array.isArray(response["value"]) ? response["value"].filter(isJsonObject) : [];
  if (!rows.some((row) => typeof row[MODERATION_STATUS] === "number")) throw new RemoteError(NO_APPROVAL_STATUS);
  return new Set(rows.filter((row) => row[MODERATION_STATUS] === APPROVED).map((row) => Number(row["VersionId"])));
}

const NO_APPROVAL_STATUS = "SharePoint does not tell which versions were approved";

/** Returns the newest major version before the current one, which is a draft when this is called. */
export function newestMajor(
  response: JsonObject,
  key: string,
  among?: ReadonlySet<number>,
): { readonly version: number; readonly row: JsonObject } | undefined {
  const rows = response["value"];
  if (!Array.isArray(rows)) throw new RemoteError("SharePoint's answer is not a list of versions");
  let newest: { version: number; row: JsonObject } | undefined;
  for (const row of rows.filter(isJsonObject)) {
    const version = Number(row[key]);
    const isMajor =
      version >= VERSIONS_PER_MAJOR && version % VERSIONS_PER_MAJOR === 0 && (among?.has(version) ?? true);
    if (isMajor && row["IsCurrentVersion"] !== true && version > (newest?.version ?? 0)) newest = { version, row };
  }
  return newest;
}

/** Why a file is listed and not taken. */
export const NEVER_PUBLISHED = "no version of it was published, and the source does not take drafts";

const CONCURRENCY = 4;

/** Replaces drafts by their published versions: looks them up one by one, since they are few, and passes them to `adopt`. */
export async function withPublished(
  found: readonly Listed[],
  drafts: ReadonlySet<ItemId>,
  library: VersionedLibrary & { readonly call: CallContext },
  adopt: (sighting: Sighting, published: PublishedVersion) => Sighting,
): Promise<readonly Listed[]> {
  const isDraft = (each: Listed): each is Sighting => each.kind === "sighting" && drafts.has(each.itemId);
  const published = new Map<ItemId, Listed>();
  await forEachConcurrent(found.filter(isDraft), CONCURRENCY, async (sighting) => {
    published.set(sighting.itemId, await publishedSighting(sighting, library, adopt));
  });
  return found.map((each) => (isDraft(each) ? (published.get(each.itemId) ?? each) : each));
}

/** Returns Unreadable when the published version cannot be read: what is known of the file stays, and the draft is not taken. */
async function publishedSighting(
  sighting: Sighting,
  library: VersionedLibrary & { readonly call: CallContext },
  adopt: (sighting: Sighting, published: PublishedVersion) => Sighting,
): Promise<Listed> {
  const { itemId, path } = sighting;
  try {
    const published = await readPublishedVersion(library, sighting, library.call);
    return published ? adopt(sighting, published) : { ...sighting, withheld: NEVER_PUBLISHED };
  } catch (error) {
    if (error instanceof CancelledError) throw error;
    return { kind: "unreadable", path, itemId, reason: `look up what is published of '${path}': ${explain(error)}` };
  }
}

import { RemoteError } from "../../contracts/errors.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { bareEtag, type StoredObject } from "../tree/create-object-tree.ts";
import { isAwsHost } from "./bucket-address.ts";
import type { OpenedBucket } from "./open-bucket.ts";
import { parseXml, readText, type S3Client, S3Failure } from "./s3-client.ts";
import { ARCHIVED, explainBucket, RESTORING } from "./s3-trouble.ts";

interface Listing {
  readonly objects: readonly StoredObject[];
  /** Where the next page begins; "" for the last. */
  readonly next: string;
}

/** A thousand keys of 1024 bytes, each written as three, and as much again for what is said of them. */
const MAX_BYTES = 8 * 1024 * 1024;
const ARCHIVES: ReadonlySet<unknown> = new Set(["GLACIER", "DEEP_ARCHIVE"]);

/** Every object whose key begins with the prefix, as many at a time as one answer has. Ends normally only when it has them all. */
export async function* listObjects(
  bucket: OpenedBucket,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredObject[], void> {
  for (let token = ""; ; ) {
    const { objects, next } = await listPage(bucket, { prefix, token }, signal).catch((error: unknown) => {
      throw explainBucket(error, bucket);
    });
    yield objects;
    if (next === "") return;
    if (next === token) throw new RemoteError(`Cannot read the bucket ${bucket.place}: its list does not go on`);
    token = next;
  }
}

/** Throws S3Failure. */
export async function listPage(
  { client, place }: { readonly client: S3Client; readonly place: string },
  { prefix = "", token = "", maxKeys = 1000 }: { prefix?: string; token?: string; maxKeys?: number },
  signal: AbortSignal,
): Promise<Listing> {
  const query = Object.entries({ "list-type": 2, "encoding-type": "url", "max-keys": maxKeys, prefix });
  if (token) query.push(["continuation-token", token]);
  const url = `${place}?${query.map((pair) => pair.map(encodeURIComponent).join("=")).join("&")}`;
  // Others may refuse what they do not know.
  const isAws = isAwsHost(new URL(place).hostname);
  const headers = isAws ? { "x-amz-optional-object-attributes": "RestoreStatus" } : {};
  return await client.get({ url, headers }, signal, async ({ body }) => {
    const listing = readListing((await readText(body, MAX_BYTES)) ?? "");
    // Half a list is worth another try.
    if (!listing) throw new S3Failure(undefined, "no list of objects");
    return listing;
  });
}

/** undefined for what is no list, or not all of one. */
function readListing(text: string): Listing | undefined {
  const list = parseXml(text)?.["ListBucketResult"];
  if (!isJsonObject(list)) return undefined;
  const { IsTruncated, NextContinuationToken: next, EncodingType, Contents = [] } = list;
  const isTruncated = IsTruncated === "true";
  if (!Array.isArray(Contents) || (!isTruncated && IsTruncated !== "false")) return undefined;
  if (isTruncated && (typeof next !== "string" || next === "")) return undefined;
  const objects: StoredObject[] = [];
  for (const content of Contents) {
    const name = isJsonObject(content) ? readKey(content["Key"], EncodingType) : undefined;
    if (name === undefined) return undefined;
    objects.push(toObject(name, content as JsonObject));
  }
  return { objects, next: isTruncated ? (next as string) : "" };
}

/** XML has no way to write some characters, so services are asked to write keys as forms do. Not all know how. */
function readKey(key: unknown, encoding: unknown): string | undefined {
  if (typeof key !== "string" || key === "") return undefined;
  if (encoding !== "url") return key;
  try {
    return decodeURIComponent(key.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

function toObject(name: string, { Size, LastModified, ETag, StorageClass, RestoreStatus }: JsonObject): StoredObject {
  const modifiedAtMs = Date.parse(String(LastModified));
  return {
    name,
    size: Number(Size) || 0,
    modifiedAtMs: Number.isNaN(modifiedAtMs) ? 0 : modifiedAtMs,
    etag: typeof ETag === "string" ? bareEtag(ETag) : "",
    unreadable: ARCHIVES.has(StorageClass) ? whyArchived(RestoreStatus) : "",
  };
}

/** A copy of an archived object can be read for some days. */
function whyArchived(restore: unknown): string {
  if (!isJsonObject(restore)) return ARCHIVED;
  if (restore["IsRestoreInProgress"] === "true") return RESTORING;
  return Date.parse(String(restore["RestoreExpiryDate"])) > Date.now() ? "" : ARCHIVED;
}

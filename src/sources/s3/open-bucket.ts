import { BadInputError, NotFoundError, RemoteError } from "../../contracts/errors.ts";
import { explainNetwork } from "../../lib/explain-network.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { bareEtag, type StoredObject } from "../tree/create-object-tree.ts";
import { type AwsCredentials, findEnvironmentCredentials, type ReadVariable } from "./environment-credentials.ts";
import { createS3Client, parseXml, readText, type S3Client, S3Failure, type S3Timing } from "./s3-client.ts";
import type { S3SourceConfig } from "./s3-source-codec.ts";

export interface OpenBucket {
  readonly client: S3Client;
  /** Its URL, without trailing slash. */
  readonly url: string;
  readonly region: string;
  /** The credential in use, for messages: `the key in REPORTS_KEY`. */
  readonly access: string;
  /** What to do when the service refuses. */
  readonly hint: string;
}

/** Location and credential of a bucket. */
export type BucketSettings = Pick<S3SourceConfig, "bucket" | "endpoint" | "region" | "credential">;

const NO_CREDENTIAL_HINT =
  "without a credential only public buckets can be read: name an environment variable in 'credential'";
const RIGHTS = "s3:ListBucket and s3:GetObject";

/** Opens a bucket with the value of the variable `credential`; without one with keys or role of the environment, or anonymously. */
export async function openBucket(
  { bucket, endpoint, region, credential }: BucketSettings,
  variable: ReadVariable,
  timing?: S3Timing,
): Promise<OpenBucket> {
  const url = bucketUrl(bucket, endpoint, region);
  const { protocol, hostname } = new URL(url);
  if (protocol !== "https:" && !isLoopbackHost(hostname)) {
    throw new BadInputError(`The bucket ${url} needs https: without it, its content would be sent unencrypted.`);
  }
  const bucketWith = (
    labels: Pick<OpenBucket, "access" | "hint">,
    credentials?: () => Promise<AwsCredentials>,
  ): OpenBucket => ({ client: createS3Client({ region, credentials, timing }), url, region, ...labels });
  if (credential !== "") {
    const keys = readKeys(variable(credential), credential);
    const hint = `check the key in ${credential}, and that it allows ${RIGHTS} for this bucket`;
    return bucketWith({ access: `the key in ${credential}`, hint }, async () => keys);
  }
  const environment = await findEnvironmentCredentials(variable, isAwsHost(hostname) || isLoopbackHost(hostname));
  if (!environment) return bucketWith({ access: "no credential", hint: NO_CREDENTIAL_HINT });
  const hint = `allow ${environment.access} ${RIGHTS} for this bucket`;
  const signed = bucketWith({ access: environment.access, hint }, environment.current);
  return (await isRefused(signed))
    ? bucketWith({ access: "no credential", hint: `${NO_CREDENTIAL_HINT}, or ${hint}` })
    : signed;
}

function readKeys(value: string | undefined, credential: string): AwsCredentials {
  const text = value?.trim();
  if (!text) {
    throw new BadInputError(
      `The environment variable ${credential}, which the source names as its credential, is not set.`,
    );
  }
  const [, accessKeyId, secretAccessKey] = /^([^\s:]+):(\S+)$/.exec(text) ?? [];
  if (!accessKeyId || !secretAccessKey) {
    throw new BadInputError(`${credential} must hold a key as ACCESS_KEY:SECRET, with a colon between the two.`);
  }
  return { accessKeyId, secretAccessKey, sessionToken: "", expiresAtMs: Number.POSITIVE_INFINITY };
}

/** Whether the credentials may not list the bucket. Other errors say nothing about rights; the listing reports them again. */
async function isRefused(bucket: OpenBucket): Promise<boolean> {
  try {
    await listPage(bucket, { maxKeys: 1 }, AbortSignal.timeout(60_000));
    return false;
  } catch (error) {
    return error instanceof S3Failure && isRefusal(error);
  }
}

interface Listing {
  readonly objects: readonly StoredObject[];
  /** Continuation token of the next page; "" for the last. */
  readonly next: string;
}

/** A thousand keys of 1024 bytes, each byte escaped as three, and as much again for the other fields. */
const MAX_LISTING_BYTES = 8 * 1024 * 1024;
const ARCHIVES: ReadonlySet<unknown> = new Set(["GLACIER", "DEEP_ARCHIVE"]);

/** Lists the objects with this prefix, one page per response. Ends normally only after the last object. */
export async function* listObjects(
  bucket: OpenBucket,
  prefix: string,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredObject[], void> {
  for (let token = ""; ; ) {
    const { objects, next } = await listPage(bucket, { prefix, token }, signal).catch((error: unknown) => {
      throw explainBucket(error, bucket);
    });
    yield objects;
    if (next === "") return;
    if (next === token) throw new RemoteError(`Cannot read the bucket ${bucket.url}: its listing repeats a page`);
    token = next;
  }
}

/** Throws S3Failure. */
async function listPage(
  { client, url: bucketUrl }: Pick<OpenBucket, "client" | "url">,
  { prefix = "", token = "", maxKeys = 1000 }: { prefix?: string; token?: string; maxKeys?: number },
  signal: AbortSignal,
): Promise<Listing> {
  const query = Object.entries({ "list-type": 2, "encoding-type": "url", "max-keys": maxKeys, prefix });
  if (token) query.push(["continuation-token", token]);
  const url = `${bucketUrl}?${query.map((pair) => pair.map(encodeURIComponent).join("=")).join("&")}`;
  // Other services may reject unknown headers.
  const isAws = isAwsHost(new URL(bucketUrl).hostname);
  const headers = isAws ? { "x-amz-optional-object-attributes": "RestoreStatus" } : {};
  return await client.get({ url, headers }, signal, async ({ body }) => {
    const listing = readListing((await readText(body, MAX_LISTING_BYTES)) ?? "");
    // A truncated response is retried.
    if (!listing) throw new S3Failure(undefined, "no list of objects");
    return listing;
  });
}

/** Returns undefined for anything but a complete listing. */
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

/** Decodes a key. XML cannot contain some characters, so URL encoding is requested; not all services support it. */
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

/** Returns "" if a restored copy can be read. */
function whyArchived(restore: unknown): string {
  if (!isJsonObject(restore)) return ARCHIVED;
  if (restore["IsRestoreInProgress"] === "true") return RESTORING;
  return Date.parse(String(restore["RestoreExpiryDate"])) > Date.now() ? "" : ARCHIVED;
}

/** Error codes that may come with status 400. */
const REFUSALS: ReadonlySet<string> = new Set(["ExpiredToken", "InvalidToken", "InvalidAccessKeyId"]);

const ARCHIVED = "It lies in an archive class (Glacier), where it cannot be read before it is restored.";
const RESTORING = "It is being restored from an archive class (Glacier), and cannot be read yet.";

function isRefusal({ status, code }: S3Failure): boolean {
  return status === 401 || status === 403 || REFUSALS.has(code);
}

/** Explains an S3Failure for users; returns other errors unchanged. */
function explainBucket(error: unknown, { url, region, hint }: OpenBucket): unknown {
  if (!(error instanceof S3Failure)) return error;
  const message = `Cannot read the bucket ${url}`;
  const { status, code } = error;
  const response = [status, code].filter(Boolean).join(" ");
  if (code === "NoSuchBucket") return new RemoteError(`${message}: there is no such bucket`);
  if (error.region && error.region !== region) {
    return new RemoteError(`${message}: it lies in the region '${error.region}'; set 'region' to that`);
  }
  if (code === "RequestTimeTooSkewed") return new RemoteError(`${message}: the clock of this machine is wrong`);
  if (isRefusal(error)) return new RemoteError(`${message}: S3 refuses (${response}); ${hint}`);
  return new RemoteError(`${message}: ${explainNetwork(code) ?? (response ? `S3 answered ${response}` : "no answer")}`);
}

/** Only NoSuchKey means that the object is missing; other errors say nothing about it. */
export function explainObject(error: unknown, key: string, bucket: OpenBucket): unknown {
  if (!(error instanceof S3Failure)) return error;
  const { status, code } = error;
  if (code === "NoSuchKey") return new NotFoundError(`There is no object '${key}' in ${bucket.url}.`);
  if (status === 412) return changedDuringRead(key);
  if (code === "InvalidObjectState") return new RemoteError(ARCHIVED);
  return explainBucket(error, bucket);
}

export function changedDuringRead(key: string): RemoteError {
  return new RemoteError(`'${key}' was changed while it was read; the next run reads it again.`);
}

/** S3 hosts of all partitions and forms; only AWS assigns such names. */
const AWS_HOST = /^([a-z0-9.-]+\.)?s3[.-]([a-z0-9-]+\.)*amazonaws\.com(\.cn)?$/;

/** Session tokens of this machine's role are sent nowhere else. */
export function isAwsHost(host: string): boolean {
  return AWS_HOST.test(host.toLowerCase());
}

/** Returns the URL of a bucket, without trailing slash. Services other than AWS get path-style URLs, which all support. */
export function bucketUrl(bucket: string, endpoint: string, region: string): string {
  if (endpoint) return `${endpoint}/${bucket}`;
  const host = `s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  // AWS's wildcard certificate covers one label, so names with a dot need path style; '_' is invalid in a host name.
  return /[._]/.test(bucket) ? `https://${host}/${bucket}` : `https://${bucket}.${host}`;
}

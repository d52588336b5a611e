import { BadInputError, NotFoundError, RemoteError } from "../../contracts/errors.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { explainNetwork } from "../../lib/network-trouble.ts";
import { bareEtag, type StoredObject } from "../tree/create-object-tree.ts";
import { type AwsCredentials, findEnvironmentCredentials, type ReadVariable } from "./environment-credentials.ts";
import { createS3Client, parseXml, readText, type S3Client, S3Failure, type S3Timing } from "./s3-client.ts";
import type { S3SourceConfig } from "./s3-source-codec.ts";

export interface OpenBucket {
  readonly client: S3Client;
  /** Its address, without a slash at its end. */
  readonly url: string;
  readonly region: string;
  /** What requests are signed with, for people: `the key in REPORTS_KEY`. */
  readonly access: string;
  /** What to do when the service refuses. */
  readonly hint: string;
}

/** What a source says of where its bucket is. */
export type BucketSettings = Pick<S3SourceConfig, "bucket" | "endpoint" | "region" | "credential">;

const NO_CREDENTIAL_HINT =
  "without a credential only public buckets can be read: name an environment variable in 'credential'";
const RIGHTS = "s3:ListBucket and s3:GetObject";

/** With what the variable `credential` holds; without one with the keys or the role of the environment, or as anybody. */
export async function openBucket(
  { bucket, endpoint, region, credential }: BucketSettings,
  variable: ReadVariable,
  timing?: S3Timing,
): Promise<OpenBucket> {
  const url = bucketUrl(bucket, endpoint, region);
  const { protocol, hostname } = new URL(url);
  if (protocol !== "https:" && !isLoopbackHost(hostname)) {
    throw new BadInputError(`The bucket ${url} is not asked without https: what it holds would travel in the clear.`);
  }
  const opened = (
    words: Pick<OpenBucket, "access" | "hint">,
    credentials?: () => Promise<AwsCredentials>,
  ): OpenBucket => ({ client: createS3Client({ region, credentials, timing }), url, region, ...words });
  if (credential !== "") {
    const keys = readKeys(variable(credential), credential);
    const hint = `check the key in ${credential}, and that it allows ${RIGHTS} for this bucket`;
    return opened({ access: `the key in ${credential}`, hint }, async () => keys);
  }
  const found = await findEnvironmentCredentials(variable, isAwsHost(hostname) || isLoopbackHost(hostname));
  if (!found) return opened({ access: "no credential", hint: NO_CREDENTIAL_HINT });
  const hint = `allow ${found.access} ${RIGHTS} for this bucket`;
  const own = opened({ access: found.access, hint }, found.current);
  return (await isRefused(own)) ? opened({ access: "no credential", hint: `${NO_CREDENTIAL_HINT}, or ${hint}` }) : own;
}

function readKeys(held: string | undefined, credential: string): AwsCredentials {
  const text = held?.trim();
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

/** Other trouble says nothing about rights, and comes back. */
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
  /** Where the next page begins; "" for the last. */
  readonly next: string;
}

/** A thousand keys of 1024 bytes, each written as three, and as much again for what is said of them. */
const MAX_LISTING_BYTES = 8 * 1024 * 1024;
const ARCHIVES: ReadonlySet<unknown> = new Set(["GLACIER", "DEEP_ARCHIVE"]);

/** Every object whose key begins with the prefix, as many at a time as one answer has. Ends normally only when it has them all. */
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
    if (next === token) throw new RemoteError(`Cannot read the bucket ${bucket.url}: its list does not go on`);
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
  // Others may refuse what they do not know.
  const isAws = isAwsHost(new URL(bucketUrl).hostname);
  const headers = isAws ? { "x-amz-optional-object-attributes": "RestoreStatus" } : {};
  return await client.get({ url, headers }, signal, async ({ body }) => {
    const listing = readListing((await readText(body, MAX_LISTING_BYTES)) ?? "");
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

/** Codes that come with 400, too. */
const REFUSALS: ReadonlySet<string> = new Set(["ExpiredToken", "InvalidToken", "InvalidAccessKeyId"]);

const ARCHIVED = "It lies in an archive class (Glacier), where it cannot be read before it is restored.";
const RESTORING = "It is being restored from an archive class (Glacier), and cannot be read yet.";

function isRefusal({ status, code }: S3Failure): boolean {
  return status === 401 || status === 403 || REFUSALS.has(code);
}

/** For people. Only S3Failure is explained. */
function explainBucket(error: unknown, { url, region, hint }: OpenBucket): unknown {
  if (!(error instanceof S3Failure)) return error;
  const what = `Cannot read the bucket ${url}`;
  const { status, code } = error;
  const response = [status, code].filter(Boolean).join(" ");
  if (code === "NoSuchBucket") return new RemoteError(`${what}: there is no such bucket`);
  if (error.region && error.region !== region) {
    return new RemoteError(`${what}: it lies in the region '${error.region}'; set 'region' to that`);
  }
  if (code === "RequestTimeTooSkewed") return new RemoteError(`${what}: the clock of this machine is wrong`);
  if (isRefusal(error)) return new RemoteError(`${what}: S3 refuses (${response}); ${hint}`);
  return new RemoteError(`${what}: ${explainNetwork(code) ?? (response ? `S3 answered ${response}` : "no answer")}`);
}

/** Only the object's own absence is one: everything else says nothing about it. */
export function explainObject(error: unknown, key: string, bucket: OpenBucket): unknown {
  if (!(error instanceof S3Failure)) return error;
  const { status, code } = error;
  if (code === "NoSuchKey") return new NotFoundError(`There is no object '${key}' in ${bucket.url}.`);
  if (status === 412) return changedDuringRead(key);
  if (code === "InvalidObjectState") return new RemoteError(ARCHIVED);
  return explainBucket(error, bucket);
}

export function changedDuringRead(key: string): RemoteError {
  return new RemoteError(`'${key}' was changed while it was looked at; the next run takes it.`);
}

/** Where S3 itself answers, in any partition and form. Nobody else gives out names like these. */
const AWS_HOST = /^([a-z0-9.-]+\.)?s3[.-]([a-z0-9-]+\.)*amazonaws\.com(\.cn)?$/;

/** Session tokens of this machine's role are shown to nobody else. */
export function isAwsHost(host: string): boolean {
  return AWS_HOST.test(host.toLowerCase());
}

/** Where a bucket is, without a slash at its end. Other services than AWS are asked by path, which all of them understand. */
export function bucketUrl(bucket: string, endpoint: string, region: string): string {
  if (endpoint) return `${endpoint}/${bucket}`;
  const host = `s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  // The certificate of AWS is for one name below its host, and a name with a dot is two; one with '_' is no name of a host.
  return /[._]/.test(bucket) ? `https://${host}/${bucket}` : `https://${bucket}.${host}`;
}

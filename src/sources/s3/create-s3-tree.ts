import { RemoteError } from "../../contracts/errors.ts";
import type { FileTree } from "../../contracts/file-tree.ts";
import {
  bareEtag,
  createObjectTree,
  type ObjectRules,
  type ObjectStore,
  objectUrl,
  readResuming,
  type StoreWords,
} from "../tree/create-object-tree.ts";
import type { ReadVariable } from "./environment-credentials.ts";
import {
  type BucketSettings,
  bucketUrl,
  changedDuringRead,
  explainObject,
  listObjects,
  type OpenBucket,
  openBucket,
} from "./open-bucket.ts";
import type { S3Response, S3Timing } from "./s3-client.ts";

interface S3TreeOptions {
  /** Reads environment variables: the one that `credential` names, and those of AWS. */
  readonly variable: ReadVariable;
  /** Where content is spooled between hashing and fetching; without one, nothing is written. */
  readonly folder?: string | undefined;
  readonly timing?: S3Timing;
}

const WORDS: StoreWords = {
  store: "Bucket",
  object: "object",
  setCredential:
    "Ask an administrator of the server to set the variable to ACCESS_KEY:SECRET, a key that may list the bucket and read its objects.",
};

/** Opens a bucket as a tree of its objects. */
export function createS3Tree(config: BucketSettings & ObjectRules, options: S3TreeOptions): FileTree {
  const open = async (): Promise<ObjectStore> => {
    const bucket = await openBucket(config, options.variable, options.timing);
    return {
      access: bucket.access,
      hint: bucket.hint,
      list: (prefix, signal) => listObjects(bucket, prefix, signal),
      read: (key, etag, signal) => readObject(bucket, key, etag, signal),
    };
  };
  const location = bucketUrl(config.bucket, config.endpoint, config.region);
  return createObjectTree(config, { location, open, folder: options.folder, words: WORDS });
}

/** Reads one version of an object completely: the version `etag`, or the current one for "". Ends normally only after the last byte. */
function readObject(
  bucket: OpenBucket,
  key: string,
  etag: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  let version = etag;
  const url = objectUrl(bucket.url, key);
  const request = async (from: number): Promise<AsyncIterable<Uint8Array>> => {
    const headers = { ...(version && { "if-match": `"${version}"` }), ...(from > 0 && { range: `bytes=${from}-` }) };
    const response = await bucket.client
      .get({ url, headers }, signal, async (response) => response)
      .catch((error: unknown) => {
        throw explainObject(error, key, bucket);
      });
    const problem = problemWith(response, { key, version, from });
    if (problem) {
      await response.body.dump();
      throw problem;
    }
    version = etagOf(response);
    return response.body;
  };
  return readResuming(key, request, signal);
}

function problemWith(
  response: S3Response,
  { key, version, from }: { key: string; version: string; from: number },
): RemoteError | undefined {
  // Some services ignore If-Match.
  if (version && etagOf(response) !== version) return changedDuringRead(key);
  const { "content-length": length, "transfer-encoding": encoding } = response.headers;
  if (length === undefined && encoding === undefined)
    return new RemoteError(`The service did not send the length of '${key}'.`);
  if (from > 0 && response.statusCode !== 206) return new RemoteError(`'${key}' was not received completely.`);
  return undefined;
}

function etagOf({ headers: { etag } }: S3Response): string {
  return typeof etag === "string" ? bareEtag(etag) : "";
}

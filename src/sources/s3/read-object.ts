import { RemoteError } from "../../contracts/errors.ts";
import { bareEtag, objectUrl } from "../tree/create-object-tree.ts";
import { readResuming } from "../tree/read-resuming.ts";
import type { OpenedBucket } from "./open-bucket.ts";
import type { S3Answer } from "./s3-client.ts";
import { changedMeanwhile, explainObject } from "./s3-trouble.ts";

/** The bytes of one object, of one ETag from the first to the last: with `etag` of that one. Ends normally only when they all came. */
export function readObject(
  bucket: OpenedBucket,
  key: string,
  etag: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  let version = etag;
  const url = objectUrl(bucket.place, key);
  const ask = async (from: number): Promise<AsyncIterable<Uint8Array>> => {
    const headers = { ...(version && { "if-match": `"${version}"` }), ...(from > 0 && { range: `bytes=${from}-` }) };
    const answer = await bucket.client
      .get({ url, headers }, signal, async (given) => given)
      .catch((error: unknown) => {
        throw explainObject(error, key, bucket);
      });
    const problem = problemWith(answer, { key, version, from });
    if (problem) {
      await answer.body.dump();
      throw problem;
    }
    version = etagOf(answer);
    return answer.body;
  };
  return readResuming(key, ask, signal);
}

function problemWith(
  answer: S3Answer,
  { key, version, from }: { key: string; version: string; from: number },
): RemoteError | undefined {
  // Some services do not know the condition.
  if (version && etagOf(answer) !== version) return changedMeanwhile(key);
  const { "content-length": length, "transfer-encoding": encoding } = answer.headers;
  if (length === undefined && encoding === undefined) return new RemoteError(`The length of '${key}' is not told.`);
  if (from > 0 && answer.statusCode !== 206) return new RemoteError(`'${key}' did not arrive whole.`);
  return undefined;
}

function etagOf({ headers: { etag } }: S3Answer): string {
  return typeof etag === "string" ? bareEtag(etag) : "";
}

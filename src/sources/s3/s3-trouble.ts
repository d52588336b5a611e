import { NotFoundError, RemoteError } from "../../contracts/errors.ts";
import { explainNetwork } from "../../lib/network-trouble.ts";
import type { OpenedBucket } from "./open-bucket.ts";
import { S3Failure } from "./s3-client.ts";

/** Codes that come with 400, too. */
const REFUSALS: ReadonlySet<string> = new Set(["ExpiredToken", "InvalidToken", "InvalidAccessKeyId"]);

export const ARCHIVED = "It lies in an archive class (Glacier), where it cannot be read before it is restored.";
export const RESTORING = "It is being restored from an archive class (Glacier), and cannot be read yet.";

export function isRefusal({ status, code }: S3Failure): boolean {
  return status === 401 || status === 403 || REFUSALS.has(code);
}

/** For people. Only S3Failure is explained. */
export function explainBucket(error: unknown, { place, region, hint }: OpenedBucket): unknown {
  if (!(error instanceof S3Failure)) return error;
  const what = `Cannot read the bucket ${place}`;
  const { status, code } = error;
  const answer = [status, code].filter(Boolean).join(" ");
  if (code === "NoSuchBucket") return new RemoteError(`${what}: there is no such bucket`);
  if (error.region && error.region !== region) {
    return new RemoteError(`${what}: it lies in the region '${error.region}'; set 'region' to that`);
  }
  if (code === "RequestTimeTooSkewed") return new RemoteError(`${what}: the clock of this machine is wrong`);
  if (isRefusal(error)) return new RemoteError(`${what}: S3 refuses (${answer}); ${hint}`);
  return new RemoteError(`${what}: ${explainNetwork(code) ?? (answer ? `S3 answered ${answer}` : "no answer")}`);
}

/** Only the object's own absence is one: everything else says nothing about it. */
export function explainObject(error: unknown, key: string, bucket: OpenedBucket): unknown {
  if (!(error instanceof S3Failure)) return error;
  const { status, code } = error;
  if (code === "NoSuchKey") return new NotFoundError(`There is no object '${key}' in ${bucket.place}.`);
  if (status === 412) return changedMeanwhile(key);
  if (code === "InvalidObjectState") return new RemoteError(ARCHIVED);
  return explainBucket(error, bucket);
}

export function changedMeanwhile(key: string): RemoteError {
  return new RemoteError(`'${key}' was changed while it was looked at; the next run takes it.`);
}

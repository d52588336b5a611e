import { BadInputError } from "../../contracts/errors.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { bucketPlace, isAwsHost } from "./bucket-address.ts";
import { type AwsCredentials, findEnvironmentCredentials, type ReadVariable } from "./environment-credentials.ts";
import { listPage } from "./list-objects.ts";
import { createS3Client, type S3Client, S3Failure, type S3Pace } from "./s3-client.ts";
import type { S3SourceConfig } from "./s3-source-codec.ts";
import { isRefusal } from "./s3-trouble.ts";

export interface OpenedBucket {
  readonly client: S3Client;
  /** Its address, without a slash at its end. */
  readonly place: string;
  readonly region: string;
  /** What requests are signed with, for people: `the key in REPORTS_KEY`. */
  readonly access: string;
  /** What to do when the service refuses. */
  readonly hint: string;
}

/** What a source says of where its bucket is. */
export type BucketSettings = Pick<S3SourceConfig, "bucket" | "endpoint" | "region" | "credential">;

const HOW_TO_OPEN =
  "without a credential only public buckets can be read: name an environment variable in 'credential'";
const RIGHTS = "s3:ListBucket and s3:GetObject";

/** With what the variable `credential` holds; without one with the keys or the role of the environment, or as anybody. */
export async function openBucket(
  { bucket, endpoint, region, credential }: BucketSettings,
  variable: ReadVariable,
  pace?: S3Pace,
): Promise<OpenedBucket> {
  const place = bucketPlace(bucket, endpoint, region);
  const { protocol, hostname } = new URL(place);
  if (protocol !== "https:" && !isLoopbackHost(hostname)) {
    throw new BadInputError(`The bucket ${place} is not asked without https: what it holds would travel in the clear.`);
  }
  const opened = (
    words: Pick<OpenedBucket, "access" | "hint">,
    credentials?: () => Promise<AwsCredentials>,
  ): OpenedBucket => ({ client: createS3Client({ region, credentials, pace }), place, region, ...words });
  if (credential !== "") {
    const keys = readKeys(variable(credential), credential);
    const hint = `check the key in ${credential}, and that it allows ${RIGHTS} for this bucket`;
    return opened({ access: `the key in ${credential}`, hint }, async () => keys);
  }
  const found = await findEnvironmentCredentials(variable, isAwsHost(hostname) || isLoopbackHost(hostname));
  if (!found) return opened({ access: "no credential", hint: HOW_TO_OPEN });
  const hint = `allow ${found.access} ${RIGHTS} for this bucket`;
  const own = opened({ access: found.access, hint }, found.current);
  return (await isRefused(own)) ? opened({ access: "no credential", hint: `${HOW_TO_OPEN}, or ${hint}` }) : own;
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
async function isRefused(bucket: OpenedBucket): Promise<boolean> {
  try {
    await listPage(bucket, { maxKeys: 1 }, AbortSignal.timeout(60_000));
    return false;
  } catch (error) {
    return error instanceof S3Failure && isRefusal(error);
  }
}

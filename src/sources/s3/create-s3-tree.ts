import type { FileTree } from "../../contracts/file-tree.ts";
import { createObjectTree, type ObjectRules, type ObjectStore, type StoreWords } from "../tree/create-object-tree.ts";
import { bucketPlace } from "./bucket-address.ts";
import type { ReadVariable } from "./environment-credentials.ts";
import { listObjects } from "./list-objects.ts";
import { type BucketSettings, openBucket } from "./open-bucket.ts";
import { readObject } from "./read-object.ts";
import type { S3Pace } from "./s3-client.ts";

export interface S3TreeOptions {
  /** What an environment variable holds: the one that `credential` names, and those of AWS. */
  readonly variable: ReadVariable;
  /** Where bytes wait between being hashed and being fetched; without one, nothing is written down. */
  readonly folder?: string | undefined;
  readonly pace?: S3Pace;
}

const WORDS: StoreWords = {
  store: "Bucket",
  object: "object",
  setCredential:
    "Whoever runs the server sets the variable to ACCESS_KEY:SECRET, a key that may list the bucket and read its objects.",
};

/** A bucket as a tree of its objects. */
export function createS3Tree(config: BucketSettings & ObjectRules, options: S3TreeOptions): FileTree {
  const open = async (): Promise<ObjectStore> => {
    const bucket = await openBucket(config, options.variable, options.pace);
    return {
      access: bucket.access,
      hint: bucket.hint,
      list: (prefix, signal) => listObjects(bucket, prefix, signal),
      read: (key, etag, signal) => readObject(bucket, key, etag, signal),
    };
  };
  const place = bucketPlace(config.bucket, config.endpoint, config.region);
  return createObjectTree(config, { place, open, folder: options.folder, words: WORDS });
}

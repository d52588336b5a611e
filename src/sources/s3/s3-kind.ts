import { join } from "node:path";
import type { SourceField, SourceKind } from "../../contracts/source-kind.ts";
import { openTreeSource } from "../tree/open-tree-source.ts";
import {
  CREDENTIAL_FIELD,
  describeTreeRules,
  HIDDEN_FIELD,
  locateIn,
  MAX_FILE_FIELD,
  PREFIX_FIELD,
  pathInStore,
  STORE_SCAN_MS,
  TREE_GLOBS,
  TREE_KIND,
  type TreeToolsOf,
} from "../tree/tree-kind.ts";
import { EMPTY_RULES } from "../tree/tree-source-codec.ts";
import { createS3Tree } from "./create-s3-tree.ts";
import type { ReadVariable } from "./environment-credentials.ts";
import { bucketUrl } from "./open-bucket.ts";
import { formatBucket, parseBucket, type S3SourceConfig } from "./s3-source-codec.ts";

export function createS3Kind(
  access: () => { readonly credential: ReadVariable },
  toolsOf: TreeToolsOf,
): SourceKind<S3SourceConfig> {
  return {
    ...TREE_KIND,
    type: "s3_sources",
    folder: "07_s3",
    scope: "s3",
    words: {
      name: "S3 bucket",
      noun: "S3 bucket",
      nouns: "S3 buckets",
      place: "files in S3, MinIO and the like",
      scope: "S3 buckets",
      array:
        "Buckets of S3 or of what is compatible with it: an array of {source_id, bucket, prefix, endpoint, region, include, exclude, credential, hidden, max_file_mb}; the last eight may be left out. credential is the name of an environment variable.",
    },
    fields: FIELDS,
    foundAs: "blob",
    parse: parseBucket,
    format: formatBucket,
    unknown: { ...EMPTY_RULES, bucket: "", prefix: "", endpoint: "", region: "", credential: "" },
    describePlace: (source) => (source.prefix ? `${urlOf(source)}/${source.prefix}` : urlOf(source)),
    describeRules: (source) => describeTreeRules(source),
    hostOf: (source) => URL.parse(urlOf(source))?.host ?? "",
    locate: (source, called) => locateIn(source, pathInStore(urlOf(source), source.prefix, called)),
    watch: () => ({ scanMs: STORE_SCAN_MS }),
    open(run, options) {
      const { folder, ...tools } = toolsOf(run, options);
      const spool = tools.dryRun ? {} : { folder: join(folder, "read") };
      const tree = createS3Tree(run.config, { variable: access().credential, ...spool });
      return openTreeSource(run.config, { ...tools, tree });
    },
  };
}

function urlOf({ bucket, endpoint, region }: S3SourceConfig): string {
  return bucketUrl(bucket, endpoint, region);
}

const FIELDS: readonly SourceField[] = [
  {
    name: "bucket",
    label: "Bucket",
    placeholder: "contoso-reports",
    hint: "Its name alone: small letters, digits, '.', '-' and '_'.",
    pattern: "[a-z0-9][a-z0-9._\\-]{1,61}[a-z0-9]",
    described: "The name of the bucket, for s3_sources.",
  },
  { ...PREFIX_FIELD, hint: "What the keys of the objects begin with. Empty: the whole bucket." },
  {
    name: "endpoint",
    label: "Address of the service",
    placeholder: "https://minio.contoso.com",
    hint: "Without the bucket. Empty: AWS.",
    pattern: "[^?#@]*",
    type: "url",
    optional: true,
    described: "For s3_sources: the address of another service than AWS.",
  },
  {
    name: "region",
    label: "Region",
    placeholder: "eu-central-1",
    hint: "Of AWS, where the bucket lies. Empty: us-east-1.",
    pattern: "[a-z0-9\\-]{1,40}",
    optional: true,
    described: "For s3_sources: the region that requests are signed for.",
  },
  {
    ...CREDENTIAL_FIELD,
    label: "Environment variable with the key",
    placeholder: "REPORTS_KEY",
    hint: "Its name, in capitals; it holds ACCESS_KEY:SECRET. Empty: keys or role of the server, or a public bucket.",
  },
  ...TREE_GLOBS,
  MAX_FILE_FIELD,
  HIDDEN_FIELD,
];

import type { OwnFields } from "../../contracts/source-kind.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { unusualFields } from "../../lib/read-fields.ts";
import { trimEnd } from "../../lib/text.ts";
import {
  fileFields,
  globFields,
  readCredential,
  readPrefix,
  readTreeRules,
  type TreeSourceConfig,
} from "../tree/tree-source-codec.ts";

/** An S3-compatible bucket, or the objects in it with a prefix. */
export interface S3SourceConfig extends TreeSourceConfig {
  readonly bucket: string;
  readonly prefix: string;
  /** `https://minio.contoso.com`, without bucket and trailing slash; "": AWS. */
  readonly endpoint: string;
  readonly region: string;
  /** Environment variable with `ACCESS_KEY:SECRET`; "": keys or role of the environment, then anonymous. */
  readonly credential: string;
}

const USUAL_REGION = "us-east-1";
const HELD = { example: "REPORTS_KEY", held: "the key (ACCESS_KEY:SECRET)" };

export function parseBucket(value: JsonObject, where: string, problems: string[]): OwnFields<S3SourceConfig> {
  const bucket = readBucket(value["bucket"], `${where}.bucket`, problems);
  return {
    bucket,
    prefix: readPrefix(value["prefix"], `${where}.prefix`, "objects", problems),
    endpoint: readEndpoint(value["endpoint"], `${where}.endpoint`, bucket, problems),
    region: readRegion(value["region"], `${where}.region`, problems),
    credential: readCredential(value["credential"], `${where}.credential`, HELD, problems),
    ...readTreeRules(value, where, problems),
  };
}

export function formatBucket(source: S3SourceConfig, earlier: JsonObject): JsonObject {
  const { bucket, prefix, endpoint, region, credential } = source;
  const fields = [
    ["prefix", prefix, ""],
    ["endpoint", endpoint, ""],
    ["region", region, USUAL_REGION],
    ...globFields(source),
    ["credential", credential, ""],
    ...fileFields(source),
  ] as const;
  return { bucket, ...unusualFields(fields, earlier) };
}

/** The message does not repeat the value: users paste it with a key. */
function readBucket(value: unknown, where: string, problems: string[]): string {
  const text = typeof value === "string" ? value.trim() : "";
  if (/^(?!.*\.\.)[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/.test(text)) return text;
  problems.push(
    `${where} must be the name of a bucket, like "contoso-reports": 3 to 63 small letters, digits, '.', '-' and '_'. An address belongs into 'endpoint', and what comes after the bucket into 'prefix'.`,
  );
  return "";
}

const ENDPOINT_EXAMPLE = "https://minio.contoso.com";

function readEndpoint(value: unknown = "", where: string, bucket: string, problems: string[]): string {
  const text = typeof value === "string" ? value.trim() : undefined;
  if (text === "") return "";
  const url = URL.parse(text ?? "");
  const problem = findEndpointProblem(url, bucket);
  if (problem) problems.push(`${where} ${problem}`);
  return url && !problem ? `${url.origin}${trimEnd(url.pathname, "/")}` : "";
}

function findEndpointProblem(url: URL | null, bucket: string): string | undefined {
  if (!url || !/^https?:$/.test(url.protocol)) {
    return `must be the address of the service, like "${ENDPOINT_EXAMPLE}"; empty for AWS.`;
  }
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    return "must begin with https:// (http:// is for this machine itself only).";
  }
  if (url.username || url.password) return "must not hold a user name or password.";
  if (url.search || url.hash) {
    return "must not hold a '?' or '#'. A signature is never kept here: put a key into an environment variable and give that variable's name as 'credential'.";
  }
  const namesBucket = url.hostname.startsWith(`${bucket}.`) || url.pathname.split("/").includes(bucket);
  if (bucket && namesBucket) return `must be the address without the bucket, like "${ENDPOINT_EXAMPLE}".`;
  return undefined;
}

function readRegion(value: unknown = "", where: string, problems: string[]): string {
  const text = typeof value === "string" ? value.trim() || USUAL_REGION : "";
  if (/^[a-z0-9-]{1,40}$/.test(text)) return text;
  problems.push(`${where} must be the name of a region, like "eu-central-1".`);
  return USUAL_REGION;
}

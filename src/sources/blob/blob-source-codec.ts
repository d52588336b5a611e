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

/** A container of Azure Blob Storage, or the blobs in it with a prefix. */
export interface BlobSourceConfig extends TreeSourceConfig {
  /** `https://{account}.blob.core.windows.net/{container}`, without SAS. */
  readonly containerUrl: string;
  readonly prefix: string;
  /** Environment variable with a SAS or connection string; "": managed identity, then anonymous. */
  readonly credential: string;
}

const HELD = { example: "HANDBOOK_SAS", held: "the SAS or connection string" };

export function parseContainer(value: JsonObject, where: string, problems: string[]): OwnFields<BlobSourceConfig> {
  return {
    containerUrl: readContainerUrl(value["container_url"], `${where}.container_url`, problems),
    prefix: readPrefix(value["prefix"], `${where}.prefix`, "blobs", problems),
    credential: readCredential(value["credential"], `${where}.credential`, HELD, problems),
    ...readTreeRules(value, where, problems),
  };
}

export function formatContainer(source: BlobSourceConfig, earlier: JsonObject): JsonObject {
  const { containerUrl: container_url, prefix, credential } = source;
  const fields = [
    ["prefix", prefix, ""],
    ...globFields(source),
    ["credential", credential, ""],
    ...fileFields(source),
  ] as const;
  return { container_url, ...unusualFields(fields, earlier) };
}

const CONTAINER_EXAMPLE = "https://contoso.blob.core.windows.net/handbook";

/** Messages never repeat the URL: users paste it with its signature. */
function readContainerUrl(value: unknown, where: string, problems: string[]): string {
  const url = typeof value === "string" ? URL.parse(value.trim()) : null;
  const problem = findContainerProblem(url);
  if (problem) problems.push(`${where} ${problem}`);
  return url && !problem ? `${url.origin}${trimEnd(url.pathname, "/")}` : "";
}

function findContainerProblem(url: URL | null): string | undefined {
  if (!url || !/^https?:$/.test(url.protocol)) {
    return `must be the address of a container, like "${CONTAINER_EXAMPLE}".`;
  }
  if (url.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    return "must begin with https:// (http:// is for this machine itself only).";
  }
  if (url.username || url.password) return "must not hold a user name or password.";
  if (url.search || url.hash) {
    return `must not hold a '?' or '#'. A SAS is never kept here: put it into an environment variable and give that variable's name as 'credential'.`;
  }
  const parts = url.pathname.split("/").filter((part) => part !== "");
  // Emulators and hosts without a blob domain have the account as first segment.
  const maxSegments = /\.blob\./.test(url.hostname) ? 1 : 2;
  if (parts.length === 0) return `must name the container, too, like "${CONTAINER_EXAMPLE}".`;
  if (parts.length > maxSegments)
    return "must end with the container's name; what comes after it belongs into 'prefix'.";
  if (!/^(?=.{3,63}$)([a-z0-9]+(-[a-z0-9]+)*|\$root|\$web|\$logs)$/.test(parts.at(-1) ?? "")) {
    return "must end with the name of a container: 3 to 63 small letters, digits and single hyphens.";
  }
  return undefined;
}

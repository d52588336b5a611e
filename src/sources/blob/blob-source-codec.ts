import type { OwnFields } from "../../contracts/source-kind.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { isLoopbackHost } from "../../lib/loopback.ts";
import { unusualFields } from "../../lib/read-fields.ts";
import { trimEnd } from "../../lib/trim-end.ts";
import { fileFields, globFields, readTreeRules, type TreeSourceConfig } from "../tree/tree-source-codec.ts";

/** A container of Azure Blob Storage, or what of it begins with a prefix. */
export interface BlobSourceConfig extends TreeSourceConfig {
  /** `https://{account}.blob.core.windows.net/{container}`, without a signature. */
  readonly containerUrl: string;
  readonly prefix: string;
  /** The name of the environment variable that holds a SAS or a connection string; "": managed identity, then anonymous. */
  readonly credential: string;
}

const CONTROL = /\p{Cc}/u;

export function parseContainer(value: JsonObject, where: string, problems: string[]): OwnFields<BlobSourceConfig> {
  return {
    containerUrl: readContainerUrl(value["container_url"], `${where}.container_url`, problems),
    prefix: readPrefix(value["prefix"], `${where}.prefix`, problems),
    credential: readCredential(value["credential"], `${where}.credential`, problems),
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

/** The sentences never repeat the address: people paste it with its signature. */
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
  // Of emulators and of addresses without names, the account is the first folder.
  const most = /\.blob\./.test(url.hostname) ? 1 : 2;
  if (parts.length === 0) return `must name the container, too, like "${CONTAINER_EXAMPLE}".`;
  if (parts.length > most) return "must end with the container's name; what comes after it belongs into 'prefix'.";
  if (!/^(?=.{3,63}$)([a-z0-9]+(-[a-z0-9]+)*|\$root|\$web|\$logs)$/.test(parts.at(-1) ?? "")) {
    return "must end with the name of a container: 3 to 63 small letters, digits and single hyphens.";
  }
  return undefined;
}

function readPrefix(value: unknown = "", where: string, problems: string[]): string {
  if (typeof value !== "string" || value.length > 1024 || CONTROL.test(value)) {
    problems.push(`${where} must be what the names of the blobs begin with, like "reports/".`);
    return "";
  }
  if (/\b(sig|\w+key|\w+signature)=/i.test(value)) {
    problems.push(
      `${where} must not hold a key or signature: put it into an environment variable and give that variable's name as 'credential'.`,
    );
    return "";
  }
  return value.trim();
}

/** A name in capitals cannot be a signature or a key that was pasted here; whatever it is, it is not repeated. */
function readCredential(value: unknown = "", where: string, problems: string[]): string {
  const text = typeof value === "string" ? value.trim() : undefined;
  if (text !== undefined && /^([A-Z_][A-Z0-9_]{0,63})?$/.test(text)) return text;
  problems.push(
    `${where} must be the name of an environment variable in capitals, like HANDBOOK_SAS; the SAS or connection string itself belongs into that variable, never here.`,
  );
  return "";
}

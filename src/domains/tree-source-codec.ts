import { isAbsolute, normalize } from "node:path";
import type { BlobSourceConfig, FolderSourceConfig, TreeSourceConfig } from "../contracts/domain.ts";
import type { JsonObject } from "../lib/json-object.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { trimEnd } from "../lib/trim-end.ts";
import { readCount, readFlag, readTexts } from "./read-fields.ts";

const RULE_FIELDS: readonly string[] = ["include", "exclude", "hidden", "max_file_mb"];
export const FOLDER_FIELDS: readonly string[] = ["source_id", "root", ...RULE_FIELDS, "gitignore", "ignore_inodes"];
export const BLOB_FIELDS: readonly string[] = ["source_id", "container_url", "prefix", "credential", ...RULE_FIELDS];

export const USUAL_FILE_MB = 100;
const MEGABYTE = 1024 * 1024;
const FILE_MB = { usual: USUAL_FILE_MB, min: 1, max: 100_000 };
/** Names of files hold blanks. */
const LINE_ENDS = /[\r\n]+/;
const CONTROL = /\p{Cc}/u;

type OwnFields<T> = Omit<T, "sourceType" | "sourceId" | "limits">;
type TreeRules = Pick<TreeSourceConfig, "include" | "exclude" | "hidden" | "maxFileBytes">;

/** What tells a folder from others. Everything wrong with it goes to `problems`. */
export function parseFolderPlace(value: JsonObject, where: string, problems: string[]): OwnFields<FolderSourceConfig> {
  return {
    root: readRoot(value["root"], `${where}.root`, problems),
    ...readRules(value, where, problems),
    gitignore: readFlag(value["gitignore"], `${where}.gitignore`, problems),
    ...(readFlag(value["ignore_inodes"], `${where}.ignore_inodes`, problems) && { ignoreInodes: true }),
  };
}

/** The same of a container. */
export function parseBlobPlace(value: JsonObject, where: string, problems: string[]): OwnFields<BlobSourceConfig> {
  return {
    containerUrl: readContainerUrl(value["container_url"], `${where}.container_url`, problems),
    prefix: readPrefix(value["prefix"], `${where}.prefix`, problems),
    credential: readCredential(value["credential"], `${where}.credential`, problems),
    ...readRules(value, where, problems),
  };
}

/** Fields that say nothing unusual are left out, unless they were there before. */
export function formatTreePlace(source: TreeSourceConfig, earlier: JsonObject): JsonObject {
  const isFolder = source.sourceType === "folder_sources";
  const json: JsonObject = isFolder ? { root: source.root } : { container_url: source.containerUrl };
  const set = (key: string, value: JsonObject[string], isUsual: boolean): void => {
    if (!isUsual || key in earlier) json[key] = value;
  };
  if (!isFolder) set("prefix", source.prefix, source.prefix === "");
  set("include", [...source.include], source.include.length === 0);
  set("exclude", [...source.exclude], source.exclude.length === 0);
  if (isFolder) {
    set("gitignore", source.gitignore, !source.gitignore);
    set("ignore_inodes", source.ignoreInodes ?? false, !source.ignoreInodes);
  } else set("credential", source.credential, source.credential === "");
  set("hidden", source.hidden, !source.hidden);
  const fileMb = source.maxFileBytes / MEGABYTE;
  set("max_file_mb", fileMb, fileMb === USUAL_FILE_MB);
  return json;
}

function readRules(value: JsonObject, where: string, problems: string[]): TreeRules {
  return {
    include: readGlobs(value["include"], `${where}.include`, problems),
    exclude: readGlobs(value["exclude"], `${where}.exclude`, problems),
    hidden: readFlag(value["hidden"], `${where}.hidden`, problems),
    maxFileBytes: readCount(value["max_file_mb"], `${where}.max_file_mb`, FILE_MB, problems) * MEGABYTE,
  };
}

const ROOT_EXAMPLE = process.platform === "win32" ? "D:\\Shares\\Handbook" : "/srv/handbook";

function readRoot(value: unknown, where: string, problems: string[]): string {
  const text = typeof value === "string" ? value.trim() : "";
  if (text === "") {
    problems.push(`${where} must be the path of a folder, like "${ROOT_EXAMPLE}".`);
  } else if (CONTROL.test(text)) {
    problems.push(`${where} must not hold line ends or other control characters.`);
  } else if (!isWhole(text)) {
    problems.push(
      `${where} must be an absolute path on the machine that crawls, like "${ROOT_EXAMPLE}"; '${text.slice(0, 100)}' is none.`,
    );
  } else if (text.split(/[/\\]/).includes("..")) {
    problems.push(`${where} must not hold ".." as a folder; write where it leads.`);
  } else {
    return withoutEnd(normalize(text));
  }
  return "";
}

/** A Windows path without its drive means another folder with each drive. */
function isWhole(path: string): boolean {
  return isAbsolute(path) && (process.platform !== "win32" || /^([a-z]:[/\\]|[/\\]{2}[^/\\])/i.test(path));
}

/** A slash is all there is of the root of a disk. */
function withoutEnd(path: string): string {
  return process.platform === "win32" ? path.replace(/(?<![:\\])\\+$/, "") : trimEnd(path, "/") || "/";
}

/** Negated ones would say twice what include and exclude say already; `!(a|b)` is another thing. */
function readGlobs(value: unknown, where: string, problems: string[]): readonly string[] {
  const globs = readTexts(value, where, LINE_ENDS, problems);
  for (const [at, glob] of globs.entries()) {
    const number = `number ${at + 1}`;
    if (/^!(?!\()/.test(glob)) {
      problems.push(`${where} must not begin with "!"; ${number} does. Write it into the other list, without "!".`);
    } else if (glob.includes("\\") && !/\\[*?[\]{}()!+@\\]/.test(glob)) {
      problems.push(`${where} must separate folders by "/", like "drafts/**"; ${number} has "\\".`);
    } else if (glob.split("/").some((part) => part === "." || part === "..") || /^\/*$/.test(glob)) {
      problems.push(
        `${where} must be patterns of paths below the root, like "*.pdf" or "drafts/**"; ${number} matches no file.`,
      );
    } else if (CONTROL.test(glob) || glob.length > 1000) {
      problems.push(`${where} must be patterns of at most 1000 visible characters; ${number} is none.`);
    }
  }
  return globs;
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

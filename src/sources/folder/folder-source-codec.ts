import { homedir } from "node:os";
import { isAbsolute, normalize } from "node:path";
import type { OwnFields } from "../../contracts/source-kind.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { readFlag, unusualFields } from "../../lib/read-fields.ts";
import { trimEnd } from "../../lib/text.ts";
import { fileFields, globFields, readTreeRules, type TreeSourceConfig } from "../tree/tree-source-codec.ts";

/** The root of the source that holds what was uploaded: the folder of that name beside `domain.json`. */
export const UPLOADS = "uploads";

/** A local folder, a mounted share, or what was uploaded. */
export interface FolderSourceConfig extends TreeSourceConfig {
  /** Absolute, or UPLOADS. */
  readonly root: string;
  /** Whether `.gitignore` files in it apply. */
  readonly gitignore: boolean;
}

const CONTROL = /\p{Cc}/u;

export function parseFolder(value: JsonObject, where: string, problems: string[]): OwnFields<FolderSourceConfig> {
  return {
    root: readRoot(value["root"], `${where}.root`, problems),
    ...readTreeRules(value, where, problems),
    gitignore: readFlag(value["gitignore"], `${where}.gitignore`, problems),
    ...(readFlag(value["ignore_inodes"], `${where}.ignore_inodes`, problems) && { ignoreInodes: true }),
  };
}

export function formatFolder(source: FolderSourceConfig, earlier: JsonObject): JsonObject {
  const { root, gitignore, ignoreInodes = false } = source;
  const own = [
    ["gitignore", gitignore, false],
    ["ignore_inodes", ignoreInodes, false],
  ] as const;
  return { root, ...unusualFields([...globFields(source), ...own, ...fileFields(source)], earlier) };
}

const ROOT_EXAMPLE = process.platform === "win32" ? "D:\\Shares\\Handbook" : "/srv/handbook";

function readRoot(value: unknown, where: string, problems: string[]): string {
  const text = withoutTilde(typeof value === "string" ? value.trim() : "");
  if (text === UPLOADS) return UPLOADS;
  if (text === "") {
    problems.push(`${where} must be the path of a folder, like "${ROOT_EXAMPLE}".`);
  } else if (CONTROL.test(text)) {
    problems.push(`${where} must not hold line ends or other control characters.`);
  } else if (!isFullPath(text)) {
    problems.push(
      `${where} must be an absolute path on the machine that crawls, like "${ROOT_EXAMPLE}"; '${text.slice(0, 100)}' is none.`,
    );
  } else if (text.split(/[/\\]/).includes("..")) {
    problems.push(`${where} must not hold ".." as a folder; write where it leads.`);
  } else {
    return withoutTrailingSlash(normalize(text));
  }
  return "";
}

/** `~` is the home folder of the account that runs lockstep. */
function withoutTilde(path: string): string {
  return path.replace(/^~(?=$|[/\\])/, homedir);
}

/** Whether the path is absolute. On Windows, one without drive is not. */
function isFullPath(path: string): boolean {
  return isAbsolute(path) && (process.platform !== "win32" || /^([a-z]:[/\\]|[/\\]{2}[^/\\])/i.test(path));
}

/** Removes trailing slashes, except of the root of a disk. */
function withoutTrailingSlash(path: string): string {
  return process.platform === "win32" ? path.replace(/(?<![:\\])\\+$/, "") : trimEnd(path, "/") || "/";
}

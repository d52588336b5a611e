import type { SourceConfig } from "../../contracts/domain.ts";
import type { OwnFields } from "../../contracts/source-kind.ts";
import type { JsonObject } from "../../lib/json-object.ts";
import { readCount, readFlag, readTexts } from "../../lib/read-fields.ts";

/** Which files of a tree a source takes. */
export interface TreeSourceConfig extends SourceConfig {
  /** Globs over the path below the root; [] takes everything. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** Also takes files and folders whose name begins with a dot. */
  readonly hidden: boolean;
  /** Larger files are skipped and reported. */
  readonly maxFileBytes: number;
  /** For trees whose inodes change without reason: stamps leave them out, and every run reads a part of the files. */
  readonly ignoreInodes?: boolean;
}

export const USUAL_FILE_MB = 100;
const MEGABYTE = 1024 * 1024;
const FILE_MB = { usual: USUAL_FILE_MB, min: 1, max: 100_000 };
/** Blanks do not separate globs: file names contain them. */
const LINE_ENDS = /[\r\n]+/;
const CONTROL = /\p{Cc}/u;

/** Rules of a source whose configuration is unknown. */
export const EMPTY_RULES: OwnFields<TreeSourceConfig> = { include: [], exclude: [], hidden: false, maxFileBytes: 0 };

/** Adds every mistake to `problems`. */
export function readTreeRules(value: JsonObject, where: string, problems: string[]): OwnFields<TreeSourceConfig> {
  return {
    include: readGlobs(value["include"], `${where}.include`, problems),
    exclude: readGlobs(value["exclude"], `${where}.exclude`, problems),
    hidden: readFlag(value["hidden"], `${where}.hidden`, problems),
    maxFileBytes: readCount(value["max_file_mb"], `${where}.max_file_mb`, FILE_MB, problems) * MEGABYTE,
  };
}

/** For `unusualFields`: the fields before those of the kind. */
export function globFields({ include, exclude }: TreeSourceConfig): [string, unknown, unknown][] {
  return [
    ["include", [...include], []],
    ["exclude", [...exclude], []],
  ];
}

/** For `unusualFields`: the fields after those of the kind. */
export function fileFields({ hidden, maxFileBytes }: TreeSourceConfig): [string, unknown, unknown][] {
  return [
    ["hidden", hidden, false],
    ["max_file_mb", maxFileBytes / MEGABYTE, USUAL_FILE_MB],
  ];
}

/** Rejects negated globs, which would repeat include and exclude; extglobs like `!(a|b)` are allowed. */
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

/** Reads the prefix of object names; rejects keys and signatures. */
export function readPrefix(value: unknown = "", where: string, objects: string, problems: string[]): string {
  if (typeof value !== "string" || value.length > 1024 || CONTROL.test(value)) {
    problems.push(`${where} must be what the names of the ${objects} begin with, like "reports/".`);
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

/** AWS access keys look like a variable name in capitals. */
const ACCESS_KEY = /^A(KIA|SIA)[A-Z0-9]{12,}$/;

/**
 * Reads the name of an environment variable. Only names in capitals are accepted, so that a pasted secret is rejected; the
 * message does not repeat it. `words`: an example, and what the variable holds.
 */
export function readCredential(
  value: unknown = "",
  where: string,
  words: { readonly example: string; readonly held: string },
  problems: string[],
): string {
  const text = typeof value === "string" ? value.trim() : undefined;
  if (text !== undefined && /^([A-Z_][A-Z0-9_]{0,63})?$/.test(text) && !ACCESS_KEY.test(text)) return text;
  problems.push(
    `${where} must be the name of an environment variable in capitals, like ${words.example}; ${words.held} itself belongs into that variable, never here.`,
  );
  return "";
}

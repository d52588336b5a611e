import type {
  SourceAbilities,
  SourceField,
  SourceKind,
  SourceOptions,
  SourceRun,
} from "../../contracts/source-kind.ts";
import type { TreeTools } from "./open-tree-source.ts";
import { createTreeRules } from "./tree-rules.ts";
import { type TreeSourceConfig, USUAL_FILE_MB } from "./tree-source-codec.ts";

/** Returns the tools of a run, without its tree. `folder`: for files between runs; a dry run only reads there. */
export type TreeToolsOf = (
  run: SourceRun<TreeSourceConfig>,
  options: SourceOptions,
) => Omit<TreeTools, "tree"> & { readonly folder: string };

const ABILITIES: SourceAbilities = {
  hasIds: false,
  keepsTexts: true,
  isReadWhileListed: false,
  registersAddresses: false,
  keepsMaps: false,
  needsSignIn: false,
  isTakenOnce: true,
};

/** Common to all kinds of file trees. */
export const TREE_KIND: Pick<SourceKind, "abilities" | "idPrefix" | "mayCheck" | "remedyFor"> = {
  abilities: ABILITIES,
  idPrefix: "doc_",
  mayCheck: "admin",
  remedyFor(reason) {
    if (/EACCES|EPERM|permission denied|may not be read|access denied|\b40[13]\b|forbidden/i.test(reason)) {
      return "Give the account that lockstep reads with the right to read it, or exclude it.";
    }
    if (reason.includes("is it mounted?")) {
      return "Mount the share, or correct the folder of the source, then crawl. Nothing is removed meanwhile.";
    }
    return undefined;
  },
};

/** Fields of the editor. */
export const TREE_GLOBS: readonly SourceField[] = [
  {
    name: "include",
    label: "Take only",
    placeholder: "*.pdf",
    hint: "Patterns, one per line: *.pdf at any depth, manuals/** below that folder. Empty: everything.",
    type: "lines",
    optional: true,
    described: "Globs of what is taken, one per line.",
  },
  {
    name: "exclude",
    label: "Leave out",
    placeholder: "drafts/**",
    hint: "Patterns, one per line.",
    type: "lines",
    optional: true,
    described: "Globs of what is not.",
  },
];
export const HIDDEN_FIELD: SourceField = {
  name: "hidden",
  label: "Take names that begin with a dot, too",
  placeholder: "",
  type: "flag",
  described: "Of places full of files: whether names that begin with a dot are taken, too.",
};
export const MAX_FILE_FIELD: SourceField = {
  name: "max_file_mb",
  label: "Largest file, in MB",
  placeholder: "",
  hint: "Larger ones are left out.",
  type: "number",
  usual: USUAL_FILE_MB,
  described: "Of places full of files: larger files are left out.",
};

/** Describes the rules that differ from the defaults; `own` comes first. */
export function describeTreeRules(
  { include, exclude, hidden, maxFileBytes }: TreeSourceConfig,
  own: readonly string[] = [],
): ReturnType<SourceKind["describeRules"]> {
  const fileMb = maxFileBytes / 1024 / 1024;
  return {
    patterns: [...include, ...exclude.map((glob) => `not ${glob}`)],
    others: [
      ...own,
      ...(hidden ? ["hidden files, too"] : []),
      ...(fileMb === USUAL_FILE_MB ? [] : [`up to ${fileMb} MB`]),
    ],
  };
}

/** `path`: below the root; undefined if it is elsewhere. */
export function locateIn(
  source: TreeSourceConfig,
  path: string | undefined,
): { readonly path: string; readonly isTaken: boolean } | undefined {
  return path === undefined ? undefined : { path, isTaken: createTreeRules(source)(path) };
}

/** Whether it is an absolute path or a URL. */
export function isAbsolutePath(path: string): boolean {
  return /^(\/|[A-Za-z]:\/|[a-z][a-z0-9+.-]*:\/\/)/i.test(path);
}

/** Returns the path below the root for a path or URL; undefined if it is outside. */
export function pathInStore(storeUrl: string, prefix: string, called: string): string | undefined {
  const path = called.trim().replaceAll("\\", "/");
  const start = `${storeUrl}/`;
  const isAddress = path.startsWith(start);
  if (!isAddress && isAbsolutePath(path)) return undefined;
  const name = isAddress ? decoded(path.slice(start.length)) : path;
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  if (name.startsWith(prefix)) return name.slice(folder.length);
  return isAddress ? undefined : name;
}

/** Decodes percent-encoding; returns invalid text unchanged. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Every listing is a network request and may cost money. */
export const STORE_SCAN_MS = 30_000;

export const PREFIX_FIELD = {
  name: "prefix",
  label: "Prefix",
  placeholder: "manuals/",
  optional: true,
  described: "Of containers and buckets: what the names in them begin with.",
} as const satisfies SourceField;

export const CREDENTIAL_FIELD = {
  name: "credential",
  pattern: "[A-Z_][A-Z0-9_]{0,63}",
  optional: true,
  described:
    "The name of the environment variable that holds what opens it: of a container a SAS or a connection string, of a bucket ACCESS_KEY:SECRET, of a repository a token.",
} as const;

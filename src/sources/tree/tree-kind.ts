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

/** What a run of such a source works with, besides its tree. `folder`: where it may keep something between runs; in a dry run it may only read there. */
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

/** What all kinds of places full of files have in common. */
export const TREE_KIND: Pick<SourceKind, "abilities" | "idPrefix" | "mayCheck"> = {
  abilities: ABILITIES,
  idPrefix: "doc_",
  mayCheck: "admin",
};

/** Their fields in the editor. */
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

/** Of the other rules only what is unusual; `own` comes first. */
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

/** `path` is below the root, undefined: elsewhere. */
export function locateIn(
  source: TreeSourceConfig,
  path: string | undefined,
): { readonly path: string; readonly isTaken: boolean } | undefined {
  return path === undefined ? undefined : { path, isTaken: createTreeRules(source)(path) };
}

/** A path that begins at a root, or an address. */
export function isAbsolutePath(path: string): boolean {
  return /^(\/|[A-Za-z]:\/|[a-z][a-z0-9+.-]*:\/\/)/i.test(path);
}

/** The path below the root of what may be written as a whole address; undefined: it lies elsewhere. */
export function pathInStore(place: string, prefix: string, called: string): string | undefined {
  const path = called.trim().replaceAll("\\", "/");
  const start = `${place}/`;
  const isAddress = path.startsWith(start);
  if (!isAddress && isAbsolutePath(path)) return undefined;
  const name = isAddress ? decoded(path.slice(start.length)) : path;
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  if (name.startsWith(prefix)) return name.slice(folder.length);
  return isAddress ? undefined : name;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** It is asked over the network, and every answer may cost money. */
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

import type {
  SourceAbilities,
  SourceField,
  SourceKind,
  SourceOptions,
  SourceRun,
} from "../../contracts/source-kind.ts";
import { createTreeRules } from "../../plan/lineage/tree-rules.ts";
import type { TreeTools } from "./open-tree-source.ts";
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
export function isWholePath(path: string): boolean {
  return /^(\/|[A-Za-z]:\/|[a-z][a-z0-9+.-]*:\/\/)/i.test(path);
}

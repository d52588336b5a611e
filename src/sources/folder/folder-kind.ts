import { join, resolve } from "node:path";
import type { SourceConfig } from "../../contracts/domain.ts";
import type { FileTree } from "../../contracts/file-tree.ts";
import type { DomainId } from "../../contracts/ids.ts";
import type { SourceField, SourceKind } from "../../contracts/source-kind.ts";
import { pathExists } from "../../lib/file-system.ts";
import { openTreeSource } from "../tree/open-tree-source.ts";
import {
  describeTreeRules,
  HIDDEN_FIELD,
  isAbsolutePath,
  locateIn,
  MAX_FILE_FIELD,
  TREE_GLOBS,
  TREE_KIND,
  type TreeToolsOf,
} from "../tree/tree-kind.ts";
import { createTreeRules } from "../tree/tree-rules.ts";
import { EMPTY_RULES } from "../tree/tree-source-codec.ts";
import { createFolderTree } from "./create-folder-tree.ts";
import { type AllowedRoots, validateRoot } from "./folder-root.ts";
import { type FolderSourceConfig, formatFolder, parseFolder, UPLOADS } from "./folder-source-codec.ts";

interface FolderAccess {
  readonly storagePath: string;
  /** Roots for existing sources, and for new or changed ones. */
  readonly roots: { readonly forSources: AllowedRoots; readonly forChanges: AllowedRoots };
}

const TYPE = "folder_sources";

export function createFolderKind(access: () => FolderAccess, toolsOf: TreeToolsOf): SourceKind<FolderSourceConfig> {
  return {
    ...TREE_KIND,
    type: TYPE,
    folder: "05_folders",
    scope: "folders",
    words: {
      name: "Folder",
      noun: "folder",
      nouns: "folders",
      place: "on this machine, or a mounted share",
      scope: "Folders",
      array:
        "Folders: an array of {source_id, root, include, exclude, gitignore, ignore_inodes, hidden, max_file_mb}; the last six may be left out.",
    },
    fields: FIELDS,
    foundAs: "file",
    parse: parseFolder,
    format: formatFolder,
    unknown: { ...EMPTY_RULES, root: "", gitignore: false },
    async checkPlace({ root }) {
      if (root === UPLOADS) return;
      const { storagePath, roots } = access();
      await validateRoot(root, { storagePath, roots: roots.forChanges });
    },
    describePlace: ({ root }) => (root === UPLOADS ? "uploaded files" : root),
    describeRules: (source) =>
      describeTreeRules(source, [
        ...(source.gitignore ? ["what .gitignore lets in"] : []),
        ...(source.ignoreInodes ? ["whatever its inodes"] : []),
      ]),
    hostOf: ({ root }) => /^[\\/]{2}([^\\/]+)/.exec(root)?.[1]?.toLowerCase() ?? "file",
    locate: (source, called) => locateIn(source, pathBelowRoot(source, called)),
    watch: (source) =>
      source.root === UPLOADS ? {} : { folder: { root: source.root, enters: createTreeRules(source).enters } },
    uploads: {
      fields: { root: UPLOADS },
      holds: ({ root }) => root === UPLOADS,
      folderOf: (domainId) => uploadsFolder(access().storagePath, domainId),
      maxFileBytes: ({ maxFileBytes }) => maxFileBytes,
      async find(run, path) {
        if (run.config.root !== UPLOADS || !isPlainPath(path)) return undefined;
        const file = join(uploadsFolder(access().storagePath, run.domainId), path);
        return (await pathExists(file)) ? file : undefined;
      },
    },
    open(run, options) {
      const { storagePath, roots } = access();
      if (run.config.root === UPLOADS) {
        const root = uploadsFolder(storagePath, run.domainId);
        // It has nothing of ours below it, and needs no permission.
        const tree = createFolderTree(
          { ...run.config, root },
          { storagePath: undefined, roots: async () => "anywhere" },
        );
        return openTreeSource(run.config, { ...toolsOf(run, options), tree: uploadedTree(tree) });
      }
      const tree = createFolderTree(run.config, { storagePath, roots: roots.forSources });
      return openTreeSource(run.config, { ...toolsOf(run, options), tree });
    },
  };
}

/** Their addresses would tell where our storage is. */
function uploadedTree(tree: FileTree): FileTree {
  return { ...tree, addressOf: (path) => ({ url: "", rawUrl: `uploads/${path}` }) };
}

function uploadsFolder(storagePath: string, domainId: DomainId): string {
  return resolve(storagePath, "domains", domainId, UPLOADS);
}

function isPlainPath(path: string): boolean {
  return path !== "" && path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

export function isFolderSource(source: SourceConfig): source is FolderSourceConfig {
  return source.sourceType === TYPE;
}

/** Returns the path below the root for a relative or absolute path; undefined if it is outside. */
function pathBelowRoot({ root }: FolderSourceConfig, called: string): string | undefined {
  const path = called.trim().replaceAll("\\", "/");
  const start = `${root.replaceAll("\\", "/")}/`;
  if (path.startsWith(start)) return path.slice(start.length);
  return isAbsolutePath(path) ? undefined : path;
}

const FIELDS: readonly SourceField[] = [
  {
    name: "root",
    label: "Folder",
    placeholder: "/srv/handbook",
    hint: "An absolute path on the machine that crawls; a share is mounted there first.",
    described: "The folder, for folder_sources: an absolute path on the machine that crawls.",
  },
  ...TREE_GLOBS,
  MAX_FILE_FIELD,
  {
    name: "gitignore",
    label: "Leave out what .gitignore files leave out",
    placeholder: "",
    type: "flag",
    described: "For folder_sources: whether .gitignore files in it are respected.",
  },
  {
    name: "ignore_inodes",
    label: "Its inodes change at every mount",
    placeholder: "",
    hint: "For shares of which everything is read again after each mount. A hundredth of the files is read in every crawl instead.",
    type: "flag",
    described: "For folder_sources: whether its inodes tell nothing, because they change.",
  },
  HIDDEN_FIELD,
];

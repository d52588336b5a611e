import type { SourceField, SourceKind } from "../../contracts/source-kind.ts";
import { openTreeSource } from "../tree/open-tree-source.ts";
import {
  CREDENTIAL_FIELD,
  decoded,
  describeTreeRules,
  HIDDEN_FIELD,
  isAbsolutePath,
  locateIn,
  MAX_FILE_FIELD,
  TREE_GLOBS,
  TREE_KIND,
  type TreeToolsOf,
} from "../tree/tree-kind.ts";
import { EMPTY_RULES } from "../tree/tree-source-codec.ts";
import { createGitTree } from "./create-git-tree.ts";
import { fileAddress, hostIn, parseGitAddress } from "./git-address.ts";
import { formatRepository, type GitSourceConfig, parseRepository } from "./git-source-codec.ts";

interface GitAccess {
  /** Returns the value of an environment variable; undefined if it is not set. */
  readonly credential: (name: string) => string | undefined;
  /** Throws unless the path is an existing folder in which sources may be. */
  readonly checkFolder: (path: string) => Promise<void>;
  /** For new and changed sources: throws only for a folder that no crawl would accept. */
  readonly refuseFolder: (path: string) => Promise<void>;
}

/** Each scan asks the server for the current commit. */
const SCAN_MS = 60_000;

export function createGitKind(access: () => GitAccess, toolsOf: TreeToolsOf): SourceKind<GitSourceConfig> {
  return {
    ...TREE_KIND,
    type: "git_sources",
    folder: "08_git",
    scope: "git",
    words: {
      name: "Git repository",
      noun: "Git repository",
      nouns: "Git repositories",
      place: "the files of one branch",
      scope: "Git repositories",
      array:
        "Git repositories: an array of {source_id, repository, branch, include, exclude, credential, hidden, max_file_mb}; the last six may be left out. credential is the name of an environment variable.",
    },
    fields: FIELDS,
    foundAs: "file",
    parse: parseRepository,
    format: formatRepository,
    unknown: { ...EMPTY_RULES, repository: "", branch: "", credential: "" },
    async checkPlace({ repository }) {
      const address = parseGitAddress(repository);
      if (typeof address !== "string" && address.protocol === "file") await access().refuseFolder(address.location);
    },
    describePlace: ({ repository, branch }) => (branch ? `${repository} (branch ${branch})` : repository),
    links: ({ repository }) => (/^https?:/.test(repository) ? [{ url: repository, words: repository }] : []),
    describeRules: (source) => describeTreeRules(source),
    hostOf: ({ repository }) => hostIn(repository) || "file",
    locate: (source, called) => locateIn(source, pathInRepository(source, called)),
    watch: () => ({ scanMs: SCAN_MS }),
    open(run, options) {
      const { credential: variable, checkFolder } = access();
      const { folder, ...tools } = toolsOf(run, options);
      const tree = createGitTree(run.config, { variable, checkFolder, folder, dryRun: tools.dryRun });
      return openTreeSource(run.config, { ...tools, tree });
    },
  };
}

/** Returns the path below the root for a path or URL; undefined if it is elsewhere. */
function pathInRepository({ repository, branch }: GitSourceConfig, called: string): string | undefined {
  const path = called.trim();
  const address = parseGitAddress(repository);
  if (typeof address === "string") return undefined;
  const { url, rawUrl } = fileAddress(address, branch, "");
  if (path.startsWith(rawUrl)) return decoded(path.slice(rawUrl.length));
  if (path.startsWith(url)) return decoded(path.slice(url.length));
  return isAbsolutePath(path) ? undefined : path;
}

const FIELDS: readonly SourceField[] = [
  {
    name: "repository",
    label: "Address of the repository",
    placeholder: "https://github.com/contoso/handbook.git",
    hint: "https://, ssh://, user@host:path, or an absolute path on the machine that crawls. Without a token: that is never kept here.",
    pattern: "[^?#]*",
    described: "The address or path of the repository, for git_sources, without a token.",
  },
  {
    name: "branch",
    label: "Branch",
    placeholder: "main",
    hint: "Empty: the default one of the repository.",
    optional: true,
    described: "For git_sources: the branch that is read.",
  },
  {
    ...CREDENTIAL_FIELD,
    label: "Environment variable with the token",
    placeholder: "HANDBOOK_TOKEN",
    hint: "Its name, in capitals. Empty: a repository for everybody, or one that is reached by ssh or as a folder.",
  },
  ...TREE_GLOBS,
  MAX_FILE_FIELD,
  HIDDEN_FIELD,
];

import type { SourceField, SourceKind } from "../../contracts/source-kind.ts";
import { openTreeSource } from "../tree/open-tree-source.ts";
import {
  describeTreeRules,
  HIDDEN_FIELD,
  isWholePath,
  locateIn,
  MAX_FILE_FIELD,
  TREE_GLOBS,
  TREE_KIND,
  type TreeToolsOf,
} from "../tree/tree-kind.ts";
import { NO_RULES } from "../tree/tree-source-codec.ts";
import { type BlobSourceConfig, formatContainer, parseContainer } from "./blob-source-codec.ts";
import { createBlobTree } from "./create-blob-tree.ts";

interface BlobAccess {
  readonly credential: (name: string) => string | undefined;
  readonly identityClientId: string;
}

/** It is asked over the network, and every answer may cost money. */
const SCAN_MS = 30_000;

export function createBlobKind(access: () => BlobAccess, toolsOf: TreeToolsOf): SourceKind<BlobSourceConfig> {
  return {
    ...TREE_KIND,
    type: "blob_sources",
    folder: "06_blobs",
    scope: "blobs",
    words: {
      name: "Blob container",
      noun: "blob container",
      nouns: "blob containers",
      scope: "Blob containers",
      array:
        "Containers of Azure Blob Storage: an array of {source_id, container_url, prefix, include, exclude, credential, hidden, max_file_mb}; the last six may be left out. credential is the name of an environment variable.",
    },
    fields: FIELDS,
    foundAs: "blob",
    parse: parseContainer,
    format: formatContainer,
    unknown: { ...NO_RULES, containerUrl: "", prefix: "", credential: "" },
    describePlace: ({ containerUrl, prefix }) => (prefix ? `${containerUrl}/${prefix}` : containerUrl),
    describeRules: (source) => describeTreeRules(source),
    hostOf: ({ containerUrl }) => URL.parse(containerUrl)?.host ?? "",
    locate: (source, called) => locateIn(source, below(source, called)),
    watch: () => ({ scanMs: SCAN_MS }),
    open(run, options) {
      const { credential, identityClientId } = access();
      const { folder, ...tools } = toolsOf(run, options);
      const tree = createBlobTree(run.config, { credential, identityClientId, ...(folder && { folder }) });
      return openTreeSource(run.config, { ...tools, tree });
    },
  };
}

/** The path below the root of what may be written as a whole address; undefined: it lies elsewhere. */
function below({ containerUrl, prefix }: BlobSourceConfig, called: string): string | undefined {
  const path = called.trim().replaceAll("\\", "/");
  const start = `${containerUrl}/`;
  const isAddress = path.startsWith(start);
  if (!isAddress && isWholePath(path)) return undefined;
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

const FIELDS: readonly SourceField[] = [
  {
    name: "container_url",
    label: "Address of the container",
    placeholder: "https://contoso.blob.core.windows.net/handbook",
    hint: "Without a SAS: that is never kept here.",
    pattern: "[^?#@]*",
    type: "url",
    described: "The address of the container, for blob_sources, without a SAS.",
  },
  {
    name: "prefix",
    label: "Prefix",
    placeholder: "manuals/",
    hint: "What the names of the blobs begin with. Empty: the whole container.",
    optional: true,
    described: "For blob_sources: what the names of the blobs begin with.",
  },
  {
    name: "credential",
    label: "Environment variable with the SAS",
    placeholder: "HANDBOOK_SAS",
    hint: "Its name, in capitals; it may hold a connection string, too. Empty: managed identity, or a public container.",
    pattern: "[A-Z_][A-Z0-9_]{0,63}",
    optional: true,
    described: "For blob_sources: the name of the environment variable that holds a SAS or a connection string.",
  },
  ...TREE_GLOBS,
  MAX_FILE_FIELD,
  HIDDEN_FIELD,
];

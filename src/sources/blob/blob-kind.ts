import { join } from "node:path";
import type { SourceField, SourceKind } from "../../contracts/source-kind.ts";
import { openTreeSource } from "../tree/open-tree-source.ts";
import {
  CREDENTIAL_FIELD,
  describeTreeRules,
  HIDDEN_FIELD,
  locateIn,
  MAX_FILE_FIELD,
  PREFIX_FIELD,
  pathInStore,
  STORE_SCAN_MS,
  TREE_GLOBS,
  TREE_KIND,
  type TreeToolsOf,
} from "../tree/tree-kind.ts";
import { EMPTY_RULES } from "../tree/tree-source-codec.ts";
import { type BlobSourceConfig, formatContainer, parseContainer } from "./blob-source-codec.ts";
import { createBlobTree } from "./create-blob-tree.ts";

interface BlobAccess {
  readonly credential: (name: string) => string | undefined;
  readonly identityClientId: string;
}

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
      place: "files in Azure Storage",
      scope: "Blob containers",
      array:
        "Containers of Azure Blob Storage: an array of {source_id, container_url, prefix, include, exclude, credential, hidden, max_file_mb}; the last six may be left out. credential is the name of an environment variable.",
    },
    fields: FIELDS,
    foundAs: "blob",
    parse: parseContainer,
    format: formatContainer,
    unknown: { ...EMPTY_RULES, containerUrl: "", prefix: "", credential: "" },
    describePlace: ({ containerUrl, prefix }) => (prefix ? `${containerUrl}/${prefix}` : containerUrl),
    describeRules: (source) => describeTreeRules(source),
    hostOf: ({ containerUrl }) => URL.parse(containerUrl)?.host ?? "",
    locate: (source, called) => locateIn(source, pathInStore(source.containerUrl, source.prefix, called)),
    watch: () => ({ scanMs: STORE_SCAN_MS }),
    open(run, options) {
      const { credential, identityClientId } = access();
      const { folder, ...tools } = toolsOf(run, options);
      const spool = tools.dryRun ? {} : { folder: join(folder, "read") };
      const tree = createBlobTree(run.config, { credential, identityClientId, ...spool });
      return openTreeSource(run.config, { ...tools, tree });
    },
  };
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
  { ...PREFIX_FIELD, hint: "What the names of the blobs begin with. Empty: the whole container." },
  {
    ...CREDENTIAL_FIELD,
    label: "Environment variable with the SAS",
    placeholder: "HANDBOOK_SAS",
    hint: "Its name, in capitals; it may hold a connection string, too. Empty: managed identity, or a public container.",
  },
  ...TREE_GLOBS,
  MAX_FILE_FIELD,
  HIDDEN_FIELD,
];

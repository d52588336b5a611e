import type { SourceType } from "../../contracts/domain.ts";
import { USUAL_FILE_MB } from "../../domains/tree-source-codec.ts";
import { USUAL_DEPTH, USUAL_PAGES } from "../../domains/web-source-codec.ts";

/** One field of a source as the editor shows it. */
export interface SourceField {
  readonly name: string;
  readonly label: string;
  readonly placeholder: string;
  readonly hint?: string;
  /** lines: several, one below the other. */
  readonly type?: "url" | "lines" | "number" | "flag";
  readonly optional?: true;
  /** What does not match is not even asked about; the hint says what is right. */
  readonly pattern?: string;
  readonly usual?: number;
}

const SITE: SourceField = {
  name: "site_url",
  label: "Site address",
  placeholder: "https://contoso.sharepoint.com/sites/hr",
  type: "url",
};
const FILTER: SourceField = {
  name: "filter",
  label: "Filter (OData)",
  placeholder: "Status eq 'Active'",
  hint: "Empty takes everything.",
  optional: true,
};
const ID: SourceField = {
  name: "source_id",
  label: "Source id",
  placeholder: "policies",
  hint: "Letters, digits, _ and -; names a folder.",
  pattern: "[A-Za-z0-9_\\-]{1,64}",
};

const HIDDEN: SourceField = {
  name: "hidden",
  label: "Take names that begin with a dot, too",
  placeholder: "",
  type: "flag",
};
const MAX_FILE: SourceField = {
  name: "max_file_mb",
  label: "Largest file, in MB",
  placeholder: "",
  hint: "Larger ones are left out.",
  type: "number",
  usual: USUAL_FILE_MB,
};
const TREE_GLOBS: readonly SourceField[] = [
  {
    name: "include",
    label: "Take only",
    placeholder: "*.pdf",
    hint: "Patterns, one per line: *.pdf at any depth, manuals/** below that folder. Empty: everything.",
    type: "lines",
    optional: true,
  },
  {
    name: "exclude",
    label: "Leave out",
    placeholder: "drafts/**",
    hint: "Patterns, one per line.",
    type: "lines",
    optional: true,
  },
];

/** By kind, in the order of the form. */
export const SOURCE_FIELDS: Readonly<Record<SourceType, readonly SourceField[]>> = {
  file_sources: [
    ID,
    SITE,
    { name: "sharepoint_url_part", label: "Library, or a folder in it", placeholder: "/Shared Documents" },
    FILTER,
    { name: "drafts", label: "Take drafts, too (otherwise what is published)", placeholder: "", type: "flag" },
  ],
  list_sources: [ID, SITE, { name: "list_name", label: "Title of the list", placeholder: "Contacts" }, FILTER],
  sitepage_sources: [
    ID,
    SITE,
    { name: "sharepoint_url_part", label: "Library of the pages", placeholder: "/SitePages" },
    FILTER,
  ],
  web_sources: [
    ID,
    {
      name: "start_urls",
      label: "Start addresses",
      placeholder: "https://docs.example.com/",
      hint: "Pages, sitemaps, feeds or llms.txt, one per line. Empty only for the source 'urls': the addresses that are added one by one.",
      type: "lines",
      optional: true,
    },
    {
      name: "include",
      label: "Take only",
      placeholder: "/guide/**",
      hint: "Patterns of addresses or paths, one per line. Empty: everything of the site.",
      type: "lines",
      optional: true,
    },
    {
      name: "exclude",
      label: "Leave out",
      placeholder: "/blog/**",
      hint: "Patterns, one per line.",
      type: "lines",
      optional: true,
    },
    {
      name: "max_depth",
      label: "Depth",
      placeholder: "",
      hint: "Links from a start address; 0 for those alone.",
      type: "number",
      usual: USUAL_DEPTH,
    },
    {
      name: "max_pages",
      label: "Most pages",
      placeholder: "",
      hint: "A crawl that meets more removes nothing.",
      type: "number",
      usual: USUAL_PAGES,
    },
    { name: "images", label: "Keep the pictures of its pages, too", placeholder: "", type: "flag" },
  ],
  folder_sources: [
    ID,
    {
      name: "root",
      label: "Folder",
      placeholder: "/srv/handbook",
      hint: "An absolute path on the machine that crawls; a share is mounted there first.",
    },
    ...TREE_GLOBS,
    MAX_FILE,
    { name: "gitignore", label: "Leave out what .gitignore files leave out", placeholder: "", type: "flag" },
    {
      name: "ignore_inodes",
      label: "Its inodes change at every mount",
      placeholder: "",
      hint: "For shares of which everything is read again after each mount. A hundredth of the files is read in every crawl instead.",
      type: "flag",
    },
    HIDDEN,
  ],
  blob_sources: [
    ID,
    {
      name: "container_url",
      label: "Address of the container",
      placeholder: "https://contoso.blob.core.windows.net/handbook",
      hint: "Without a SAS: that is never kept here.",
      pattern: "[^?#@]*",
      type: "url",
    },
    {
      name: "prefix",
      label: "Prefix",
      placeholder: "manuals/",
      hint: "What the names of the blobs begin with. Empty: the whole container.",
      optional: true,
    },
    {
      name: "credential",
      label: "Environment variable with the SAS",
      placeholder: "HANDBOOK_SAS",
      hint: "Its name, in capitals; it may hold a connection string, too. Empty: managed identity, or a public container.",
      pattern: "[A-Z_][A-Z0-9_]{0,63}",
      optional: true,
    },
    ...TREE_GLOBS,
    MAX_FILE,
    HIDDEN,
  ],
};

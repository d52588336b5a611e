import type { SourceAbilities, SourceField, SourceKind, SourceOptions } from "../../contracts/source-kind.ts";
import { createListConverter } from "./lists/list-converter.ts";
import { openSharePointList } from "./lists/open-sharepoint-list.ts";
import { openSharePointLibrary } from "./open-sharepoint-library.ts";
import { openSharePointPages } from "./pages/open-sharepoint-pages.ts";
import { createPageConverter } from "./pages/page-converter.ts";
import type { SharePointConnection } from "./sharepoint-connection.ts";
import {
  type FileSourceConfig,
  formatLibrary,
  formatList,
  formatPages,
  type ListSourceConfig,
  parseLibrary,
  parseList,
  parsePages,
  type SharePointSourceConfig,
  type SitePageSourceConfig,
} from "./sharepoint-source-codec.ts";

/** Connects when the first source is opened: most commands never sign in. */
type Connect = () => SharePointConnection;

const ABILITIES: SourceAbilities = {
  hasIds: true,
  keepsTexts: false,
  isReadWhileListed: false,
  registersAddresses: false,
  keepsMaps: true,
  needsSignIn: true,
  isTakenOnce: false,
};

const SITE: SourceField = {
  name: "site_url",
  label: "Site address",
  placeholder: "https://contoso.sharepoint.com/sites/hr",
  type: "url",
  described: "The address of the SharePoint site, for file_sources, list_sources and sitepage_sources.",
};
const FILTER: SourceField = {
  name: "filter",
  label: "Filter (OData)",
  placeholder: "Status eq 'Active'",
  hint: "Empty takes everything.",
  optional: true,
  described: "OData; of SharePoint alone.",
};
const URL_PART = {
  name: "sharepoint_url_part",
  described: "The library or folder, for file_sources and sitepage_sources.",
};

/** Common to the three kinds. */
const COMMON = {
  abilities: ABILITIES,
  isInEveryDomain: true,
  mayCheck: "operate",
  foundAs: "sharepoint",
  describeRules: ({ filter }: SharePointSourceConfig) => ({ patterns: filter ? [filter] : [], others: [] }),
  hostOf: ({ siteUrl }: SharePointSourceConfig) => URL.parse(siteUrl)?.host ?? "",
  remedyFor(reason: string): string | undefined {
    if (/access denied|\b40[13]\b|forbidden|unauthori[sz]ed/i.test(reason)) {
      return "Give the app the right to read it: 'Test connection' names the command. Or acknowledge it.";
    }
    if (/locked|checked out|\b423\b/i.test(reason))
      return "Somebody has it locked or checked out. The next crawl tries again.";
    return undefined;
  },
} as const;

export function createLibraryKind(connect: Connect): SourceKind<FileSourceConfig> {
  return {
    ...COMMON,
    type: "file_sources",
    folder: "01_files",
    scope: "files",
    words: {
      name: "Document library",
      noun: "library",
      nouns: "libraries",
      place: "files in SharePoint",
      scope: "Files",
      array: "Document libraries: an array of {source_id, site_url, sharepoint_url_part, filter, drafts}.",
    },
    fields: [
      SITE,
      { ...URL_PART, label: "Library, or a folder in it", placeholder: "/Shared Documents" },
      FILTER,
      {
        name: "drafts",
        label: "Take drafts, too (otherwise what is published)",
        placeholder: "",
        type: "flag",
        described: "For file_sources: whether the latest version of a file is taken, published or not.",
      },
    ],
    parse: parseLibrary,
    parseUnfinished: unnamed(parseLibrary, "sharepoint_url_part", "/Documents", { urlPart: "" }),
    format: formatLibrary,
    unknown: { siteUrl: "", filter: "", urlPart: "" },
    ...placedAt(({ siteUrl, urlPart }) => `${siteUrl}${urlPart}`),
    leavesOutDrafts: ({ drafts }) => !drafts,
    open: ({ config }, options) => openSharePointLibrary(config, connect(), waiting(options)),
  };
}

export function createListKind(connect: Connect): SourceKind<ListSourceConfig> {
  return {
    ...COMMON,
    type: "list_sources",
    folder: "02_lists",
    scope: "lists",
    words: {
      name: "List",
      noun: "list",
      nouns: "lists",
      place: "rows of a SharePoint list",
      scope: "Lists",
      array: "Lists: an array of {source_id, site_url, list_name, filter}.",
    },
    fields: [
      SITE,
      {
        name: "list_name",
        label: "Title of the list",
        placeholder: "Contacts",
        described: "The title of the list, for list_sources.",
      },
      FILTER,
    ],
    parse: parseList,
    parseUnfinished: unnamed(parseList, "list_name", "Tasks", { listName: "" }),
    format: formatList,
    unknown: { siteUrl: "", filter: "", listName: "" },
    ...placedAt(({ siteUrl, listName }) => `list '${listName}' of ${siteUrl}`),
    open: ({ config }, options) => openSharePointList(config, connect(), waiting(options)),
    openConverter: createListConverter,
  };
}

export function createSitePageKind(connect: Connect): SourceKind<SitePageSourceConfig> {
  return {
    ...COMMON,
    type: "sitepage_sources",
    folder: "03_sitepages",
    scope: "sitepages",
    words: {
      name: "Site pages",
      noun: "set of site pages",
      nouns: "sets of site pages",
      place: "pages of a SharePoint site",
      scope: "Site pages",
      array: "Site pages: an array of {source_id, site_url, sharepoint_url_part, filter}.",
    },
    fields: [SITE, { ...URL_PART, label: "Library of the pages", placeholder: "/SitePages" }, FILTER],
    parse: parsePages,
    parseUnfinished: unnamed(parsePages, "sharepoint_url_part", "/Documents", { urlPart: "" }),
    format: formatPages,
    unknown: { siteUrl: "", filter: "", urlPart: "" },
    ...placedAt(({ siteUrl, urlPart }) => `${siteUrl}${urlPart}`),
    open: ({ config }, options) => openSharePointPages(config, connect(), waiting(options)),
    openConverter: createPageConverter,
  };
}

/** Accepts an empty library or list name, so that the check can suggest what the site has. */
function unnamed<C extends SharePointSourceConfig>(
  parse: SourceKind<C>["parse"],
  field: string,
  example: string,
  none: Partial<C>,
): SourceKind<C>["parse"] {
  return (value, where, problems) => {
    const isNamed = String(value[field] ?? "").trim() !== "";
    if (isNamed) return parse(value, where, problems);
    return { ...parse({ ...value, [field]: example }, where, problems), ...none };
  };
}

function placedAt<C extends SharePointSourceConfig>(
  describePlace: (source: C) => string,
): Pick<SourceKind<C>, "describePlace" | "links"> {
  return {
    describePlace,
    links: (source) => [{ url: source.siteUrl, words: describePlace(source) }],
  };
}

function waiting({ log }: SourceOptions): { onWait(reason: string, ms: number): void } {
  return { onWait: (reason, ms) => log(`Waiting ${Math.ceil(ms / 1000)} s: ${reason}`) };
}

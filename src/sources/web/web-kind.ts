import { isDeepStrictEqual } from "node:util";
import { REGISTERED_SOURCE } from "../../contracts/domain.ts";
import { MEMBERS_OF } from "../../contracts/members.ts";
import type { SourceField, SourceKind, SourceOptions, SourceRun } from "../../contracts/source-kind.ts";
import { openRegisteredUrls, type RegisteredTools } from "./open-registered-urls.ts";
import { openWebSite, remedyForAddress, type WebTools } from "./site/open-web-site.ts";
import {
  formatWebPlace,
  parseWebPlace,
  refuseStartSecrets,
  USUAL_DEPTH,
  USUAL_PAGES,
  type WebSourceConfig,
} from "./web-source-codec.ts";

/** Returns the dependencies of a run. */
type ToolsOf = (run: SourceRun, options: SourceOptions) => WebTools & RegisteredTools;

export function createWebKind(toolsOf: ToolsOf): SourceKind<WebSourceConfig> {
  const holdsRegistered = ({ startUrls, sourceId }: WebSourceConfig): boolean =>
    startUrls.length === 0 && sourceId === REGISTERED_SOURCE;
  return {
    ...MEMBERS_OF,
    scope: "web",
    abilities: {
      hasIds: true,
      keepsTexts: false,
      isReadWhileListed: true,
      registersAddresses: true,
      keepsMaps: false,
      needsSignIn: false,
      isTakenOnce: false,
    },
    words: {
      name: "Web site",
      noun: "web site",
      nouns: "web sites",
      place: "pages, found by following links",
      scope: "Web sites",
      array:
        "Web sites: an array of {source_id, start_urls, include, exclude, max_depth, max_pages, images}; the last five may be left out.",
    },
    fields: FIELDS,
    idPrefix: "url_",
    mayCheck: "operate",
    foundAs: "url",
    parse: parseWebPlace,
    format: formatWebPlace,
    unknown: { startUrls: [], include: [], exclude: [], maxDepth: 0, maxPages: 0, images: false },
    refuseNew(source, before, where, problems) {
      if (!isDeepStrictEqual(source.startUrls, before?.startUrls)) refuseStartSecrets(source, where, problems);
    },
    describePlace: ({ startUrls }) => startUrls.join(", ") || "addresses registered one by one",
    links: ({ startUrls }) => startUrls.map((url) => ({ url, words: url })),
    describeRules: ({ include, exclude }) => ({
      patterns: [...include, ...exclude.map((glob) => `not ${glob}`)],
      others: [],
    }),
    holdsRegistered,
    remedyFor: remedyForAddress,
    open(run, options) {
      const tools = toolsOf(run, options);
      return holdsRegistered(run.config) ? openRegisteredUrls(run.config, tools) : openWebSite(run.config, tools);
    },
  };
}

const FIELDS: readonly SourceField[] = [
  {
    name: "start_urls",
    label: "Start addresses",
    placeholder: "https://docs.example.com/",
    hint: "Pages, sitemaps, feeds or llms.txt, one per line. Empty only for the source 'urls': the addresses that are added one by one.",
    type: "words",
    optional: true,
    described: "Where web_sources begin, separated by blanks.",
  },
  {
    name: "include",
    label: "Take only",
    placeholder: "/guide/**",
    hint: "Patterns of addresses or paths, one per line. Empty: everything of the site.",
    type: "words",
    optional: true,
    described: "Globs of what is taken, one per line; of web_sources also separated by blanks. Not for SharePoint.",
  },
  {
    name: "exclude",
    label: "Leave out",
    placeholder: "/blog/**",
    hint: "Patterns, one per line.",
    type: "words",
    optional: true,
    described: "Globs of what is not.",
  },
  {
    name: "max_depth",
    label: "Depth",
    placeholder: "",
    hint: "Links from a start address; 0 for those alone.",
    type: "number",
    usual: USUAL_DEPTH,
    described: "For web_sources: how many links away from a start address.",
  },
  {
    name: "max_pages",
    label: "Most pages",
    placeholder: "",
    hint: "A crawl that meets more removes nothing.",
    type: "number",
    usual: USUAL_PAGES,
    described: "For web_sources: at most so many pages.",
  },
  {
    name: "images",
    label: "Keep the pictures of its pages, too",
    placeholder: "",
    type: "flag",
    described: "For web_sources: whether pictures are kept, too.",
  },
];

import type { App } from "../../app/app.ts";
import {
  describePlace,
  type SharePointSourceConfig,
  SOURCE_TYPES,
  type SourceConfig,
  type SourceType,
} from "../../contracts/domain.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { Alternatives } from "../../contracts/finding.ts";
import { parseSource } from "../../domains/source-codec.ts";
import type { PlacedFinding } from "../../engine/doctor.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import { type Answer, type Endpoint, endpoint } from "../grammar/endpoint.ts";
import { type Arguments, optional, required, withDefault } from "../grammar/parameters.ts";
import { oneOf, sourceId, text, trueOrFalse, wholeNumber, words } from "../grammar/values.ts";
import { checkPage } from "../pages/check-page.ts";
import { type FindingRow, formatFinding, sayProblems } from "./finding-row.ts";

/** Whoever types has moved on by then. */
const ANSWER_MS = 10_000;

const count = wholeNumber({ from: 0, to: 999_999_999 });

const query = {
  source_type: required(oneOf(SOURCE_TYPES), "What kind of source it is."),
  site_url: optional(words, "The address of the SharePoint site; every kind but web_sources needs it."),
  sharepoint_url_part: withDefault(text, "", "The library or folder, for file_sources and sitepage_sources."),
  list_name: withDefault(text, "", "The title of the list, for list_sources."),
  filter: withDefault(text, "", "OData; of SharePoint alone."),
  start_urls: optional(words, "Where web_sources begin, separated by blanks."),
  include: optional(words, "For web_sources: globs of what is taken, separated by blanks."),
  exclude: optional(words, "For web_sources: globs of what is not."),
  max_depth: optional(count, "For web_sources: how many links away from a start address."),
  max_pages: optional(count, "For web_sources: at most so many pages."),
  images: optional(trueOrFalse, "For web_sources: whether pictures are kept, too."),
  source_id: optional(sourceId, "What the source is to be called."),
};

interface CheckedSource {
  readonly findings: readonly FindingRow[];
  /** What the site has, where the library or list is not named yet, or not found. */
  readonly suggestions: readonly Alternatives[];
}

/** For editors of sources: what a crawl would meet, before there is a domain that has the source. */
export function checkSource(app: App): Endpoint {
  return endpoint({
    path: "/v2/domains/check_source",
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Looks at a source that is in no domain yet: whether the site can be read, the library or list is there, and the filter is valid. Where the library or list is not named or not found, it suggests those that the site has. Of a web site it looks at the start addresses.",
    changes: null,
    role: "operate",
    query,
    examples: [
      "?source_type=file_sources&site_url=https://example.sharepoint.com/sites/demo&sharepoint_url_part=/Shared Documents",
      "?source_type=list_sources&site_url=https://example.sharepoint.com/sites/demo&list_name=Tasks&format=html",
      "?source_type=web_sources&start_urls=https://docs.example.com/&include=/guide/**",
    ],
    run: (args, { signal }) => check(app, readSource(args), signal),
    html: ({ data }, { site_url, start_urls }, frame) => checkPage(site_url ?? start_urls ?? "", data.findings, frame),
  });
}

async function check(app: App, source: SourceConfig, signal: AbortSignal): Promise<Answer<CheckedSource>> {
  const late = AbortSignal.timeout(ANSWER_MS);
  const findings: PlacedFinding[] = [];
  try {
    for await (const finding of app.examineSource(source, AbortSignal.any([signal, late]))) findings.push(finding);
  } catch (error) {
    if (!late.aborted) throw error;
    const detail = `No answer within ${ANSWER_MS / 1000} seconds.`;
    const { sourceId, sourceType } = source;
    const field = sourceType === "web_sources" ? "start_urls" : "site_url";
    const remedy = `Check '${field}', and that this machine reaches it; or try again.`;
    findings.push({ subject: describePlace(source), outcome: "problem", detail, remedy, domainId: "", sourceId });
  }
  const error = sayProblems(findings);
  const suggestions = findings.flatMap(({ alternatives }) => alternatives ?? []);
  return { ok: error === "", error, data: { findings: findings.map(formatFinding), suggestions } };
}

function readSource(args: Arguments<typeof query>): SourceConfig {
  const { source_type: type, ...given } = args;
  return type === "web_sources" ? readWebSource(given) : readSharePointSource(type, given);
}

type Given = Omit<Arguments<typeof query>, "source_type">;

function readWebSource({ site_url, sharepoint_url_part, list_name, filter, ...own }: Given): SourceConfig {
  for (const [name, value] of Object.entries({ site_url, sharepoint_url_part, list_name, filter })) {
    if (value) throw new BadInputError(`'${name}' does not belong to web_sources; give 'start_urls'.`);
  }
  if (own.start_urls === undefined) throw new BadInputError("Missing 'start_urls'.");
  return parse("web_sources", { ...own, source_id: own.source_id ?? "source" });
}

/** An empty library or list name is let pass: what the site has is then what somebody wants to know. */
function readSharePointSource(type: SharePointSourceConfig["sourceType"], args: Given): SourceConfig {
  const { site_url, filter, source_id = "source" } = args;
  if (site_url === undefined) throw new BadInputError("Missing 'site_url'.");
  const isList = type === "list_sources";
  const [field, example] = isList
    ? (["list_name", "Tasks"] as const)
    : (["sharepoint_url_part", "/Documents"] as const);
  for (const name of [isList ? "sharepoint_url_part" : "list_name", ...OF_THE_WEB] as const) {
    if (args[name] !== undefined && args[name] !== "")
      throw new BadInputError(`'${name}' does not belong to ${type}; give '${field}'.`);
  }
  const named = args[field].trim() !== "";
  const source = parse(type, { source_id, site_url, filter, [field]: named ? args[field] : example });
  if (named || source.sourceType === "web_sources") return source;
  return source.sourceType === "list_sources" ? { ...source, listName: "" } : { ...source, urlPart: "" };
}

const OF_THE_WEB = ["start_urls", "include", "exclude", "max_depth", "max_pages", "images"] as const;

function parse(type: SourceType, fields: Readonly<Record<string, unknown>>): SourceConfig {
  const problems: string[] = [];
  const source = parseSource(type, withoutAbsent(fields), "", problems);
  if (source) return source;
  throw new BadInputError(problems.map((problem) => problem.replace(/^[.:]\s*/, "")).join(" "));
}

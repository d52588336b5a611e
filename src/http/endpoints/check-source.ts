import type { App } from "../../app/app.ts";
import { SOURCE_TYPES, type SourceConfig, type SourceType } from "../../contracts/domain.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { Alternatives } from "../../contracts/finding.ts";
import { parseSource } from "../../domains/source-codec.ts";
import type { PlacedFinding } from "../../engine/doctor.ts";
import { type Answer, type Endpoint, endpoint } from "../grammar/endpoint.ts";
import { type Arguments, optional, required, withDefault } from "../grammar/parameters.ts";
import { oneOf, sourceId, text, words } from "../grammar/values.ts";
import { checkPage } from "../pages/check-page.ts";
import { type FindingRow, formatFinding, sayProblems } from "./finding-row.ts";

/** Whoever types has moved on by then. */
const ANSWER_MS = 10_000;

const query = {
  source_type: required(oneOf(SOURCE_TYPES), "What kind of source it is."),
  site_url: required(words, "The address of the site."),
  sharepoint_url_part: withDefault(text, "", "The library or folder, for file_sources and sitepage_sources."),
  list_name: withDefault(text, "", "The title of the list, for list_sources."),
  filter: withDefault(text, "", "OData."),
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
      "Looks at a source that is in no domain yet: whether the site can be read, the library or list is there, and the filter is valid. Where the library or list is not named or not found, it suggests those that the site has.",
    changes: null,
    role: "operate",
    query,
    examples: [
      "?source_type=file_sources&site_url=https://example.sharepoint.com/sites/demo&sharepoint_url_part=/Shared Documents",
      "?source_type=list_sources&site_url=https://example.sharepoint.com/sites/demo&list_name=Tasks&format=html",
    ],
    run: (args, { signal }) => check(app, readSource(args), signal),
    html: ({ data }, { site_url }, frame) => checkPage(site_url, data.findings, frame),
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
    const remedy = "Check 'site_url', and that this machine reaches it; or try again.";
    const { siteUrl, sourceId } = source;
    findings.push({ subject: `Site ${siteUrl}`, outcome: "problem", detail, remedy, domainId: "", sourceId });
  }
  const error = sayProblems(findings);
  const suggestions = findings.flatMap(({ alternatives }) => alternatives ?? []);
  return { ok: error === "", error, data: { findings: findings.map(formatFinding), suggestions } };
}

/** An empty library or list name is let pass: what the site has is then what somebody wants to know. */
function readSource(args: Arguments<typeof query>): SourceConfig {
  const type: SourceType = args.source_type;
  const isList = type === "list_sources";
  const [field, example] = isList
    ? (["list_name", "Tasks"] as const)
    : (["sharepoint_url_part", "/Documents"] as const);
  const named = args[field].trim() !== "";
  const foreign = isList ? "sharepoint_url_part" : "list_name";
  if (args[foreign] !== "") throw new BadInputError(`'${foreign}' does not belong to ${type}; give '${field}'.`);
  const { site_url, filter, source_id = "source" } = args;
  const problems: string[] = [];
  const source = parseSource(
    type,
    { source_id, site_url, filter, [field]: named ? args[field] : example },
    "",
    problems,
  );
  if (!source) throw new BadInputError(problems.map((problem) => problem.replace(/^[.:]\s*/, "")).join(" "));
  if (named) return source;
  return source.sourceType === "list_sources" ? { ...source, listName: "" } : { ...source, urlPart: "" };
}

import type { App } from "../../app/app.ts";
import {
  describePlace,
  isOfSharePoint,
  isTree,
  SOURCE_TYPES,
  type SourceConfig,
  type SourceType,
} from "../../contracts/domain.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { Alternatives } from "../../contracts/finding.ts";
import { parseSource } from "../../domains/source-codec.ts";
import { refuseStartSecrets } from "../../domains/web-source-codec.ts";
import type { PlacedFinding } from "../../engine/doctor.ts";
import { withoutAbsent } from "../../lib/without-absent.ts";
import { type Answer, type Endpoint, endpoint } from "../grammar/endpoint.ts";
import { type Arguments, optional, required, withDefault } from "../grammar/parameters.ts";
import { oneOf, sourceId, text, trueOrFalse, wholeNumber, words } from "../grammar/values.ts";
import { checkPage } from "../pages/check-page.ts";
import { requireRole } from "../safety/require-role.ts";
import { type FindingRow, formatFinding, sayProblems } from "./finding-row.ts";

/** Whoever types has moved on by then. */
const ANSWER_MS = 10_000;

const count = wholeNumber({ from: 0, to: 999_999_999 });

const query = {
  source_type: required(oneOf(SOURCE_TYPES), "What kind of source it is."),
  site_url: optional(words, "The address of the SharePoint site, for file_sources, list_sources and sitepage_sources."),
  sharepoint_url_part: withDefault(text, "", "The library or folder, for file_sources and sitepage_sources."),
  list_name: withDefault(text, "", "The title of the list, for list_sources."),
  filter: withDefault(text, "", "OData; of SharePoint alone."),
  start_urls: optional(words, "Where web_sources begin, separated by blanks."),
  root: optional(words, "The folder, for folder_sources: an absolute path on the machine that crawls."),
  container_url: optional(words, "The address of the container, for blob_sources, without a SAS."),
  prefix: withDefault(text, "", "For blob_sources: what the names of the blobs begin with."),
  credential: withDefault(
    text,
    "",
    "For blob_sources: the name of the environment variable that holds a SAS or a connection string.",
  ),
  include: optional(
    words,
    "Globs of what is taken, one per line; of web_sources also separated by blanks. Not for SharePoint.",
  ),
  exclude: optional(words, "Globs of what is not."),
  drafts: optional(trueOrFalse, "For file_sources: whether the latest version of a file is taken, published or not."),
  gitignore: optional(trueOrFalse, "For folder_sources: whether .gitignore files in it are respected."),
  ignore_inodes: optional(trueOrFalse, "For folder_sources: whether its inodes tell nothing, because they change."),
  hidden: optional(
    trueOrFalse,
    "For folder_sources and blob_sources: whether names that begin with a dot are taken, too.",
  ),
  max_file_mb: optional(count, "For folder_sources and blob_sources: larger files are left out."),
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
      "Looks at a source that is in no domain yet: whether the site can be read, the library or list is there, and the filter is valid. Where the library or list is not named or not found, it suggests those that the site has. Of a web site it looks at the start addresses, of a folder whether it is there and may be read, of a container whether it answers; these two need the role admin.",
    changes: null,
    asksNamedHost: true,
    role: "operate",
    query,
    examples: [
      "?source_type=file_sources&site_url=https://example.sharepoint.com/sites/demo&sharepoint_url_part=/Shared Documents",
      "?source_type=list_sources&site_url=https://example.sharepoint.com/sites/demo&list_name=Tasks&format=html",
      "?source_type=web_sources&start_urls=https://docs.example.com/&include=/guide/**",
      "?source_type=folder_sources&root=/srv/handbook&include=*.pdf",
      "?source_type=blob_sources&container_url=https://contoso.blob.core.windows.net/handbook&credential=HANDBOOK_SAS",
    ],
    run: async (args, { principal, signal }) => {
      const source = readSource(args);
      // These tell what this machine holds, and show a secret of its environment to the host that is named.
      if (isTree(source)) requireRole(principal, "admin");
      return check(app, source, signal);
    },
    html: ({ data }, args, frame) => checkPage(String(args[PLACES[args.source_type][0]] ?? ""), data.findings, frame),
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
    const [field] = PLACES[sourceType];
    const remedy = `Check '${field}', and that this machine reaches it; or try again.`;
    findings.push({ subject: describePlace(source), outcome: "problem", detail, remedy, domainId: "", sourceId });
  }
  const error = sayProblems(findings);
  const suggestions = findings.flatMap(({ alternatives }) => alternatives ?? []);
  return { ok: error === "", error, data: { findings: findings.map(formatFinding), suggestions } };
}

type Given = Omit<Arguments<typeof query>, "source_type" | "source_id">;

/** By kind: what says where it is, and what else may be given. */
const PLACES: Readonly<Record<SourceType, readonly [place: keyof Given, ...rest: (keyof Given)[]]>> = {
  file_sources: ["site_url", "sharepoint_url_part", "filter", "drafts"],
  list_sources: ["site_url", "list_name", "filter"],
  sitepage_sources: ["site_url", "sharepoint_url_part", "filter"],
  web_sources: ["start_urls", "include", "exclude", "max_depth", "max_pages", "images"],
  folder_sources: ["root", "include", "exclude", "gitignore", "ignore_inodes", "hidden", "max_file_mb"],
  blob_sources: ["container_url", "prefix", "credential", "include", "exclude", "hidden", "max_file_mb"],
};

const FIELDS = [...new Set(Object.values(PLACES).flat())];

function readSource(given: Arguments<typeof query>): SourceConfig {
  const { source_type: type, source_id = "source" } = given;
  const [place, ...rest] = PLACES[type];
  const said = FIELDS.filter((name) => given[name] !== undefined && given[name] !== "");
  const foreign = said.find((name) => name !== place && !rest.includes(name));
  const isSharePoint = place === "site_url";
  if (foreign) {
    throw new BadInputError(`'${foreign}' does not belong to ${type}; give '${isSharePoint ? rest[0] : place}'.`);
  }
  if (given[place] === undefined) throw new BadInputError(`Missing '${place}'.`);
  const fields = { source_id, ...Object.fromEntries(said.map((name) => [name, given[name]])) };
  return isSharePoint ? readSharePointSource(type, fields) : parse(type, fields);
}

/** An empty library or list name is let pass: what the site has is then what somebody wants to know. */
function readSharePointSource(type: SourceType, given: Readonly<Record<string, unknown>>): SourceConfig {
  const [field, example] = type === "list_sources" ? ["list_name", "Tasks"] : ["sharepoint_url_part", "/Documents"];
  const isNamed = String(given[field] ?? "").trim() !== "";
  const source = parse(type, isNamed ? given : { ...given, [field]: example });
  if (isNamed || !isOfSharePoint(source)) return source;
  return source.sourceType === "list_sources" ? { ...source, listName: "" } : { ...source, urlPart: "" };
}

function parse(type: SourceType, fields: Readonly<Record<string, unknown>>): SourceConfig {
  const problems: string[] = [];
  const source = parseSource(type, withoutAbsent(fields), "", problems);
  if (source?.sourceType === "web_sources") refuseStartSecrets(source, "", problems);
  if (source && problems.length === 0) return source;
  throw new BadInputError(problems.map(inQuotes).join(" "));
}

/** Nobody asked for more than one source; what its fields are called, the form says in its own words. */
function inQuotes(problem: string): string {
  return problem.replace(/^:\s*/, "").replace(/^\.(\w+)/, "'$1'");
}

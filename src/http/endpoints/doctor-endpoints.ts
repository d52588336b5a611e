import type { App } from "../../app/app.ts";
import type { SourceConfig } from "../../contracts/domain.ts";
import { BadInputError } from "../../contracts/errors.ts";
import type { Alternatives } from "../../contracts/finding.ts";
import type { SourceField, SourceKind, SourceKinds } from "../../contracts/source-kind.ts";
import { parseSource } from "../../domains/source-codec.ts";
import type { PlacedFinding } from "../../engine/doctor.ts";
import { checkPage } from "../pages/check-page.ts";
import { type Answer, type Endpoint, endpoint } from "../routing/endpoint.ts";
import { requireRole } from "../routing/failure.ts";
import { optional, type Parameter, required, withDefault } from "../routing/parameters.ts";
import { domainId, oneOf, sourceId, text, trueOrFalse, wholeNumber, words } from "../routing/values.ts";

export function doctorEndpoints(app: App): Endpoint[] {
  return [checkDomain(app), checkSource(app)];
}

function checkDomain(app: App): Endpoint {
  return endpoint({
    path: "/v2/domains/check",
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Tests the connection: looks at everything a crawl of the domain needs, from the certificate to the vector store, and says what is missing and who can do it.",
    changes: null,
    query: { domain_id: required(domainId, "The domain.") },
    examples: ["?domain_id=DEMO", "?domain_id=DEMO&format=html"],
    async run({ domain_id }, { signal }) {
      const findings = await Array.fromAsync(app.examine(domain_id, signal));
      const error = sayProblems(findings);
      return { ok: error === "", error, data: { domain_id, findings: findings.map(formatFinding) } };
    },
    html: ({ data }, _args, frame) => checkPage(data.domain_id, data.findings, frame),
  });
}

/** Longer than this, and the user has typed on. */
const ANSWER_MS = 10_000;

const count = wholeNumber({ from: 0, to: 999_999_999 });

/** Returns one parameter for each field of any kind of source. */
function queryFor({ all, types }: SourceKinds) {
  const fields: Record<string, Parameter<unknown>> = {};
  for (const kind of all) for (const field of kind.fields) fields[field.name] ??= toParameter(field, kind);
  return {
    source_type: required(oneOf(types), "What kind of source it is."),
    ...fields,
    source_id: optional(sourceId, "What the source is to be called."),
  };
}

function toParameter(field: SourceField, kind: SourceKind): Parameter<unknown> {
  const { described, type } = field;
  if (type === "flag") return optional(trueOrFalse, described);
  if (type === "number") return optional(count, described);
  const isNamed = type === "lines" || type === "words" || field === placeOf(kind);
  return isNamed ? optional(words, described) : withDefault(text, "", described);
}

/** Returns the field that says where the source is. */
function placeOf({ type, fields: [place] }: SourceKind): SourceField {
  if (place) return place;
  throw new Error(`check source: ${type} has no field that says where it is`);
}

interface CheckedSource {
  readonly findings: readonly FindingRow[];
  /** The site's libraries or lists, if the given one is missing or not found. */
  readonly suggestions: readonly Alternatives[];
}

/** For editors of sources: reports what a crawl would find, before a domain has the source. */
function checkSource(app: App): Endpoint {
  const { kinds } = app.domains;
  return endpoint({
    path: "/v2/domains/check_source",
    methods: ["GET"],
    formats: ["json", "html"],
    description:
      "Looks at a source that is in no domain yet: whether the site can be read, the library or list is there, and the filter is valid. Where the library or list is not named or not found, it suggests those that the site has. Of a web site it looks at the start addresses, of a folder whether it is there and may be read, of a container, bucket or Git repository whether it answers; these need the role admin.",
    changes: null,
    asksNamedHost: true,
    role: "operate",
    query: queryFor(kinds),
    examples: [
      "?source_type=file_sources&site_url=https://example.sharepoint.com/sites/demo&sharepoint_url_part=/Shared Documents",
      "?source_type=list_sources&site_url=https://example.sharepoint.com/sites/demo&list_name=Tasks&format=html",
      "?source_type=web_sources&start_urls=https://docs.example.com/&include=/guide/**",
      "?source_type=folder_sources&root=/srv/handbook&include=*.pdf",
      "?source_type=blob_sources&container_url=https://contoso.blob.core.windows.net/handbook&credential=HANDBOOK_SAS",
      "?source_type=s3_sources&bucket=contoso-reports&region=eu-central-1&credential=REPORTS_KEY",
      "?source_type=git_sources&repository=https://github.com/contoso/handbook.git&include=docs/**",
    ],
    run: async (args, { principal, signal }) => {
      const source = readSource(kinds.get(args.source_type), args, kinds);
      // These checks reveal what is on this machine, and send a secret of its environment to the named host.
      requireRole(principal, source.kind.mayCheck);
      return check(app, source, signal);
    },
    html: ({ data }, args: Given, frame) => {
      const place = args[placeOf(kinds.get(args.source_type)).name];
      return checkPage(String(place ?? ""), data.findings, frame);
    },
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
    const { sourceId, kind } = source;
    const remedy = `Check '${placeOf(kind).name}', and that this machine reaches it; or try again.`;
    findings.push({ subject: kind.describePlace(source), outcome: "problem", detail, remedy, domainId: "", sourceId });
  }
  const error = sayProblems(findings);
  const suggestions = findings.flatMap(({ alternatives }) => alternatives ?? []);
  return { ok: error === "", error, data: { findings: findings.map(formatFinding), suggestions } };
}

type Given = Readonly<Record<string, unknown>> & { readonly source_type: string };

function readSource(kind: SourceKind, given: Given, { all }: SourceKinds): SourceConfig {
  const { type, fields } = kind;
  const place = placeOf(kind);
  const names = new Set(all.flatMap((one) => one.fields.map(({ name }) => name)));
  const said = [...names].filter((name) => given[name] !== undefined && given[name] !== "");
  const foreign = said.find((name) => !fields.some((field) => field.name === name));
  if (foreign) {
    const needed = fields.findLast(({ type, optional }) => !optional && (type ?? "url") === "url") ?? place;
    throw new BadInputError(`'${foreign}' does not belong to ${type}; give '${needed.name}'.`);
  }
  if (given[place.name] === undefined) throw new BadInputError(`Missing '${place.name}'.`);
  const { source_id = "source" } = given;
  const value = { source_id, ...Object.fromEntries(said.map((name) => [name, given[name]])) };
  const problems: string[] = [];
  const source = parseSource(kind, value, "", problems, { isUnfinished: true });
  if (source) kind.refuseNew?.(source, undefined, "", problems);
  if (source && problems.length === 0) return source;
  throw new BadInputError(problems.map(inQuotes).join(" "));
}

/** Removes the position from a problem, because there is only one source, and quotes the field's name. */
function inQuotes(problem: string): string {
  return problem.replace(/^:\s*/, "").replace(/^\.(\w+)/, "'$1'");
}

/** A finding as JSON. */
export interface FindingRow {
  readonly source_id: string;
  readonly subject: string;
  readonly outcome: PlacedFinding["outcome"];
  readonly detail: string;
  readonly remedy: string;
}

function formatFinding({ sourceId, subject, outcome, detail, remedy }: PlacedFinding): FindingRow {
  return { source_id: sourceId, subject, outcome, detail, remedy };
}

/** Returns "" if there are none. */
function sayProblems(findings: readonly PlacedFinding[]): string {
  const problems = findings.filter(({ outcome }) => outcome === "problem").length;
  if (problems === 0) return "";
  return problems === 1 ? "1 problem was found." : `${problems} problems were found.`;
}

import type { App } from "../app/app.ts";
import { BadInputError } from "../contracts/errors.ts";
import { parseDomainId, parseSourceId } from "../contracts/ids.ts";
import { FILE_STATUSES, type LineageEvent } from "../contracts/manifest.ts";
import type { DocumentSection } from "../contracts/search-index.ts";
import type {
  DocumentName,
  Documents,
  DocumentsPage,
  DocumentsQuery,
  DocumentView,
  SectionsRequest,
  SectionsView,
} from "../engine/documents.ts";
import type { FailuresView } from "../engine/failures.ts";
import type { Hunk } from "../lib/line-difference.ts";
import { plainText, plural, sayBytes } from "../lib/text.ts";
import { audited } from "./audited.ts";
import type { Call, Command } from "./command.ts";
import { openApp } from "./open-app.ts";
import { plainLine, printResult } from "./terminal-text.ts";

const USUAL_LIMIT = "50";

export const documentsCommand: Command = {
  name: "documents",
  arguments: ["DOMAIN", "[DOCUMENT]"],
  options: {
    source: { value: "source", help: "Only those of this source." },
    status: {
      value: "status",
      choices: FILE_STATUSES,
      help: "Only those in this state; error: what failed, of every kind of source, with what to do.",
    },
    acknowledge: {
      value: "name",
      help: "Acknowledges a failure: an item by path or id, a group by its id, or all. Listed apart until reason or content change.",
    },
    withdraw: { value: "name", help: "Makes an acknowledged failure new again: an item, a group, or all." },
    path: { value: "text", help: "Only those with this in their path." },
    limit: { value: "number", default: USUAL_LIMIT, help: "How many at most." },
    version: {
      value: "version",
      help: "Prints the text of this version of the document; 'current' for the current one.",
    },
    difference: { value: "from..to", help: "Prints what changed from one version of the document to another." },
    sections: { help: "Prints the sections of the document, of any source, as the index has them." },
    generation: { value: "number", help: "With --sections: as of this generation of the domain." },
    json: { help: "Prints the answer as JSON." },
  },
  examples: [
    "lockstep documents DEMO --status missing",
    "lockstep documents DEMO --status error",
    "lockstep documents DEMO --acknowledge scans/old.pdf",
    "lockstep documents DEMO handbook/travel.md",
    "lockstep documents DEMO handbook/travel.md --version v1",
    "lockstep documents DEMO handbook/travel.md --difference v1..v2",
    "lockstep documents DEMO Handbook.docx --sections",
  ],
  async run(call) {
    const request = readRequest(call);
    await using app = await openApp();
    const { name, query } = request;
    const done = await changeFailures(app, query, call);
    if (done !== undefined) process.stdout.write(done);
    else if (name === undefined && query.status === "error" && query.text === "") {
      printResult(await app.failures.list(query.domainId, query.sourceId), call.flag("json"), formatFailures);
    } else await answer(app.documents, request, call);
    return 0;
  },
};

/** undefined: nothing of that kind was asked for. */
async function changeFailures(
  app: App,
  { domainId, sourceId }: DocumentsQuery,
  call: Call,
): Promise<string | undefined> {
  const verb = call.text("acknowledge") === undefined ? "withdraw" : "acknowledge";
  const given = call.text(verb);
  if (given === undefined) return undefined;
  const of = { domainId, sourceId };
  const isGroup = /^[0-9a-f]{12}$/.test(given);
  const choice = given === "all" ? of : isGroup ? { ...of, group: given } : { ...of, items: [given] };
  const count = await audited(app.audit, () => app.failures[verb](choice));
  return `${plural(count, "failure")} ${verb === "withdraw" ? "made new again" : "acknowledged"}.\n`;
}

const NAMED = 20;

function formatFailures({ sources, groups, acknowledged }: FailuresView): string[] {
  const lines = sources.flatMap(({ sourceId, reason, remedy }) => [
    `Source '${sourceId}' could not be read whole: ${plainText(reason)}`,
    `  ${remedy}`,
    "",
  ]);
  lines.push(...groups.flatMap(formatGroup));
  if (acknowledged.length > 0) lines.push("Acknowledged", "", ...acknowledged.flatMap(formatGroup));
  const count = (all: FailuresView["groups"]): number => all.reduce((sum, { failures }) => sum + failures.length, 0);
  const known = count(acknowledged);
  return [...lines, `${count(groups)} failed${known > 0 ? `, ${known} acknowledged` : ""}.`];
}

function formatGroup({ id, reason, remedy, failures }: FailuresView["groups"][number]): string[] {
  const more = failures.length > NAMED ? [`  and ${failures.length - NAMED} more; --json has all`] : [];
  return [
    `${plural(failures.length, "item")}: ${plainText(reason)} (group ${id})`,
    `  ${remedy}`,
    ...failures.slice(0, NAMED).map(({ sourceId, path }) => `  ${sourceId}  ${plainText(path)}`),
    ...more,
    "",
  ];
}

interface DocumentsRequest {
  readonly query: DocumentsQuery;
  readonly name: DocumentName | undefined;
  readonly between: { readonly from: string; readonly to: string } | undefined;
  /** undefined: its sections are not asked for. */
  readonly sections: Pick<SectionsRequest, "generation"> | undefined;
}

function readRequest(call: Call): DocumentsRequest {
  const [domain = "", called] = call.positionals;
  const [source, status, limit = USUAL_LIMIT] = ["source", "status", "limit"].map((name) => call.text(name));
  if (!/^[1-9]\d{0,4}$/.test(limit))
    throw new BadInputError(`Invalid value '${limit}' for --limit. Accepted: 1 to 99999.`);
  const place = {
    domainId: parseDomainId(domain),
    sourceId: source === undefined ? undefined : parseSourceId(source),
  };
  const alone = call.flag("sections")
    ? "sections"
    : ["version", "difference"].find((name) => call.text(name) !== undefined);
  if (alone && called === undefined) throw new BadInputError(`--${alone} needs a document: its path, or its doc_id.`);
  return {
    query: {
      ...place,
      status: FILE_STATUSES.find((known) => known === status),
      text: call.text("path") ?? "",
      offset: 0,
      limit: Number(limit),
    },
    name: called === undefined ? undefined : { ...place, called },
    between: readBetween(call.text("difference")),
    sections: readSections(call),
  };
}

function readSections(call: Call): DocumentsRequest["sections"] {
  const text = call.text("generation");
  if (!call.flag("sections")) {
    if (text === undefined) return undefined;
    throw new BadInputError("--generation needs --sections.");
  }
  if (text === undefined) return {};
  if (/^\d{1,9}$/.test(text)) return { generation: Number(text) };
  throw new BadInputError(`Invalid value '${text}' for --generation. Accepted: 0 to 999999999.`);
}

function readBetween(text: string | undefined): DocumentsRequest["between"] {
  if (text === undefined) return undefined;
  const [from, to, ...rest] = text.split("..");
  if (from && to && rest.length === 0) return { from, to };
  throw new BadInputError(`Invalid value '${text}' for --difference. Accepted: v1..v2.`);
}

async function answer(
  documents: Documents,
  { query, name, between, sections }: DocumentsRequest,
  call: Call,
): Promise<void> {
  const json = call.flag("json");
  const version = call.text("version");
  if (!name) return printResult(await documents.list(query), json, formatList);
  if (sections) {
    return printResult(
      await documents.sections({ name, ...sections, offset: 0, limit: ALL_SECTIONS }),
      json,
      formatSections,
    );
  }
  if (between) return printResult(await documents.difference(name, between), json, ({ hunks }) => formatHunks(hunks));
  if (version === undefined) return printResult(await documents.get(name), json, formatDocument);
  const read = await documents.version(name, version === "current" ? undefined : version);
  if (json) return printResult(read.version, json, () => []);
  const { markdown } = read.version;
  // A file gets the text as it is; on a terminal, control characters of a document must have no effect.
  process.stdout.write(process.stdout.isTTY ? `${markdown.split("\n").map(plainLine).join("\n")}\n` : markdown);
}

/** More than a document can have. */
const ALL_SECTIONS = 1_000_000;

function formatSections({ document, sections, total }: SectionsView): string[] {
  return [...sections.flatMap(formatSection), `${plural(total, "section")} of ${plainText(document.path)}.`];
}

function formatSection({ id, heading, level, content }: DocumentSection): string[] {
  const title = level === 0 ? "" : `${"#".repeat(level)} ${plainText(heading)}`;
  const lines = content === "" ? [] : content.split("\n");
  return [`${id}  ${title}`.trimEnd(), ...lines.map((line) => `    ${plainLine(line)}`.trimEnd()), ""];
}

function formatList({ documents, more, total }: DocumentsPage): string[] {
  const lines = documents.map(({ entry }) => {
    const seen = entry.lastSeenAt.slice(0, 16).replace("T", " ");
    return `${entry.status.padEnd(8)} ${seen.padEnd(16)}  ${entry.docId}  ${plainText(entry.path)}`;
  });
  const of = more ? ` of ${total ?? "more"}` : "";
  return [...lines, `${documents.length}${of} ${documents.length === 1 ? "document" : "documents"}.`];
}

function formatDocument({ sourceId, entry, stored, versions }: DocumentView): string[] {
  const facts: readonly (readonly [string, string])[] = [
    ["Path", plainText(entry.path)],
    ["Document", entry.docId],
    ["Source", sourceId],
    ["Status", entry.status],
    ["Problem", plainText(entry.error)],
    ["Title", plainText(stored?.title ?? "")],
    ["Not readable", plainText(stored?.error ?? "")],
    ["Size", sayBytes(entry.size)],
    ["Last seen", entry.lastSeenAt],
    ["Missing since", entry.missingSinceAt],
    ["Deleted", entry.deletedAt],
  ];
  const result = facts.filter(([, value]) => value !== "").map(([name, value]) => `${name.padEnd(13)} ${value}`);
  return [
    ...result,
    `${plural(versions.length, "version")}`,
    ...versions.map(({ versionId, at, hash }) => `  ${versionId.padEnd(5)} ${at.slice(0, 19)}  ${hash.slice(0, 12)}`),
    "History",
    ...entry.lineage.map(formatEvent),
  ];
}

function formatEvent({ event, from, certainty, at }: LineageEvent): string {
  const origin = from ? ` from ${plainText(from)}` : "";
  const doubt = certainty < 1 ? ` (texts ${Math.floor(certainty * 100)} % alike)` : "";
  return `  ${at.slice(0, 19)}  ${event.replaceAll("-", " ")}${origin}${doubt}`;
}

const MARKS = { same: " ", removed: "-", added: "+" } as const;

function formatHunks(hunks: readonly Hunk[]): string[] {
  if (hunks.length === 0) return ["The texts are the same."];
  return hunks.flatMap(({ fromLine, toLine, lines }) => [
    `@@ -${fromLine} +${toLine} @@`,
    ...lines.map(({ kind, text }) => `${MARKS[kind]}${plainLine(text)}`),
  ]);
}

import { BadInputError } from "../contracts/errors.ts";
import { parseDomainId } from "../contracts/ids.ts";
import type { SearchScope } from "../contracts/search-index.ts";
import type { QueryRequest } from "../engine/query.ts";
import { withoutAbsent } from "../lib/without-absent.ts";
import type { Call, Command } from "./command.ts";
import { openApp } from "./open-app.ts";
import { showAnswer } from "./show-answer.ts";

export const queryCommand: Command = {
  name: "query",
  arguments: ["[DOMAIN]", "TEXT"],
  options: {
    results: { value: "number", default: "5", help: "How many passages, 1 to 50." },
    source: { value: "source_id", help: "Only documents of this source." },
    path: { value: "path", help: "Only documents whose path below the source's root begins so." },
    type: { value: "types", help: "Only these extensions, separated by commas: pdf,docx." },
    from: { value: "date", help: "Only documents modified on this day or later: 2026-01-31." },
    before: { value: "date", help: "Only documents modified before this day." },
    language: { value: "codes", help: "Only documents in these languages, separated by commas: de,fr." },
    generation: { value: "number", help: "As of this generation; 'lockstep generations' lists them." },
    using: { value: "what", choices: ["both", "text", "vectors"], default: "both", help: "What to go by." },
    json: { help: "Prints the answer as JSON." },
  },
  examples: [
    'lockstep query "How many vacation days do I get?"',
    'lockstep query DEMO "How many vacation days do I get?"',
    'lockstep query DEMO "hotel costs" --type pdf,docx --from 2026-01-01',
  ],
  async run(call) {
    const request = requestOf(call);
    await using app = await openApp();
    const answer = await app.query(request);
    if (call.flag("json")) process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
    else showAnswer(answer.sources);
    for (const note of answer.notes ?? []) process.stderr.write(`Note: ${note}\n`);
    return answer.sources.length > 0 ? 0 : 1;
  },
};

function requestOf(call: Call): QueryRequest {
  const [text = "", domain] = call.positionals.toReversed();
  if (text.trim() === "") throw new BadInputError("Say what to search for: lockstep query [DOMAIN] TEXT");
  const generation = readNumber(call, "generation", { from: 0, to: 999_999_999 });
  const using = call.text("using");
  return {
    text,
    limit: readNumber(call, "results", { from: 1, to: 50 }) ?? 5,
    domainId: domain === undefined ? undefined : parseDomainId(domain),
    vectorStoreId: undefined,
    scope: scopeOf(call),
    ...(generation === undefined ? {} : { generation }),
    ...(using === "text" || using === "vectors" ? { using } : {}),
  };
}

function scopeOf(call: Call): SearchScope {
  return withoutAbsent({
    sourceId: call.text("source"),
    pathPrefix: call.text("path"),
    fileTypes: readList(call, "type"),
    modifiedFrom: readDay(call, "from"),
    modifiedBefore: readDay(call, "before"),
    languages: readList(call, "language"),
  });
}

function readNumber(
  call: Call,
  option: string,
  range: { readonly from: number; readonly to: number },
): number | undefined {
  const text = call.text(option);
  if (text === undefined) return undefined;
  const number = Number(text);
  if (/^\d{1,9}$/.test(text) && number >= range.from && number <= range.to) return number;
  throw new BadInputError(`Invalid value '${text}' for --${option}. Accepted: ${range.from} to ${range.to}.`);
}

function readList(call: Call, option: string): readonly string[] | undefined {
  const text = call.text(option);
  const parts = text?.split(",").map((part) => part.trim().replace(/^\./, "").toLowerCase());
  if (parts === undefined || parts.every((part) => /^[a-z0-9_-]+$/.test(part))) return parts;
  throw new BadInputError(`Invalid value '${text}' for --${option}. Accepted: words separated by commas.`);
}

function readDay(call: Call, option: string): string | undefined {
  const text = call.text(option);
  if (text === undefined || (/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)))) return text;
  throw new BadInputError(`Invalid value '${text}' for --${option}. Accepted: a day such as 2026-01-31.`);
}

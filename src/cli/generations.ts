import { styleText } from "node:util";
import type { App } from "../app/app.ts";
import { BadInputError } from "../contracts/errors.ts";
import { type DomainId, parseDomainId } from "../contracts/ids.ts";
import type { Generation } from "../contracts/search-index.ts";
import type { GenerationsView } from "../engine/generations.ts";
import { plainText, plural } from "../lib/text.ts";
import { audited } from "./audited.ts";
import type { Call, Command } from "./command.ts";
import { openApp } from "./open-app.ts";
import { printResult } from "./terminal-text.ts";

export const generationsCommand: Command = {
  name: "generations",
  arguments: ["DOMAIN"],
  options: {
    rollback: {
      value: "number",
      help: "Shows readers this generation, whatever is crawled, until --release.",
    },
    release: { help: "Ends a rollback: readers see the newest generation again, at once." },
    difference: { value: "from..to", help: "Lists the documents that readers see differently in two generations." },
    json: { help: "Prints the answer as JSON." },
  },
  examples: [
    "lockstep generations DEMO",
    "lockstep generations DEMO --difference 3..4",
    "lockstep generations DEMO --rollback 3",
    "lockstep generations DEMO --release",
  ],
  async run(call) {
    const domain = parseDomainId(call.positionals[0] ?? "");
    const actions = ["rollback", "release", "difference"].filter((name) => call.flag(name) || call.text(name));
    if (actions.length > 1) {
      throw new BadInputError(`Use one of ${actions.map((name) => `--${name}`).join(" and ")} at a time.`);
    }
    await using app = await openApp();
    const between = call.text("difference");
    if (between !== undefined) return await showDifference(app, domain, between, call.flag("json"));
    printResult(await viewAfter(app, domain, call), call.flag("json"), format);
    return 0;
  },
};

function viewAfter(app: App, domain: DomainId, call: Call): Promise<GenerationsView> {
  const back = call.text("rollback");
  if (back !== undefined) {
    const number = readNumber(back, "rollback");
    return audited(app.audit, () => app.rollback(domain, number, { dryRun: false }));
  }
  return call.flag("release") ? audited(app.audit, () => app.release(domain)) : app.generations(domain);
}

async function showDifference(app: App, domain: DomainId, between: string, json: boolean): Promise<number> {
  const parts = between.split("..");
  if (parts.length !== 2) throw new BadInputError(`Invalid value '${between}' for --difference. Accepted: 3..4.`);
  const [from, to] = parts.map((part) => readNumber(part, "difference")) as [number, number];
  const { kept } = await app.generations(domain);
  let count = 0;
  for await (const page of app.difference(domain, { from, to })) {
    for (const change of page) {
      count += 1;
      const line = json ? JSON.stringify(change) : `${change.kind.padEnd(8)} ${plainText(change.path || change.name)}`;
      process.stdout.write(`${line}\n`);
    }
  }
  if (json) return 0;
  if (count === 0) process.stdout.write(`Generations ${from} and ${to} show the same.\n`);
  for (const generation of kept) {
    if (generation.erased === 0 || (generation.number !== from && generation.number !== to)) continue;
    process.stdout.write(`Generation ${generation.number}: ${erasedFrom(generation)}.\n`);
  }
  return 0;
}

function format(view: GenerationsView): string[] {
  const lines = view.kept.map((generation) => {
    const mark = generation.number === view.shown ? "▶" : " ";
    const state = `${generation.intermediate ? "  between two sources" : ""}${generation.visible ? "" : "  not shown"}${generation.erased > 0 ? `  ${erasedFrom(generation)}` : ""}`;
    const [job = ""] = generation.crawl.split(" ");
    const line = `${mark} ${String(generation.number).padStart(4)}  ${generation.committedAt.slice(0, 19).replace("T", " ")}  ${job.padEnd(8)} ${(generation.sourceId || "several sources").padEnd(20)} +${generation.added} -${generation.removed}${state}`;
    return generation.number === view.shown ? styleText("bold", line) : line;
  });
  if (lines.length === 0) lines.push("Nothing was committed yet.");
  if (view.pinned) {
    lines.push(
      "",
      `Readers see generation ${view.shown}, the newest is ${view.newest}. --release shows them the newest.`,
    );
  }
  return lines;
}

function erasedFrom({ erased }: Pick<Generation, "erased">): string {
  return `${plural(erased, "document")} erased`;
}

function readNumber(text: string, option: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new BadInputError(`Invalid value '${text}' for --${option}. Accepted: the number of a generation.`);
}

import { readFile } from "node:fs/promises";
import type { App } from "../app/app.ts";
import { BadInputError, explain } from "../contracts/errors.ts";
import { type DomainId, parseDomainId, parseSourceId } from "../contracts/ids.ts";
import type { Question } from "../contracts/questions.ts";
import { decodeQuestionsFrom, encodeQuestions } from "../domains/question-store.ts";
import { MOST_MADE, type QuestionsView } from "../engine/edit-questions.ts";
import { type AskedQuestion, FEWEST_QUESTIONS, WITHIN } from "../engine/questions.ts";
import { isErrno } from "../lib/atomic-file.ts";
import { parseJsonBytes, toJsonText } from "../lib/json-file.ts";
import { plural } from "../lib/text.ts";
import { audited } from "./audited.ts";
import type { Call, Command } from "./command.ts";
import { openApp } from "./open-app.ts";
import { plainLine } from "./terminal-text.ts";

const ACTIONS = ["add", "remove", "import", "make", "limits", "ask"] as const;

export const questionsCommand: Command = {
  name: "questions",
  arguments: ["DOMAIN"],
  options: {
    add: { value: "question", help: "Adds this question; needs --document." },
    document: { value: "name", help: "The document that answers it: its path below its source, name, address or id." },
    source: { value: "source_id", help: "Its source; needed only where several have such a document." },
    words: { value: "words", help: "What the answer must have; several separated by semicolons." },
    remove: { value: "question", help: "Takes this question out." },
    make: { value: "number", help: `Adds up to so many, made from sentences of the documents; at most ${MOST_MADE}.` },
    ask: { help: "Asks them all now, as readers would." },
    import: { value: "file", help: "Replaces all with those of this JSON file, as --json prints them." },
    limits: {
      value: "points,questions",
      help: "Holds a crawl if the share falls by more points, and at least so many fewer are answered.",
    },
    json: { help: "Prints the questions as JSON." },
  },
  examples: [
    "lockstep questions HR",
    'lockstep questions HR --add "How many days of vacation do I have?" --document HR/vacation.md --words "30 days"',
    "lockstep questions HR --make 50",
    "lockstep questions HR --ask",
    "lockstep questions HR --json > questions.json",
    "lockstep questions HR --import questions.json",
    "lockstep questions HR --limits 5,1",
  ],
  async run(call) {
    const domain = parseDomainId(call.positionals[0] ?? "");
    const actions = ACTIONS.filter((name) => call.flag(name) || call.text(name) !== undefined);
    if (actions.length > 1)
      throw new BadInputError(`Use one of ${actions.map((name) => `--${name}`).join(" and ")} at a time.`);
    for (const name of ["document", "source", "words"]) {
      if (call.text(name) !== undefined && actions[0] !== "add") throw new BadInputError(`--${name} belongs to --add.`);
    }
    await using app = await openApp();
    if (actions[0] === "ask")
      return showAsked(await app.questions.ask(domain, new AbortController().signal), call.flag("json"));
    if (actions[0] !== undefined) await audited(app.audit, () => change(app, domain, actions[0] as string, call));
    show(await app.questions.view(domain), domain, call.flag("json"));
    return 0;
  },
};

async function change({ questions }: App, domain: DomainId, action: string, call: Call): Promise<void> {
  const given = call.text(action) ?? "";
  switch (action) {
    case "add": {
      const [document, source] = [call.text("document"), call.text("source")];
      if (document === undefined)
        throw new BadInputError("--add needs --document: the document that answers the question.");
      const sourceId = source === undefined ? "" : parseSourceId(source);
      const words = (call.text("words") ?? "").split(";");
      return await questions.add(domain, { question: given, document, sourceId, words });
    }
    case "remove":
      return await questions.remove(domain, given);
    case "import":
      return await questions.replace(domain, decodeQuestionsFrom(`'${given}'`, await readJson(given)));
    case "make": {
      const count = /^\d{1,3}$/.test(given) ? Number(given) : 0;
      if (count < 1 || count > MOST_MADE) throw new BadInputError(`--make takes a number from 1 to ${MOST_MADE}.`);
      const made = await questions.make(domain, count, new AbortController().signal);
      process.stderr.write(`${plural(made.length, "question")} made.\n`);
      return;
    }
    default: {
      const [, maxDrop, minLost] = /^(\d{1,3}),(\d{1,4})$/.exec(given) ?? [];
      if (maxDrop === undefined)
        throw new BadInputError("--limits takes two numbers, as 10,2: percentage points and questions.");
      return await questions.setLimits(domain, { maxDrop: Number(maxDrop), minLost: Number(minLost) });
    }
  }
}

async function readJson(file: string): Promise<unknown> {
  try {
    return parseJsonBytes(await readFile(file));
  } catch (error) {
    if (error instanceof BadInputError) throw new BadInputError(`'${file}' cannot be read: ${explain(error)}.`);
    if (isErrno(error, "ENOENT") || isErrno(error, "EISDIR")) throw new BadInputError(`There is no file '${file}'.`);
    throw error;
  }
}

function show(view: QuestionsView, domain: DomainId, isJson: boolean): void {
  if (isJson) {
    process.stdout.write(toJsonText(encodeQuestions(view)));
    return;
  }
  const { questions, held, maxDrop, minLost } = view;
  for (const one of questions) process.stdout.write(`${lineOf(one)}\n`);
  const too = questions.length < FEWEST_QUESTIONS ? ` Crawls ask from ${FEWEST_QUESTIONS} on.` : "";
  process.stdout.write(
    `${plural(questions.length, "question")}.${too} A crawl is held if the share answered falls by more than ${maxDrop} points, and at least ${minLost} fewer are answered.\n`,
  );
  if (!held) return;
  process.stdout.write(
    `HELD since ${held.at.slice(0, 19).replace("T", " ")}: ${held.after} of ${held.asked} would be answered, ${held.before} before; ${plural(held.held, "addition or change waits", "additions and changes wait")}.\n`,
  );
  for (const { question, document } of held.lost)
    process.stdout.write(`  lost: ${plainLine(`${question} (${document})`)}\n`);
  process.stdout.write(`If that is right: lockstep embed ${domain} --confirm-worse\n`);
}

function lineOf({ question, document, words }: Question): string {
  const has = words.length > 0 ? ` [${words.join("; ")}]` : "";
  return plainLine(`${question} → ${document}${has}`);
}

/** Ends with 1 if a question is not answered. */
function showAsked(asked: readonly AskedQuestion[], isJson: boolean): number {
  const isLost = ({ place }: AskedQuestion): boolean => place === null;
  if (isJson) {
    const rows = asked.map(({ question, place, first }) => ({
      question: question.question,
      document: question.document,
      place: place ?? null,
      asked: place !== undefined,
      first,
    }));
    process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
    return asked.some(isLost) ? 1 : 0;
  }
  for (const { question, place, first } of asked) {
    const word = place === undefined ? "gone" : place === null ? "no" : String(place);
    const instead = place === null && first !== "" ? `; first is ${first}` : "";
    process.stdout.write(`${word.padStart(4)}  ${plainLine(`${lineOf(question)}${instead}`)}\n`);
  }
  const answered = asked.filter(({ place }) => typeof place === "number").length;
  process.stdout.write(`${answered} of ${asked.length} answered within the first ${WITHIN}.\n`);
  return asked.some(isLost) ? 1 : 0;
}

import { existsSync } from "node:fs";
import { join } from "node:path";
import { BadInputError, explain, NotFoundError, UnreadableError } from "../contracts/errors.ts";
import type { DomainId, ItemId, SourceId } from "../contracts/ids.ts";
import {
  DEFAULT_MAX_DROP,
  DEFAULT_MIN_LOST,
  type LostQuestion,
  type Question,
  type QuestionRun,
  type QuestionSet,
  type QuestionStore,
} from "../contracts/questions.ts";
import { readFileIfExists, writeFileAtomic } from "../lib/atomic-file.ts";
import { parseJsonBytes, toJsonText } from "../lib/json-file.ts";
import { isJsonObject, type JsonObject } from "../lib/json-object.ts";
import { domainFile, withDomainLock } from "./domain-files.ts";

const FILE = "questions.json";
const RUNS = "question-runs.json";
const NO_QUESTIONS: QuestionSet = { maxDrop: DEFAULT_MAX_DROP, minLost: DEFAULT_MIN_LOST, questions: [] };

const MAX_QUESTIONS = 1000;
/** A chart of more points cannot be read. */
const MAX_RUNS = 100;
const MAX_LENGTH = 500;
const MAX_WORDS = 20;

/** `domains/<id>/questions.json`, which people may write themselves, and `question-runs.json` beside it. */
export function openQuestionStore(domainsFolder: string): QuestionStore {
  async function read<T>(domainId: DomainId, file: string, none: T, decode: (json: JsonObject) => T): Promise<T> {
    const bytes = await readFileIfExists(join(domainsFolder, domainId, file));
    if (!bytes) return none;
    try {
      const json = parseJsonBytes(bytes);
      return decode(isJsonObject(json) ? json : fail("it must hold a JSON object"));
    } catch (cause) {
      const why = cause instanceof BadInputError ? explain(cause) : "it is not valid JSON";
      throw new UnreadableError(`domains/${domainId}/${file} cannot be read: ${why}. Correct it, or remove it.`, {
        cause,
      });
    }
  }
  async function change<T>(
    domainId: DomainId,
    file: string,
    before: () => Promise<T>,
    next: (before: T) => T,
    encode: (value: T) => object,
  ): Promise<T> {
    return await withDomainLock(domainsFolder, domainId, async () => {
      if (!existsSync(domainFile(domainsFolder, domainId)))
        throw new NotFoundError(`Domain '${domainId}' does not exist.`);
      const old = await before();
      const after = next(old);
      if (after !== old) await writeFileAtomic(join(domainsFolder, domainId, file), toJsonText(encode(after)));
      return after;
    });
  }
  const questions = (domainId: DomainId) => read(domainId, FILE, NO_QUESTIONS, decodeQuestions);
  const runs = (domainId: DomainId) => read<readonly QuestionRun[]>(domainId, RUNS, [], decodeRuns);
  return {
    read: questions,
    change: (domainId, next) =>
      change(
        domainId,
        FILE,
        () => questions(domainId),
        (set) => checked(next(set)),
        encodeQuestions,
      ),
    runs,
    changeRuns: (domainId, next) =>
      change(
        domainId,
        RUNS,
        () => runs(domainId),
        (all) => next(all).slice(-MAX_RUNS),
        encodeRuns,
      ),
  };
}

/** As the file has them. */
export interface EncodedQuestions {
  readonly max_drop: number;
  readonly min_lost: number;
  readonly questions: readonly {
    readonly question: string;
    readonly document: string;
    readonly source_id?: string;
    readonly item_id?: string;
    readonly words?: readonly string[];
  }[];
}

export type EncodedRun = ReturnType<typeof encodeRun>;

export function encodeQuestions({ maxDrop, minLost, questions }: QuestionSet): EncodedQuestions {
  return {
    max_drop: maxDrop,
    min_lost: minLost,
    questions: questions.map(({ question, document, sourceId, itemId, words }) => ({
      question,
      document,
      ...(sourceId && { source_id: sourceId }),
      ...(itemId && { item_id: itemId }),
      ...(words.length > 0 && { words: [...words] }),
    })),
  };
}

/** Reads what somebody gave; throws BadInputError that begins with `what` that is. */
export function decodeQuestionsFrom(what: string, content: unknown): QuestionSet {
  if (!isJsonObject(content)) throw new BadInputError(`${what} must be a JSON object with 'questions'.`);
  try {
    return decodeQuestions(content);
  } catch (error) {
    if (error instanceof BadInputError) throw new BadInputError(`${what} has no valid questions: ${explain(error)}.`);
    throw error;
  }
}

/** Throws BadInputError that says which entry is wrong. */
function decodeQuestions(json: JsonObject): QuestionSet {
  const list = json["questions"] ?? [];
  if (!Array.isArray(list)) return fail("'questions' must be a list");
  return checked({
    maxDrop: numberIn(json, "max_drop", DEFAULT_MAX_DROP),
    minLost: numberIn(json, "min_lost", DEFAULT_MIN_LOST),
    questions: list.map(decodeQuestion),
  });
}

function decodeQuestion(json: unknown, at: number): Question {
  const where = `question ${at + 1}`;
  if (!isJsonObject(json)) return fail(`${where} must be an object with 'question' and 'document'`);
  const text = (key: string): string => {
    const value = json[key] ?? "";
    return typeof value === "string" ? value.trim() : fail(`'${key}' of ${where} must be a text`);
  };
  const words = json["words"] ?? [];
  if (!Array.isArray(words) || !words.every((word) => typeof word === "string")) {
    return fail(`'words' of ${where} must be a list of texts`);
  }
  return {
    question: text("question"),
    document: text("document"),
    sourceId: text("source_id") as SourceId | "",
    itemId: text("item_id") as ItemId | "",
    words: words.map((word) => word.trim()).filter((word) => word !== ""),
  };
}

function checked(set: QuestionSet): QuestionSet {
  const { maxDrop, minLost, questions } = set;
  if (!(maxDrop >= 0 && maxDrop <= 100)) return fail("'max_drop' must be percentage points from 0 to 100");
  if (!(Number.isInteger(minLost) && minLost >= 1 && minLost <= MAX_QUESTIONS)) {
    return fail(`'min_lost' must be a whole number from 1 to ${MAX_QUESTIONS}`);
  }
  if (questions.length > MAX_QUESTIONS)
    return fail(`a domain may have ${MAX_QUESTIONS} questions, not ${questions.length}`);
  const seen = new Set<string>();
  for (const [at, { question, document, words }] of questions.entries()) {
    const where = `question ${at + 1}`;
    if (question === "") return fail(`${where} is empty`);
    if (document === "") return fail(`${where} ('${question.slice(0, 60)}') names no 'document' that answers it`);
    if (Math.max(question.length, document.length, ...words.map((word) => word.length)) > MAX_LENGTH * 4) {
      return fail(`${where} is too long: a text may have ${MAX_LENGTH * 4} characters`);
    }
    if (question.length > MAX_LENGTH)
      return fail(`${where} is too long: ${question.length} characters, of ${MAX_LENGTH} allowed`);
    if (words.length > MAX_WORDS) return fail(`${where} has ${words.length} 'words', of ${MAX_WORDS} allowed`);
    const key = question.toLowerCase();
    if (seen.has(key)) return fail(`'${question.slice(0, 60)}' is there twice`);
    seen.add(key);
  }
  return set;
}

function encodeRuns(runs: readonly QuestionRun[]): JsonObject {
  return { runs: runs.map(encodeRun) };
}

/** As endpoints show it, too. */
export function encodeRun({
  at,
  about,
  generationId,
  asked,
  before,
  after,
  retired,
  verdict,
  held,
  heldDraft,
  lost,
}: QuestionRun) {
  const draft = heldDraft === "" ? {} : { held_draft_id: heldDraft };
  return {
    at_utc: at,
    about,
    generation_id: generationId,
    asked,
    before,
    after,
    retired,
    verdict,
    held,
    ...draft,
    lost,
  };
}

function decodeRuns(json: JsonObject): readonly QuestionRun[] {
  const list = json["runs"] ?? [];
  if (!Array.isArray(list) || !list.every(isJsonObject)) return fail("'runs' must be a list of objects");
  return list.map((run): QuestionRun => {
    const text = (key: string): string => (typeof run[key] === "string" ? run[key] : fail(`'${key}' must be a text`));
    const lost = run["lost"] ?? [];
    return {
      at: text("at_utc"),
      about: text("about") === "vectors" ? "vectors" : "crawl",
      generationId: text("generation_id"),
      asked: numberIn(run, "asked", 0),
      before: numberIn(run, "before", 0),
      after: numberIn(run, "after", 0),
      retired: numberIn(run, "retired", 0),
      verdict: text("verdict") as QuestionRun["verdict"],
      held: numberIn(run, "held", 0),
      heldDraft: run["held_draft_id"] === undefined ? "" : text("held_draft_id"),
      lost: Array.isArray(lost) ? (lost as unknown as LostQuestion[]) : fail("'lost' must be a list"),
    };
  });
}

function numberIn(json: JsonObject, key: string, otherwise: number): number {
  const value = json[key] ?? otherwise;
  return typeof value === "number" && Number.isFinite(value) ? value : fail(`'${key}' must be a number`);
}

function fail(problem: string): never {
  throw new BadInputError(problem);
}

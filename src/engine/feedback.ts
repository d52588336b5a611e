import { BadInputError, NotFoundError } from "../contracts/errors.ts";
import type { FeedbackRow } from "../contracts/feedback.ts";
import type { DomainId, FileId } from "../contracts/ids.ts";
import { sha256Of } from "../lib/hash.ts";
import type { EngineParts } from "./engine-parts.ts";
import type { Failures, ListedFailure } from "./failures.ts";

/** Somebody's vote on an answer; "none" takes it back. */
export interface Vote {
  readonly domainId: DomainId;
  readonly question: string;
  readonly answer: string;
  readonly vote: "up" | "down" | "none";
  readonly fileIds: readonly FileId[];
  /** The voter; not stored. */
  readonly by: string;
}

/** A question that was asked in vain, or whose answer was no good. */
export interface OpenQuestion {
  readonly question: string;
  /** How many people, and how often. */
  readonly people: number;
  readonly times: number;
  readonly at: string;
  readonly foundNothing: boolean;
  /** Votes on answers to it. */
  readonly up: number;
  readonly down: number;
  /** Answers that were voted down. */
  readonly answers: readonly string[];
  /** What failed and may have the answer, by its name. */
  readonly candidates: readonly Pick<ListedFailure, "sourceId" | "itemId" | "path" | "reason">[];
  /** What to do, in a sentence. */
  readonly advice: string;
}

export interface FeedbackView {
  readonly domainId: DomainId;
  readonly up: number;
  readonly down: number;
  /** What nothing was found for, or was voted down: what most people asked first. */
  readonly questions: readonly OpenQuestion[];
}

/** What readers asked in vain, and what they think of answers. */
export interface Feedback {
  /** Notes a question that found nothing, in each of the domains; returns at once, and never fails. */
  noteNothing(question: string, domains: readonly DomainId[], by: string): void;
  /** Replaces an earlier vote of the same person on the same answer. NotFoundError for an unknown domain. */
  vote(vote: Vote): Promise<void>;
  list(domainId: DomainId): Promise<FeedbackView>;
  /** Takes a question off the list; returns how many rows. NotFoundError if it is not there. */
  dismiss(domainId: DomainId, question: string): Promise<number>;
  /** Waits for what is being noted. */
  flush(): Promise<void>;
}

const KEEP_DAYS = 90;
const MOST = 2000;
const QUESTION_CHARACTERS = 500;
const ANSWER_CHARACTERS = 4000;
const MOST_FILES = 50;
const MOST_ANSWERS = 3;
const MOST_CANDIDATES = 3;

type FeedbackParts = Pick<EngineParts, "domains" | "ledgers" | "now"> & {
  readonly failures: Pick<Failures, "list">;
  /** How many files the last crawls of the domain left out. */
  leftOut(domainId: DomainId): Promise<number>;
};

export function createFeedback(parts: FeedbackParts): Feedback {
  const pending = new Set<Promise<void>>();
  const put = async (domainId: DomainId, row: Omit<FeedbackRow, "times" | "at">): Promise<void> => {
    const now = parts.now();
    const since = new Date(now.getTime() - KEEP_DAYS * 24 * 3600_000).toISOString();
    await parts.ledgers.feedback.put(domainId, { ...row, at: now.toISOString() }, { since, most: MOST });
  };
  return {
    noteNothing(asked, domains, by) {
      const question = shortened(asked, QUESTION_CHARACTERS);
      if (question === "") return;
      for (const domainId of domains) {
        const id = idOf([domainId, by, keyOf(question), ""]);
        // A search must not fail, or wait for a crawl that writes, because it could not be noted.
        const noted = put(domainId, { id, vote: 0, question, answer: "", fileIds: [] }).catch(() => undefined);
        pending.add(noted);
        void noted.then(() => pending.delete(noted));
      }
    },
    async vote({ domainId, vote, by, ...given }) {
      await parts.domains.get(domainId);
      const question = shortened(given.question, QUESTION_CHARACTERS);
      const answer = shortened(given.answer, ANSWER_CHARACTERS);
      if (question === "") throw new BadInputError("Missing 'question'.");
      const id = idOf([domainId, by, keyOf(question), answer || "-"]);
      if (vote === "none") return void (await parts.ledgers.feedback.remove(domainId, [id]));
      const fileIds = given.fileIds.slice(0, MOST_FILES);
      await put(domainId, { id, vote: vote === "up" ? 1 : -1, question, answer, fileIds });
    },
    async list(domainId) {
      await parts.domains.get(domainId);
      await flush();
      const rows = await parts.ledgers.feedback.of(domainId);
      const asked = [...Map.groupBy(rows, ({ question }) => keyOf(question)).values()];
      const open = asked.filter((all) => all.some(({ vote }) => vote < 1));
      const { groups } = open.length > 0 ? await parts.failures.list(domainId) : { groups: [] };
      const failures = groups.flatMap((group) => group.failures);
      const leftOut = open.length > 0 ? await parts.leftOut(domainId) : 0;
      const questions = open.map((all) => describe(all, failures, leftOut));
      return {
        domainId,
        up: rows.filter(({ vote }) => vote > 0).length,
        down: rows.filter(({ vote }) => vote < 0).length,
        questions: questions.sort((a, b) => b.people - a.people || (a.at < b.at ? 1 : -1)),
      };
    },
    async dismiss(domainId, question) {
      await parts.domains.get(domainId);
      await flush();
      const rows = await parts.ledgers.feedback.of(domainId);
      const ids = rows.filter((row) => keyOf(row.question) === keyOf(question) && row.vote < 1).map(({ id }) => id);
      if (ids.length === 0) throw new NotFoundError(`Domain '${domainId}' has no such question on its list.`);
      return await parts.ledgers.feedback.remove(domainId, ids);
    },
    flush,
  };

  async function flush(): Promise<void> {
    await Promise.all(pending);
  }
}

function describe(rows: readonly FeedbackRow[], failures: readonly ListedFailure[], leftOut: number): OpenQuestion {
  const [newest] = rows;
  const question = newest?.question ?? "";
  const against = rows.filter(({ vote }) => vote < 0);
  const nothing = rows.filter(({ vote }) => vote === 0);
  const candidates = candidatesFor(question, failures);
  return {
    question,
    // The same person may have asked in vain and voted; that cannot be told apart.
    people: Math.max(nothing.length, rows.length - nothing.length),
    times: rows.reduce((sum, { times }) => sum + times, 0),
    at: newest?.at ?? "",
    foundNothing: nothing.length > 0,
    up: rows.filter(({ vote }) => vote > 0).length,
    down: against.length,
    answers: [...new Set(against.map(({ answer }) => answer))].filter(Boolean).slice(0, MOST_ANSWERS),
    candidates: candidates.map(({ sourceId, itemId, path, reason }) => ({ sourceId, itemId, path, reason })),
    advice: adviceFor({ hasCandidates: candidates.length > 0, isAnswered: nothing.length === 0, leftOut }),
  };
}

function adviceFor({
  hasCandidates,
  isAnswered,
  leftOut,
}: {
  readonly hasCandidates: boolean;
  readonly isAnswered: boolean;
  readonly leftOut: number;
}): string {
  if (hasCandidates) return "A file that may have it has failed: make it readable, and crawl.";
  if (isAnswered)
    return "The document that was cited may be wrong or outdated: correct it at its source. Or a better one is missing.";
  const files = leftOut === 1 ? "1 file was" : `${leftOut} files were`;
  const out =
    leftOut > 0 ? ` ${files} left out by the last crawl, for type, size or a rule: explain one by its name.` : "";
  return `Nothing that was crawled says it. If a place has it, add that as a source; if none has, somebody should write it down.${out}`;
}

/** Returns failed items whose names share words with the question, the most alike first. */
function candidatesFor(question: string, failures: readonly ListedFailure[]): readonly ListedFailure[] {
  const asked = new Set(stemsOf(question));
  return failures
    .map((failure) => ({ failure, shared: new Set(stemsOf(failure.path).filter((word) => asked.has(word))).size }))
    .filter(({ shared }) => shared > 0)
    .sort((a, b) => b.shared - a.shared)
    .slice(0, MOST_CANDIDATES)
    .map(({ failure }) => failure);
}

const SHORTEST_WORD = 4;
const STEM = 6;

/** Words that mean something, cut so that "vacations" and "vacation" are the same. */
function stemsOf(text: string): string[] {
  const words =
    text
      .toLowerCase()
      .normalize("NFKD")
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => word.length >= SHORTEST_WORD && !GRAMMAR.has(word)).map((word) => word.slice(0, STEM));
}

const GRAMMAR: ReadonlySet<string> = new Set(
  "what when where which whose with from that this these those there have does much many about into your they will would could should been were welche welcher wird werden sind eine einen einem einer nicht auch oder über wann viele".split(
    " ",
  ),
);

function keyOf(question: string): string {
  return question
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

function shortened(text: string, most: number): string {
  return text.replaceAll(/\s+/g, " ").trim().slice(0, most).toWellFormed();
}

function idOf(parts: readonly string[]): string {
  return sha256Of(JSON.stringify(parts));
}

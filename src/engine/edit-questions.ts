import type { Backend } from "../contracts/backend.ts";
import type { Domain } from "../contracts/domain.ts";
import { BadInputError, NotFoundError } from "../contracts/errors.ts";
import type { DomainId, SourceId } from "../contracts/ids.ts";
import type { Question, QuestionRun, QuestionSet } from "../contracts/questions.ts";
import type { Index, IndexedRef } from "../contracts/search-index.ts";
import type { EngineParts } from "./engine-parts.ts";
import { openIndexOf } from "./generations.ts";
import { type AskedQuestion, askNow, findHeld } from "./questions.ts";
import { pickSentence } from "./verify/verify-search.ts";

/** A question as a user writes it. */
export interface NewQuestion extends Pick<Question, "question" | "document" | "words"> {
  readonly sourceId: SourceId | "";
}

export interface QuestionsView extends QuestionSet {
  /** Oldest first. */
  readonly runs: readonly QuestionRun[];
  /** The last crawl of which something is held. */
  readonly held: QuestionRun | undefined;
}

/** The questions of all domains. Every verb throws NotFoundError for a domain that does not exist. */
export interface Questions {
  view(domainId: DomainId): Promise<QuestionsView>;
  /** Adds one, or writes the one with the same words anew. NotFoundError unless the domain has the document, BadInputError if several are called so. */
  add(domainId: DomainId, question: NewQuestion): Promise<void>;
  /** NotFoundError if there is none. */
  remove(domainId: DomainId, question: string): Promise<void>;
  /** Replaces all questions and limits. */
  replace(domainId: DomainId, set: QuestionSet): Promise<void>;
  setLimits(domainId: DomainId, limits: Partial<Pick<QuestionSet, "maxDrop" | "minLost">>): Promise<void>;
  /**
   * Adds questions made from sentences of documents that have none yet, each of which its document answers now. Returns them: there may
   * be fewer.
   */
  make(domainId: DomainId, count: number, signal: AbortSignal): Promise<readonly Question[]>;
  /** Asks them all as readers would now. */
  ask(domainId: DomainId, signal: AbortSignal): Promise<readonly AskedQuestion[]>;
}

export const MOST_MADE = 200;
/** Characters of a document that are read to make a question. */
const READ = 20_000;
/** Shorter questions are not realistic. */
const FEWEST_WORDS = 3;

type Parts = Pick<EngineParts, "domains" | "questions"> & {
  readonly backend: Pick<Backend, "openIndex">;
  /** Returns what can be an answer: no heading, label, table, code or licence line. */
  statementsIn(markdown: string): readonly string[];
};

export function createQuestions(parts: Parts): Questions {
  const { domains, questions } = parts;
  return {
    async view(domainId) {
      await domains.get(domainId);
      const runs = await questions.runs(domainId);
      const held = await findHeld(runs, async () => (await openIndexOf(domainId, parts)).index).catch(() => undefined);
      return { ...(await questions.read(domainId)), runs, held };
    },
    async add(domainId, wanted) {
      const { index } = await openAsked(domainId, parts);
      const question = await findDocument(trimmed(wanted), domainId, index);
      await questions.change(domainId, (set) => ({
        ...set,
        questions: [...without(set, question.question), question],
      }));
    },
    async remove(domainId, question) {
      await domains.get(domainId);
      await questions.change(domainId, (set) => {
        const left = without(set, question.trim());
        if (left.length < set.questions.length) return { ...set, questions: left };
        throw new NotFoundError(`Domain '${domainId}' has no question '${question.slice(0, 100)}'.`);
      });
    },
    async replace(domainId, set) {
      await domains.get(domainId);
      await questions.change(domainId, () => set);
    },
    async setLimits(domainId, limits) {
      await domains.get(domainId);
      await questions.change(domainId, (set) => ({ ...set, ...limits }));
    },
    async make(domainId, count, signal) {
      const { domain, index } = await openAsked(domainId, parts);
      const known = (await questions.read(domainId)).questions;
      const made = await makeQuestions(domain, index, { known, count, signal }, parts);
      await questions.change(domainId, (set) => {
        const asked = new Set(set.questions.map(({ question }) => question.toLowerCase()));
        return {
          ...set,
          questions: [...set.questions, ...made.filter(({ question }) => !asked.has(question.toLowerCase()))],
        };
      });
      return made;
    },
    async ask(domainId, signal) {
      const { index } = await openAsked(domainId, parts);
      const checkpoint = async (): Promise<void> => signal.throwIfAborted();
      return await askNow(domainId, index, await questions.read(domainId), { checkpoint, signal });
    },
  };
}

/** Only the embedded index can be asked about an uncommitted draft. */
async function openAsked(domainId: DomainId, parts: Parts): Promise<{ domain: Domain; index: Index }> {
  const opened = await openIndexOf(domainId, parts);
  if (opened.index.shown) return opened;
  throw new BadInputError(
    `Domain '${domainId}' has its vector store at a service, where crawls become visible bit by bit: questions cannot be asked before. Only the embedded index can.`,
  );
}

function trimmed({ question, document, words, sourceId }: NewQuestion): NewQuestion {
  return {
    question: question.replaceAll(/\s+/g, " ").trim(),
    document: document.trim(),
    words: words.map((word) => word.trim()).filter((word) => word !== ""),
    sourceId,
  };
}

function without({ questions }: QuestionSet, question: string): Question[] {
  return questions.filter((one) => one.question.toLowerCase() !== question.toLowerCase());
}

async function findDocument(wanted: NewQuestion, domainId: DomainId, index: Index): Promise<Question> {
  const { document, sourceId } = wanted;
  if (document === "") throw new BadInputError("'document' must name the document that answers the question.");
  const found = (await index.shown?.called(document, sourceId || undefined)) ?? [];
  const [one, ...others] = found.filter((one) => one.sourceId !== "");
  if (!one) {
    throw new NotFoundError(
      `Domain '${domainId}' has no document '${document.slice(0, 200)}'. Give its path below its source, its name, address or id, as a search shows it.`,
    );
  }
  if (others.length > 0) {
    const paths = [one, ...others].slice(0, 5).map(({ path, sourceId }) => `'${path}' (source '${sourceId}')`);
    throw new BadInputError(
      `Several documents are called '${document.slice(0, 200)}': ${paths.join(", ")}. Give the path, or 'source_id' as well.`,
    );
  }
  return { ...wanted, sourceId: one.sourceId as SourceId, itemId: one.itemId };
}

interface Making {
  readonly known: readonly Question[];
  readonly count: number;
  readonly signal: AbortSignal;
}

async function makeQuestions(
  domain: Domain,
  index: Index,
  { known, count, signal }: Making,
  { statementsIn }: Pick<Parts, "statementsIn">,
): Promise<Question[]> {
  const has = new Set(known.map(({ sourceId, itemId }) => `${sourceId} ${itemId}`));
  const made: Question[] = [];
  for (const { sourceId, ref } of spread(await documentsOf(domain, index), count)) {
    if (made.length >= count) break;
    signal.throwIfAborted();
    if (has.has(`${sourceId} ${ref.itemId}`)) continue;
    const part = await index.documents?.read(ref.fileId, { limit: READ });
    const statements = statementsIn(part?.text ?? "").filter((text) => !ROW.test(text));
    const sentence = pickSentence(statements.join("\n"));
    if (sentence.split(" ").length < FEWEST_WORDS) continue;
    const document = ref.path || ref.url || ref.itemId;
    const question: Question = { question: sentence, document, sourceId, itemId: ref.itemId, words: [] };
    const asked = await askNow(
      domain.domainId,
      index,
      { maxDrop: 0, minLost: 1, questions: [question] },
      {
        checkpoint: async () => undefined,
        signal,
      },
    );
    if (typeof asked[0]?.place === "number" && !made.some((one) => one.question === sentence)) made.push(question);
  }
  return made;
}

interface SourceDocument {
  readonly sourceId: SourceId;
  readonly ref: IndexedRef;
}

async function documentsOf({ sources }: Domain, index: Index): Promise<SourceDocument[]> {
  const all: SourceDocument[] = [];
  for (const { sourceId } of sources) {
    for await (const page of index.holdings(sourceId)) for (const ref of page) all.push({ sourceId, ref });
  }
  return all;
}

/** Returns up to three times `count`: the first `count` are from everywhere in the list, and so are the others, for those that are no use. */
function spread<T>(list: readonly T[], count: number): T[] {
  const tries = Math.min(list.length, count * 3);
  const some = Array.from({ length: tries }, (_, at) => list[Math.floor((at * list.length) / tries)] as T);
  return [0, 1, 2].flatMap((first) => some.filter((_, at) => at % 3 === first));
}

/** A row with the names of its columns: `City: Rome; Limit: 120`. */
const ROW = /^[^:]{1,40}: [^;]*;/;

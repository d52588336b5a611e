import type { Principal } from "../contracts/access.ts";
import type { AnswerSentence } from "../contracts/answer.ts";
import type { Asking } from "../contracts/backend.ts";
import type { QueryAnswer, QueryRequest, QuerySource } from "../engine/query.ts";
import type { App } from "./app.ts";

/** The results of a search, and the sentences among them that answer its question. */
export interface AnsweredQuery extends QueryAnswer {
  /** What the sentences come from: their `from` are places in it. The best results, perhaps more than were asked for. */
  readonly considered: readonly QuerySource[];
  /** Word for word from the documents; none: nothing answers. */
  readonly sentences: readonly AnswerSentence[];
}

/** Answers questions from what searches find. Everybody who shows an answer shows one of these. */
export interface Answers {
  /** The language model that writes answers; "" if there is none, and answers are taken from the documents. */
  writer(): string;
  /** Searches, and takes the sentences that answer from what was found. Throws as `query` does. */
  find(request: QueryRequest, asking?: Asking): Promise<AnsweredQuery>;
  /**
   * Lets the language model answer from what was found, sentence by sentence; no sentence: nothing answers. Throws RemoteError where
   * it does not answer or breaks off.
   */
  write(found: AnsweredQuery, signal: AbortSignal): AsyncGenerator<AnswerSentence>;
}

interface AnswersParts extends Pick<App, "query"> {
  /** What was found does not answer. */
  readonly noteNothing: (request: QueryRequest, by: Principal) => Promise<void>;
  readonly writer: () => string;
  readonly take: (
    question: string,
    found: QueryAnswer,
    search: (text: string) => Promise<QueryAnswer>,
  ) => Promise<Pick<AnsweredQuery, "sentences" | "considered">>;
  readonly write: (
    question: string,
    sources: readonly QuerySource[],
    signal: AbortSignal,
  ) => AsyncGenerator<AnswerSentence>;
}

/** Fewer results may not have the answer, though a page shows only those. */
const LEAST_CONSIDERED = 12;

export function createAnswers({ query, noteNothing, writer, take, write }: AnswersParts): Answers {
  return {
    writer,
    async find(request, asking) {
      const limit = Math.max(request.limit, LEAST_CONSIDERED);
      const found = await query({ ...request, limit, counted: true }, asking);
      // Without an owner: the rephrased question is ours, and is not noted as a reader's.
      const again = (text: string): Promise<QueryAnswer> =>
        query({ ...request, limit, text }, { signal: asking?.signal });
      const taken = await take(request.text, found, again);
      // Where nothing was found at all, the search has noted it; a language model may answer where no sentence does.
      const isOpen = taken.sentences.length === 0 && found.sources.length > 0 && writer() === "";
      if (isOpen && asking?.principal) await noteNothing(request, asking.principal);
      return { ...found, ...taken, sources: found.sources.slice(0, request.limit) };
    },
    write: ({ query: question, considered }, signal) => write(question, considered, signal),
  };
}

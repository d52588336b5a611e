import type { WordCounts } from "../../../contracts/answer.ts";
import type { FileId } from "../../../contracts/ids.ts";
import type { Item } from "./items.ts";

/** As the protocol cites an address: the sentence is from `start_index` to `end_index` of the text, in UTF-16 units. */
export interface UrlCitation {
  readonly type: "url_citation";
  readonly start_index: number;
  readonly end_index: number;
  readonly title: string;
  readonly url: string;
}

/** Something that file_search found. */
export interface Passage {
  readonly fileId: FileId;
  readonly filename: string;
  /** For people; absent: only the name is known. */
  readonly title?: string;
  readonly text: string;
  /** 0 to 1. */
  readonly score: number;
  /** The headings above it, "Travel > Hotels". */
  readonly sectionPath?: string;
}

/** A piece of the answer, and the file it was taken from. The answer is the concatenation of its parts. */
export interface AnswerPart {
  readonly text: string;
  readonly from?: Pick<Passage, "fileId" | "filename" | "text">;
  /** Instead of `from`, where an address is cited. */
  readonly citation?: UrlCitation;
}

export interface Question {
  /** The last message of the user. */
  readonly text: string;
  /** Earlier ones that it may lean on, the latest first. */
  readonly earlier?: readonly string[];
  /** All messages including the last, oldest first. */
  readonly context: readonly Item[];
  /** Best first; undefined if the request has no search tool. */
  readonly passages: readonly Passage[] | undefined;
  /** How common the words of the questions are where was searched, if known. */
  readonly words?: WordCounts | undefined;
  /** The model name of the request. */
  readonly model: string;
  readonly instructions: string | null;
  /** null: no limit. */
  readonly maxTokens: number | null;
  /** Only what the request sets. */
  readonly sampling: { readonly temperature?: number; readonly topP?: number };
}

/** `length`: the token limit cut the answer short. */
export type FinishReason = "stop" | "length";

/** Streams the parts. Throws where the answer breaks off. */
export type Answer = AsyncGenerator<AnswerPart, FinishReason>;

/** Makes an answer from a question and the passages found. */
export interface Answerer {
  /** Rejects with a WireError if the answer cannot begin; nothing was sent to the client then. */
  answer(question: Question, signal: AbortSignal): Promise<Answer>;
}

/** A language model behind an endpoint of the wire protocol. */
export interface ChatModel {
  /** The default model. */
  readonly name: string;
  /** System prompt for answers from passages if the request has none; "" for the built-in one. */
  readonly instructions: string;
  /** undefined: the model's own. */
  readonly temperature: number | undefined;
  /** The endpoint's name for the token limit of an answer. */
  readonly limitField: "max_tokens" | "max_completion_tokens";
  /** `POST /chat/completions`. Never rejects: failures are error responses. */
  complete(request: Request): Promise<Response>;
}

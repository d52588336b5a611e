import type { FileId } from "../../../contracts/ids.ts";
import type { Item } from "./items.ts";

/** Something that file_search found. */
export interface Passage {
  readonly fileId: FileId;
  readonly filename: string;
  readonly text: string;
  /** 0 to 1. */
  readonly score: number;
}

/** A piece of the answer, and the file it is taken from. Pieces follow each other as they are. */
export interface AnswerPart {
  readonly text: string;
  readonly from?: Pick<Passage, "fileId" | "filename">;
}

export interface Question {
  /** The last thing the user said. */
  readonly text: string;
  /** Everything that was said, that included, oldest first. */
  readonly context: readonly Item[];
  /** Best first; undefined when no search was asked for. */
  readonly passages: readonly Passage[] | undefined;
  /** The name it was asked by. */
  readonly model: string;
  readonly instructions: string | null;
  /** null: as many as it takes. */
  readonly maxTokens: number | null;
  /** Only what somebody set. */
  readonly sampling: { readonly temperature?: number; readonly topP?: number };
}

export interface Ending {
  /** There was more to say than tokens to say it in. */
  readonly cutShort: boolean;
}

/** The parts as they come into being. Fails where they break off. */
export type Answer = AsyncGenerator<AnswerPart, Ending>;

/** Turns a question and what was found about it into an answer. */
export interface Answerer {
  /** Rejects with a WireError when the answer cannot begin; nobody was told anything then. */
  answer(question: Question, signal: AbortSignal): Promise<Answer>;
}

/** A language model behind an address that speaks the wire protocol. */
export interface ChatModel {
  /** The one that answers when a request names none. */
  readonly name: string;
  /** What it is told when it answers from passages and the request has no instructions; "" for our own. */
  readonly instructions: string;
  /** undefined: the model's own. */
  readonly temperature: number | undefined;
  /** What the address calls the number of tokens an answer may have. */
  readonly limitField: "max_tokens" | "max_completion_tokens";
  /** `POST /chat/completions`. Never rejects: trouble on the way is an error response. */
  complete(request: Request): Promise<Response>;
}

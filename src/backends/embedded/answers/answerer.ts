import type { FileId } from "../../../contracts/ids.ts";

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

/** Turns a question and what was found about it into an answer. */
export interface Answerer {
  /** The name clients ask for. */
  readonly model: string;
  /** Passages come best first; undefined when no search was asked for. At least one part comes back. */
  answer(question: string, passages: readonly Passage[] | undefined, signal: AbortSignal): Promise<AnswerPart[]>;
}

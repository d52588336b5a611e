import type { DomainId, ItemId, SourceId } from "./ids.ts";

/** A question that readers of a domain ask, and the document that answers it. */
export interface Question {
  readonly question: string;
  /** As the user calls the document: its path, address, name or id. */
  readonly document: string;
  /** The item that this was found to be, which a rename does not change; "" until then. */
  readonly sourceId: SourceId | "";
  readonly itemId: ItemId | "";
  /** The answer must have all of these, wherever in the passages found. */
  readonly words: readonly string[];
}

/** The questions of a domain, and when a crawl does too badly with them. */
export interface QuestionSet {
  /** The share answered may fall by so many percentage points. */
  readonly maxDrop: number;
  /** Fewer questions lost never hold a crawl, whatever share that is. */
  readonly minLost: number;
  readonly questions: readonly Question[];
}

export const DEFAULT_MAX_DROP = 10;
export const DEFAULT_MIN_LOST = 2;

/** A question that was answered before, and would not be any more. */
export interface LostQuestion {
  readonly question: string;
  readonly document: string;
  /** Its place among the results before; 1 is the first. */
  readonly before: number;
}

/** passed: committed. held: additions and changes were not. confirmed: they were, although they do worse. */
export type QuestionVerdict = "passed" | "held" | "confirmed";

/** How the questions of a domain were answered before and after a crawl, or by earlier and by new vectors. */
export interface QuestionRun {
  /** ISO 8601 UTC. */
  readonly at: string;
  readonly about: "crawl" | "vectors";
  /** The generation that the draft became; "" if nothing was committed. */
  readonly generationId: string;
  readonly asked: number;
  readonly before: number;
  readonly after: number;
  /** Questions whose document the domain does not have (any more): not asked. */
  readonly retired: number;
  readonly verdict: QuestionVerdict;
  /** Documents that were held, and the draft that has them; "" if there is none. */
  readonly held: number;
  readonly heldDraft: string;
  readonly lost: readonly LostQuestion[];
}

/** The questions of the domains, and what came of asking them. */
export interface QuestionStore {
  /** Without questions for a domain that has none. UnreadableError if they cannot be read. */
  read(domainId: DomainId): Promise<QuestionSet>;
  /** One change at a time, among all processes. NotFoundError for a domain that does not exist. */
  change(domainId: DomainId, change: (set: QuestionSet) => QuestionSet): Promise<QuestionSet>;
  /** The last runs, oldest first. UnreadableError if they cannot be read. */
  runs(domainId: DomainId): Promise<readonly QuestionRun[]>;
  changeRuns(
    domainId: DomainId,
    change: (runs: readonly QuestionRun[]) => readonly QuestionRun[],
  ): Promise<readonly QuestionRun[]>;
}

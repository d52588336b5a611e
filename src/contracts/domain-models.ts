import type { WordCounts } from "./answer.ts";
import type { WireCall } from "./backend.ts";
import type { FileId } from "./ids.ts";
import type { Attributes } from "./search-index.ts";

/** Models of the wire protocol that search before they answer: `lockstep/HR` a domain, `lockstep/all` all of them. */
export interface DomainModels {
  /** Their names; `lockstep/all` is the first. */
  list(): Promise<readonly string[]>;
  /** Returns the name as the list has it, whatever its case; undefined if there is no such model. */
  find(model: string): Promise<string | undefined>;
  /** Best first. Throws NotFoundError for a domain that was never crawled. */
  search(
    model: string,
    query: { readonly text: string; readonly limit: number },
    call: SearchCall,
  ): Promise<FoundPassages>;
  /** Returns, in the given order, attributes that say where each result of a vector store opens, and how fresh it is. */
  describe(storeId: string, hits: readonly ShownHit[], origin: string): Promise<readonly Attributes[]>;
}

export interface SearchCall extends Pick<WireCall, "by" | "origin"> {
  readonly signal: AbortSignal;
}

/** A search result on the wire. */
export type ShownHit = Pick<FoundPassage, "fileId" | "filename" | "text" | "attributes">;

export interface FoundPassages {
  /** Best first. */
  readonly passages: readonly FoundPassage[];
  /** How common the words of the query are; undefined if the backend does not know. */
  readonly words: WordCounts | undefined;
  /** What could not be searched, one sentence each. */
  readonly notes: readonly string[];
}

/** A passage with everything that an answer says of its source. */
export interface FoundPassage {
  readonly fileId: FileId;
  readonly filename: string;
  readonly text: string;
  /** 0 to 1. */
  readonly score: number;
  readonly attributes: Attributes;
  /** "Travel > Hotels", "" when the backend does not tell. */
  readonly sectionPath: string;
  /** For people. */
  readonly title: string;
  /** Opens in a browser. */
  readonly url: string;
  /** "source checked 4 minutes ago; changed 12 November", or "". */
  readonly freshness: string;
}

/** Means every domain, in the name of a model. */
export const ALL_DOMAINS = "all";

const PREFIX = /^lockstep\/(?=.)/i;

/** Returns the part behind `lockstep/`; undefined for any other model. */
export function domainNameIn(model: unknown): string | undefined {
  return typeof model === "string" && PREFIX.test(model) ? model.replace(PREFIX, "") : undefined;
}

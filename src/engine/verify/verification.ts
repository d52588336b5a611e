import type { DomainId, SourceId } from "../../contracts/ids.ts";

/** What verify looks at. */
export interface VerifyRequest {
  readonly domainId: DomainId;
  /** The bytes of the sources are read, too, not only their listing. */
  readonly download: boolean;
  /** Only what the last crawl listed, the presence of every file and document, and samples of their content; the source is not asked. */
  readonly quick?: boolean;
  /** false: a source that another run works on could not be looked at. Otherwise that run is waited for. */
  readonly mayWait?: boolean;
  /** An item id, file id, path or name: the certificate comes with proofs that this item is covered by it. */
  readonly prove?: string | undefined;
}

/**
 * From best to worst. agrees: source, mirror, ledger, index and search have the same content. behind: only the source has changed, since
 * the last crawl. could not look: a part could not be read, and the rest does not differ. differs: something is wrong.
 */
const VERDICTS = ["agrees", "behind", "could not look", "differs"] as const;
export type Verdict = (typeof VERDICTS)[number];

/** Returns the worst verdict. */
export function worstOf(verdicts: readonly Verdict[]): Verdict {
  return VERDICTS.toReversed().find((verdict) => verdicts.includes(verdict)) ?? "agrees";
}

export const LAYERS = ["source", "mirror", "index"] as const;
export type Layer = (typeof LAYERS)[number];

/** Something that is not what it should be. Travels as JSON, hence the spelling. */
export interface Difference {
  readonly layer: Layer | "ledger" | "search";
  /** The part of the index: label, text, sections, chunks, vectors, and the like; "" for other layers. */
  readonly part: string;
  /** "" for what no item has. */
  readonly item_id: string;
  readonly path: string;
  readonly detail: string;
  /** What a crawl would do about it. */
  readonly crawl: string;
}

/** How the details of differences begin that say what is missing, rather than what is wrong with it. */
export const MISSING_FILE = "its file is missing on disk";
export const MISSING_DOCUMENT = "it is not in the index";

/** What the source has otherwise by now. */
export interface Behind {
  readonly item_id: string;
  readonly path: string;
  readonly detail: string;
}

export interface Root {
  /** SHA-256 by RFC 9162, hex. */
  readonly root: string;
  readonly leaves: number;
}

export interface SourceCounts {
  readonly listed: number;
  /** Listed, and not to be taken: another type, too large, withheld. */
  readonly unwanted: number;
  readonly files: number;
  readonly documents: number;
  readonly passages: number;
  readonly vectors: number;
  /** Files without text, and files that no reader can read: the index has nothing of them, as it should be. */
  readonly empty: number;
  readonly unreadable: number;
  readonly searched: number;
  readonly searched_removed: number;
}

/** Before anything was looked at. */
export function noSourceCounts(): { -readonly [name in keyof SourceCounts]: number } {
  return {
    listed: 0,
    unwanted: 0,
    files: 0,
    documents: 0,
    passages: 0,
    vectors: 0,
    empty: 0,
    unreadable: 0,
    searched: 0,
    searched_removed: 0,
  };
}

export interface SourceVerification {
  readonly source_id: SourceId;
  readonly source_type: string;
  readonly verdict: Verdict;
  /** What could not be looked at, one sentence each. */
  readonly problems: readonly string[];
  readonly counts: SourceCounts;
  /** What each part rests on, in words. */
  readonly based_on: {
    readonly source: string;
    readonly mirror: string;
    readonly index: string;
    readonly search: string;
  };
  readonly roots: Readonly<Record<Layer, Root>>;
  readonly differences: readonly Difference[];
  /** How many more there are than are told here; the log has all of them. */
  readonly differences_more: number;
  readonly behind: readonly Behind[];
  readonly behind_more: number;
}

/** That one item is a leaf of a root of the certificate. */
export interface ItemProof {
  readonly source_id: SourceId;
  readonly item_id: string;
  readonly layer: Layer;
  readonly content_hash: string;
  readonly index: number;
  readonly size: number;
  /** Hex, from the leaf up. */
  readonly path: readonly string[];
}

/** The data of a leaf: what the roots are made of. */
export function leafOf(sourceId: string, itemId: string, contentHash: string): string {
  return JSON.stringify([sourceId, itemId, contentHash]);
}

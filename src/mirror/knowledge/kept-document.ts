import type { ExtractedDocument } from "../../contracts/document.ts";

/** What a version is made from. */
export interface KeptContent {
  /** When it is kept, ISO 8601 UTC. */
  readonly at: string;
  /** SHA-256 of the bytes of the file. */
  readonly hash: string;
  /** Where the file is in its tree. */
  readonly path: string;
  readonly fileType: string;
  /** Of the file, ISO 8601 UTC. */
  readonly modifiedAt: string;
  /** The revision of the extractor that makes the text. */
  readonly extractor: string;
}

/** One version of a document, as `metadata.json` tells of it. */
export interface KeptDocument extends KeptContent {
  readonly docId: string;
  /** `v1` for the first, then `v2` and so on. */
  readonly versionId: string;
  /** When the document was first kept, ISO 8601 UTC. */
  readonly createdAt: string;
  readonly title: string;
  /** ISO 639-1, "" when the text is too short to tell. */
  readonly language: string;
  readonly wordCount: number;
  /** SHA-256 of `content.md`: a text that was edited or damaged is told by it. "" when there is no text. */
  readonly textHash: string;
  /** Why the file cannot be read, so that there is no text; "" when there is one. */
  readonly error: string;
}

/** A text, or why there will be none for as long as the file stays as it is. */
export type KeptText = ExtractedDocument | { readonly error: string };

/** How many earlier versions stay, and for how long after the next one came; of those that may stay, the last two do whatever their age. */
export interface VersionRules {
  readonly versions: number;
  readonly versionMs: number;
}

import type { ExtractedDocument } from "../contracts/document.ts";
import { VERSION_ID } from "../contracts/manifest.ts";
import { parseJsonObject } from "../lib/json-object.ts";

/** The input of a version. */
export interface VersionContent {
  /** When it was stored, ISO 8601 UTC. */
  readonly at: string;
  /** SHA-256 of the bytes of the file. */
  readonly hash: string;
  /** The file's path in its tree. */
  readonly path: string;
  readonly fileType: string;
  /** Modified time of the file, ISO 8601 UTC. */
  readonly modifiedAt: string;
  /** The revision of the extractor that makes the text. */
  readonly extractor: string;
}

/** One version of a document: its `metadata.json`. */
export interface StoredVersion extends VersionContent {
  readonly docId: string;
  /** `v1` for the first, then `v2` and so on. */
  readonly versionId: string;
  /** When the document was first stored, ISO 8601 UTC. */
  readonly createdAt: string;
  readonly title: string;
  /** ISO 639-1, "" when the text is too short to tell. */
  readonly language: string;
  readonly wordCount: number;
  /** SHA-256 of `content.md`, to detect an edited or damaged text. "" if there is no text. */
  readonly textHash: string;
  /** Why the file has no text; "" if it has one. */
  readonly error: string;
}

/** A text, or why this file has none. */
export type ExtractedText = ExtractedDocument | { readonly error: string };

/**
 * How many earlier versions are kept, and for how long after the next one; the last two are kept whatever their age.
 */
export interface VersionRules {
  readonly versions: number;
  readonly versionMs: number;
}

const FORMAT = 1;

export function encodeMetadata(stored: StoredVersion): string {
  const fields = {
    format: FORMAT,
    doc_id: stored.docId,
    version_id: stored.versionId,
    title: stored.title,
    language: stored.language,
    source_path: stored.path,
    file_type: stored.fileType,
    content_hash: stored.hash,
    text_hash: stored.textHash,
    word_count: stored.wordCount,
    extractor: stored.extractor,
    created_at: stored.createdAt,
    modified_at: stored.modifiedAt,
    kept_at: stored.at,
    error: stored.error,
  };
  return `${JSON.stringify(fields, null, 2)}\n`;
}

/** undefined if it is incomplete, not valid, or of a later format. */
export function decodeMetadata(text: string): StoredVersion | undefined {
  const fields = parseJsonObject(text);
  if (fields?.["format"] !== FORMAT) return undefined;
  const word = (name: string): string => {
    const value = fields[name];
    return typeof value === "string" ? value : "";
  };
  const versionId = word("version_id");
  if (!isVersionId(versionId)) return undefined;
  return {
    docId: word("doc_id"),
    versionId,
    title: word("title"),
    language: word("language"),
    path: word("source_path"),
    fileType: word("file_type"),
    hash: word("content_hash"),
    textHash: word("text_hash"),
    wordCount: typeof fields["word_count"] === "number" ? fields["word_count"] : 0,
    extractor: word("extractor"),
    createdAt: word("created_at"),
    modifiedAt: word("modified_at"),
    at: word("kept_at"),
    error: word("error"),
  };
}

const PATTERN = new RegExp(VERSION_ID);

export const FIRST_VERSION = "v1";

/** Version ids become folder names. */
export function isVersionId(text: string): boolean {
  return PATTERN.test(text);
}

export function versionAfter(versionId: string | undefined): string {
  return `v${(versionId === undefined ? 0 : numberOf(versionId)) + 1}`;
}

/** Oldest first. */
export function byAge(one: string, other: string): number {
  return numberOf(one) - numberOf(other);
}

function numberOf(versionId: string): number {
  return Number(versionId.slice(1));
}

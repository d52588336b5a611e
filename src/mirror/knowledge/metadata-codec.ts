import { parseJsonObject } from "../../lib/json-object.ts";
import type { KeptDocument } from "./kept-document.ts";
import { isVersionId } from "./version-id.ts";

const FORMAT = 1;

export function encodeMetadata(kept: KeptDocument): string {
  const fields = {
    format: FORMAT,
    doc_id: kept.docId,
    version_id: kept.versionId,
    title: kept.title,
    language: kept.language,
    source_path: kept.path,
    file_type: kept.fileType,
    content_hash: kept.hash,
    text_hash: kept.textHash,
    word_count: kept.wordCount,
    extractor: kept.extractor,
    created_at: kept.createdAt,
    modified_at: kept.modifiedAt,
    kept_at: kept.at,
    error: kept.error,
  };
  return `${JSON.stringify(fields, null, 2)}\n`;
}

/** undefined for what is torn, edited beyond use, or of a later format: as if it were not there. */
export function decodeMetadata(text: string): KeptDocument | undefined {
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

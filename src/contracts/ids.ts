import { BadInputError } from "./errors.ts";

declare const brand: unique symbol;
type Branded<Name> = string & { readonly [brand]: Name };

/** A knowledge base: the name of its folder under `domains/`. */
export type DomainId = Branded<"DomainId">;
/** One source of a domain, unique within it: the name of its folder under `crawler/`. */
export type SourceId = Branded<"SourceId">;
/** The item's permanent id at the source: survives rename, move, edit and restore. */
export type ItemId = Branded<"ItemId">;
/** `jb_42` */
export type JobId = Branded<"JobId">;
/** A file in the backend. Opaque: OpenAI says `file-…`, Azure also `assistant-…`. */
export type FileId = Branded<"FileId">;
/** A vector store in the backend. Opaque, like FileId. */
export type VectorStoreId = Branded<"VectorStoreId">;

/** Our ids of files are also folder names. */
export function isDocumentId(text: unknown): text is ItemId {
  return typeof text === "string" && /^[A-Za-z0-9_-]{1,128}$/.test(text);
}

const FOLDER_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Domain and source ids become folder names, so nothing that could leave the folder is accepted. */
export function parseDomainId(text: string): DomainId {
  return parseFolderName("domain_id", text) as string as DomainId;
}

export function parseSourceId(text: string): SourceId {
  return parseFolderName("source_id", text) as string as SourceId;
}

/** For a store named in a request: it becomes part of a file name. */
export function parseVectorStoreId(text: string): VectorStoreId {
  return parseFolderName("vector_store_id", text) as string as VectorStoreId;
}

function parseFolderName(field: string, text: string): string {
  if (FOLDER_NAME.test(text)) return text;
  throw new BadInputError(
    `'${field}' must be 1 to 64 letters, digits, underscores or hyphens; got '${shorten(text)}'.`,
  );
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

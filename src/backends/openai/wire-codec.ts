import { RemoteError } from "../../contracts/errors.ts";
import type { DomainId, FileId, ItemId, SourceId, VectorStoreId } from "../../contracts/ids.ts";
import type { Attributes, Label } from "../../contracts/search-index.ts";
import { isJsonObject, type JsonObject } from "../../lib/json-object.ts";
import { toUtcMicros } from "../../lib/time.ts";

/** A file of a vector store as the service lists it. */
export interface StoreFile {
  readonly fileId: FileId;
  /** in_progress, completed, cancelled, failed; what a later release adds counts as in progress. */
  readonly status: string;
  readonly attachedAt: string;
  readonly attributes: Attributes;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** Attributes that identify our own files. A file without them is never detached. */
export interface OwnerAttributes {
  readonly domainId: DomainId;
  readonly sourceId: SourceId;
  readonly itemId: ItemId;
  readonly sha256: string;
}

const MAX_KEYS = 16;
const MAX_KEY_CHARS = 64;
const MAX_VALUE_CHARS = 512;

/** Our attributes come first: if there are too many, those of the label are left out. */
export function toWireAttributes(owner: OwnerAttributes, label: Label): Record<string, string | number | boolean> {
  if (owner.itemId.length > MAX_VALUE_CHARS) {
    throw new RemoteError(
      `attach '${label.name}': its item id is longer than the ${MAX_VALUE_CHARS} characters allowed`,
    );
  }
  const own: [string, string][] = [
    ["domain_id", owner.domainId],
    ["source_id", owner.sourceId],
    ["item_id", owner.itemId],
    ["content_hash", owner.sha256],
    ["file_type", label.fileType],
    ["last_modified", label.modifiedAt || String(label.attributes["last_modified"] ?? "")],
  ];
  const taken = new Set(own.map(([key]) => key));
  const others = Object.entries(label.attributes).filter(([key]) => !taken.has(key) && key.length <= MAX_KEY_CHARS);
  return Object.fromEntries([...own, ...others].slice(0, MAX_KEYS).map(([key, value]) => [key, fit(value)]));
}

function fit(value: string | number | boolean): string | number | boolean {
  return typeof value === "string" ? value.slice(0, MAX_VALUE_CHARS) : value;
}

/** Returns undefined if the file is not of this source, or names no item. */
export function readItemId(file: StoreFile, domainId: DomainId, sourceId: SourceId): ItemId | undefined {
  return isOfDomain(file, domainId) && file.attributes["source_id"] === sourceId ? readAnyItemId(file) : undefined;
}

export function isOfDomain(file: StoreFile, domainId: DomainId): boolean {
  return file.attributes["domain_id"] === domainId && readAnyItemId(file) !== undefined;
}

/** Returns none or one. */
export function readSourceId({ attributes: { source_id } }: StoreFile): SourceId[] {
  return typeof source_id === "string" && source_id !== "" ? [source_id as SourceId] : [];
}

/** lockstep attached it, here or in another installation. */
export function hasOwnerAttributes({ attributes }: StoreFile): boolean {
  return ["domain_id", "source_id", "item_id", "content_hash"].every((key) => typeof attributes[key] === "string");
}

function readAnyItemId({ attributes: { item_id } }: StoreFile): ItemId | undefined {
  return typeof item_id === "string" && item_id !== "" ? (item_id as ItemId) : undefined;
}

export function readContentHash(file: StoreFile): string {
  return String(file.attributes["content_hash"] ?? "");
}

/** Returns undefined if the file has no such attribute. */
export function readFileType(file: StoreFile): string | undefined {
  const type = file.attributes["file_type"];
  return typeof type === "string" ? type : undefined;
}

export function readStoreFile(body: unknown): StoreFile {
  const { id, status, created_at, attributes, last_error } = asObject(body, "a file of a vector store");
  if (typeof id !== "string" || id === "" || typeof status !== "string") throw unexpected("a file of a vector store");
  return {
    fileId: id as FileId,
    status,
    attachedAt: fromUnixSeconds(created_at),
    attributes: isJsonObject(attributes) ? (attributes as Attributes) : {},
    error: isJsonObject(last_error)
      ? { code: String(last_error["code"] ?? ""), message: String(last_error["message"] ?? "") }
      : null,
  };
}

/** Strict on purpose: a gateway's HTML or a body without `data` must not pass for a store that holds nothing. */
export function readStoreFilePage(body: unknown): { entries: StoreFile[]; hasMore: boolean } {
  const { data, has_more } = asObject(body, "a list of files");
  if (!Array.isArray(data) || typeof has_more !== "boolean") throw unexpected("a list of files");
  return { entries: data.map(readStoreFile), hasMore: has_more };
}

/** Returns the text of a file as the service read it. */
export function readContentPage(body: unknown): string {
  const { data } = asObject(body, "the text of a file");
  if (!Array.isArray(data)) throw unexpected("the text of a file");
  return data.map((part: unknown) => (isJsonObject(part) ? String(part["text"] ?? "") : "")).join("\n\n");
}

/** A file among all uploads of the account. */
export interface UploadedFile {
  readonly fileId: FileId;
  readonly name: string;
  readonly bytes: number;
  readonly createdAtMs: number;
}

/** Older services send all files at once, without `has_more`. */
export function readUploadPage(body: unknown): { entries: UploadedFile[]; hasMore: boolean } {
  const { data, has_more } = asObject(body, "a list of uploads");
  if (!Array.isArray(data)) throw unexpected("a list of uploads");
  const entries = data.map((entry: unknown) => {
    const { id, filename, bytes, created_at } = asObject(entry, "an uploaded file");
    if (typeof id !== "string" || id === "") throw unexpected("an uploaded file");
    const createdAtMs = Number(created_at ?? 0) * 1000;
    return { fileId: id as FileId, name: String(filename ?? ""), bytes: Number(bytes ?? -1), createdAtMs };
  });
  return { entries, hasMore: has_more === true };
}

export function readBatchId(body: unknown): string {
  const { id } = asObject(body, "a batch of files");
  if (typeof id !== "string" || id === "") throw unexpected("a batch of files");
  return id;
}

export function readUpload(body: unknown): { fileId: FileId; uploadedAt: string } {
  const { id, created_at } = asObject(body, "an uploaded file");
  if (typeof id !== "string" || id === "") throw unexpected("an uploaded file");
  return { fileId: id as FileId, uploadedAt: fromUnixSeconds(created_at) };
}

export function readStore(body: unknown): { id: string; expired: boolean; completedFiles: number } {
  const { id, status, file_counts } = asObject(body, "a vector store");
  if (typeof id !== "string" || id === "") throw unexpected("a vector store");
  const completed = isJsonObject(file_counts) ? file_counts["completed"] : undefined;
  return { id, expired: status === "expired", completedFiles: typeof completed === "number" ? completed : 0 };
}

export function readStorePage(body: unknown): { entries: VectorStoreId[]; hasMore: boolean } {
  const { data, has_more } = asObject(body, "a list of vector stores");
  if (!Array.isArray(data) || typeof has_more !== "boolean") throw unexpected("a list of vector stores");
  return { entries: data.map((entry) => readStore(entry).id as VectorStoreId), hasMore: has_more };
}

function fromUnixSeconds(value: unknown): string {
  return typeof value === "number" ? toUtcMicros(new Date(value * 1000)) : "";
}

export function asObject(body: unknown, expected: string): JsonObject {
  if (isJsonObject(body)) return body;
  throw unexpected(expected);
}

export function unexpected(expected: string): RemoteError {
  return new RemoteError(`read the service's answer: it is not ${expected}; is the address right?`);
}

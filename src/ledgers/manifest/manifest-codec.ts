import { type ItemId, isDocumentId } from "../../contracts/ids.ts";
import {
  type FileStatus,
  type FileVersion,
  type LineageEvent,
  MANIFEST_LAYOUT,
  type ManifestEntry,
  type TreeLook,
} from "../../contracts/manifest.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../lib/json-object.ts";

/** Under which key an entry stands: its path, or its document when the path belongs to another file. */
export type Shelf = "files" | "displaced";

/**
 * One line of `manifest.json`. The order is part of the layout: what is needed of every entry stands first and last, so that a
 * million of them can be looked through without parsing one.
 */
export function encodeEntry(entry: ManifestEntry, shelf: Shelf = "files"): string {
  const key = shelf === "files" ? entry.path : entry.docId;
  return `${JSON.stringify(key)}:${JSON.stringify({
    doc_id: entry.docId,
    status: entry.status,
    content_hash: entry.contentHash,
    last_seen: entry.lastSeenAt,
    path: shelf === "files" ? undefined : entry.path,
    size: entry.size,
    modified_time: entry.modifiedAt,
    stamp: entry.stamp || undefined,
    node: entry.node || undefined,
    retry_count: entry.retryCount,
    error: entry.error || undefined,
    missing_since: entry.missingSinceAt || undefined,
    missing_runs: entry.missingRuns || undefined,
    deleted_at: entry.deletedAt || undefined,
    lineage: entry.lineage.map(({ event, from, certainty, at }) => ({
      event,
      from: from || undefined,
      certainty,
      date: at,
    })),
    versions: entry.versions.map(({ versionId, at, hash }) => ({ version_id: versionId, date: at, hash })),
  })}`;
}

/** How encodeEntry() writes what is told of an entry without parsing it, in this order. */
export const MARKS = {
  docId: Buffer.from('":{"doc_id":"'),
  status: Buffer.from('","status":"'),
  contentHash: Buffer.from('","content_hash":"'),
  lastSeen: Buffer.from('","last_seen":"'),
  size: Buffer.from('","size":'),
  modifiedTime: Buffer.from(',"modified_time":"'),
  stamp: Buffer.from('","stamp":"'),
  node: Buffer.from('","node":"'),
  retryCount: Buffer.from('","retry_count":'),
  lastVersionHash: Buffer.from('"hash":"'),
  end: Buffer.from('"}]}'),
} as const;

/** Throws when it is no entry. */
export function decodeEntry(line: string): ManifestEntry {
  const [[key, value] = ["", undefined], ...more] = Object.entries(JSON.parse(`{${line}}`) as JsonObject);
  if (!isJsonObject(value) || more.length > 0) throw new Error("a line is not one entry");
  const docId = value["doc_id"];
  if (!isDocumentId(docId)) throw new Error(`'${String(docId)}' is no doc_id`);
  return {
    path: text(value, "path", key),
    docId,
    contentHash: text(value, "content_hash"),
    size: number(value, "size"),
    modifiedAt: text(value, "modified_time"),
    stamp: text(value, "stamp", ""),
    node: text(value, "node", ""),
    status: readStatus(value["status"]),
    lastSeenAt: text(value, "last_seen"),
    retryCount: number(value, "retry_count"),
    error: text(value, "error", ""),
    missingSinceAt: text(value, "missing_since", ""),
    missingRuns: number(value, "missing_runs", 0),
    deletedAt: text(value, "deleted_at", ""),
    versions: list(value, "versions", decodeVersion),
    lineage: list(value, "lineage", decodeEvent),
  };
}

function decodeVersion(value: JsonObject): FileVersion {
  return { versionId: text(value, "version_id"), at: text(value, "date"), hash: text(value, "hash") };
}

function decodeEvent(value: JsonObject): LineageEvent {
  const event = text(value, "event") as LineageEvent["event"];
  return { event, from: text(value, "from", ""), certainty: number(value, "certainty"), at: text(value, "date") };
}

function readStatus(value: unknown): FileStatus {
  const status = (["active", "missing", "error", "deleted"] as const).find((known) => known === value);
  if (!status) throw new Error(`'${String(value)}' is no status`);
  return status;
}

function text(value: JsonObject, field: string, usual?: string): string {
  const found = value[field] ?? usual;
  if (typeof found !== "string") throw new Error(`'${field}' is wrong`);
  return found;
}

function number(value: JsonObject, field: string, usual?: number): number {
  const found = value[field] ?? usual;
  if (typeof found !== "number") throw new Error(`'${field}' is wrong`);
  return found;
}

function list<T>(value: JsonObject, field: string, decode: (item: JsonObject) => T): readonly T[] {
  const found = value[field];
  if (!Array.isArray(found)) throw new Error(`'${field}' is wrong`);
  return found.map((item: unknown) => decode(asObject(item)));
}

function asObject(value: unknown): JsonObject {
  if (!isJsonObject(value)) throw new Error("a list holds something strange");
  return value;
}

/** What stands before the entries. */
export interface SnapshotHead {
  /** Told anew by every snapshot; the journal names the one that it goes on from. */
  readonly snapshotId: string;
  readonly look: TreeLook | undefined;
}

/** The lines between entries. Displaced ones stand first: of two entries with one path the later one has it. */
export const BETWEEN_SHELVES = '},"files":{';
export const AFTER_ENTRIES = "}}";

/** How every file of this layout begins. */
export const HEAD_START = `{"layout":${MANIFEST_LAYOUT},`;

export function encodeHead({ snapshotId, look }: SnapshotHead, updatedAt: string): string {
  const head = { layout: MANIFEST_LAYOUT, snapshot: snapshotId, updated_at: updatedAt, look, displaced: {} };
  return JSON.stringify(head).slice(0, -AFTER_ENTRIES.length);
}

/** undefined: this is not how a manifest of this layout begins. */
export function decodeHead(line: string): SnapshotHead | undefined {
  const head = parseJsonObject(`${line}${AFTER_ENTRIES}`);
  const snapshotId = head?.["snapshot"];
  if (head?.["layout"] !== MANIFEST_LAYOUT || typeof snapshotId !== "string" || !isJsonObject(head["displaced"]))
    return undefined;
  return { snapshotId, look: decodeLook(head["look"]) };
}

function decodeLook(value: unknown): TreeLook | undefined {
  if (!isJsonObject(value)) return undefined;
  const { root, at, id = "" } = value;
  const isLook = typeof root === "string" && typeof at === "string" && typeof id === "string";
  return isLook ? { root, at, id } : undefined;
}

/** Around an entry that is put, in the journal. */
export const PUT = { before: '{"put":{', after: "}}" } as const;

export type JournalLine =
  | { readonly kind: "head"; readonly snapshotId: string }
  | { readonly kind: "drop"; readonly docId: ItemId }
  | { readonly kind: "look"; readonly look: TreeLook };

export function encodeJournalLine(line: JournalLine): string {
  if (line.kind === "head") return JSON.stringify({ journal_of: line.snapshotId });
  return JSON.stringify(line.kind === "drop" ? { drop: line.docId } : { look: line.look });
}

/** Of a line that puts no entry; undefined when it is none of ours. */
export function decodeJournalLine(text: string): JournalLine | undefined {
  const line = parseJsonObject(text);
  const look = line && decodeLook(line["look"]);
  if (look) return { kind: "look", look };
  if (typeof line?.["journal_of"] === "string") return { kind: "head", snapshotId: line["journal_of"] };
  return isDocumentId(line?.["drop"]) ? { kind: "drop", docId: line["drop"] } : undefined;
}

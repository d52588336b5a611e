import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { ConflictError, DamagedError } from "../../contracts/errors.ts";
import { isDocumentId } from "../../contracts/ids.ts";
import {
  FILE_STATUSES,
  type FileStatus,
  type FileVersion,
  type LineageEvent,
  MANIFEST_LAYOUT,
  type ManifestEntry,
  type ScanRecord,
} from "../../contracts/manifest.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../lib/json-object.ts";
import { toUtcMicros } from "../../lib/time.ts";

/** The lines between sections. Displaced entries come first: of two entries with one path the later one has it. */
const BETWEEN_SECTIONS = '},"files":{';
const AFTER_ENTRIES = "}}";
/** Every file of this layout begins so. */
const HEAD_START = `{"layout":${MANIFEST_LAYOUT},`;
/** Limit for a file without one entry per line, which must be parsed as a whole. */
const MAX_PARSED_BYTES = 256 * 1024 * 1024;
const LINES_AT_ONCE = 1000;

interface WrittenManifest {
  readonly look?: ScanRecord | undefined;
  /** Entries whose path belongs to another entry. */
  readonly displaced: readonly ManifestEntry[];
  readonly pages: AsyncIterable<readonly ManifestEntry[]> | Iterable<readonly ManifestEntry[]>;
}

/** One entry per line, so that a million of them can be streamed. */
export async function* encodeManifest({ look, displaced, pages }: WrittenManifest): AsyncGenerator<Buffer, void> {
  const head = { layout: MANIFEST_LAYOUT, updated_at: toUtcMicros(new Date()), look, displaced: {} };
  let text = `${JSON.stringify(head).slice(0, -AFTER_ENTRIES.length)}\n`;
  text += displaced.map((entry) => encodeEntry(entry, "displaced")).join(",\n");
  yield Buffer.from(`${text}${displaced.length > 0 ? "\n" : ""}${BETWEEN_SECTIONS}\n`);
  let separator = "";
  for await (const page of pages) {
    if (page.length === 0) continue;
    yield Buffer.from(`${separator}${page.map((entry) => encodeEntry(entry)).join(",\n")}`);
    separator = ",\n";
  }
  yield Buffer.from(`${separator && "\n"}${AFTER_ENTRIES}\n`);
}

/** `section`: the key of an entry is its path, or its document id if the path belongs to another file. */
export function encodeEntry(entry: ManifestEntry, section: "files" | "displaced" = "files"): string {
  const key = section === "files" ? entry.path : entry.docId;
  return `${JSON.stringify(key)}:${JSON.stringify({
    doc_id: entry.docId,
    status: entry.status,
    content_hash: entry.contentHash,
    last_seen: entry.lastSeenAt,
    path: section === "files" ? undefined : entry.path,
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

/** In pages. DamagedError if it cannot be read completely, ConflictError for another layout. */
export async function* readManifest(path: string): AsyncGenerator<ManifestEntry[], void> {
  const documents = new Set<string>();
  const check = (entries: readonly (readonly [string, unknown])[]): ManifestEntry[] =>
    entries.map(([key, value]) => {
      const entry = decodeEntry(key, value);
      if (documents.has(entry.docId)) throw new Error(`${entry.docId} has two entries`);
      documents.add(entry.docId);
      return entry;
    });
  try {
    let isWhole = false;
    let isFirst = true;
    for await (const lines of linesOf(path)) {
      if (isFirst && !lines[0]?.startsWith(HEAD_START)) return yield check(await parseWhole(path));
      if (isFirst && !isHead(lines[0] ?? "")) return yield check(await parseWhole(path));
      const entries: (readonly [string, unknown])[] = [];
      for (const line of lines.slice(isFirst ? 1 : 0)) {
        if (isWhole && line !== "") throw new Error("something stands behind its end");
        if (line === AFTER_ENTRIES) isWhole = true;
        else if (line !== "" && line !== BETWEEN_SECTIONS) entries.push(...entriesIn(line));
      }
      isFirst = false;
      yield check(entries);
    }
    if (!isWhole) throw new Error("it is cut");
  } catch (error) {
    if (error instanceof ConflictError || (error instanceof Error && "code" in error)) throw error;
    throw new DamagedError(
      `${path} is damaged: ${error instanceof Error ? error.message : String(error)}.`,
      "It is an export of the ledger, which has all of it.",
    );
  }
}

function isHead(line: string): boolean {
  return isJsonObject(parseJsonObject(`${line}${AFTER_ENTRIES}`)?.["displaced"]);
}

function entriesIn(line: string): [string, unknown][] {
  try {
    return Object.entries(JSON.parse(`{${line.endsWith(",") ? line.slice(0, -1) : line}}`) as JsonObject);
  } catch {
    throw new Error("a line is not one entry; it may be cut");
  }
}

/** Parses a file that was reformatted. */
async function parseWhole(path: string): Promise<[string, unknown][]> {
  if ((await stat(path)).size > MAX_PARSED_BYTES) throw new Error("it does not have one entry a line any more");
  let found: unknown;
  try {
    found = JSON.parse(await readFile(path, "utf8"));
  } catch {
    throw new Error("it is no JSON");
  }
  if (!isJsonObject(found) || !isJsonObject(found["files"])) throw new Error("it is no manifest");
  const { layout, files, displaced } = found as JsonObject & { files: JsonObject };
  if (layout === MANIFEST_LAYOUT)
    return [...Object.entries(isJsonObject(displaced) ? displaced : {}), ...Object.entries(files)];
  throw new ConflictError(
    typeof layout === "number" && layout > MANIFEST_LAYOUT
      ? `${path} was written by a later release of lockstep, which has to be used for it.`
      : `${path} has an earlier layout. Upgrade it with: lockstep migrate`,
  );
}

/** Splits at line feeds only: names may contain all other line separators. */
export async function* linesOf(path: string): AsyncGenerator<string[], void> {
  let rest = "";
  let lines: string[] = [];
  for await (const chunk of createReadStream(path, "utf8") as AsyncIterable<string>) {
    const found = `${rest}${chunk}`.split("\n");
    rest = found.pop() ?? "";
    lines.push(...found);
    if (lines.length < LINES_AT_ONCE) continue;
    yield lines;
    lines = [];
  }
  yield [...lines, rest];
}

/** Throws if it is not an entry. */
export function decodeEntry(key: string, value: unknown): ManifestEntry {
  if (!isJsonObject(value)) throw new Error(`'${key}' is no entry`);
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
  const status = FILE_STATUSES.find((known) => known === value);
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
  return found.map((item: unknown) => {
    if (!isJsonObject(item)) throw new Error("a list holds something strange");
    return decode(item);
  });
}

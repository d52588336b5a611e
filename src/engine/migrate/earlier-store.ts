import { join } from "node:path";
import { BadInputError, ConflictError } from "../../contracts/errors.ts";
import { type FileStatus, MANIFEST_FILE, MANIFEST_LAYOUT } from "../../contracts/manifest.ts";
import { readFileIfExists } from "../../lib/atomic-file.ts";
import { foldersIn, namesIn, openIfExists, pathExists } from "../../lib/file-system.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../lib/json-object.ts";
import { toInstant } from "../../lib/time.ts";
import { byAge, isVersionId } from "../../mirror/stored-version.ts";

/** The folders of a store of an earlier layout, beside its manifest; `knowledge_base` may hold the other ones. */
export const STORE_FOLDERS = ["documents", "versions", "staging", "knowledge_base"] as const;

/** A document with its earlier versions. */
export interface EarlierDocument extends EarlierMetadata {
  /** Higher than all earlier ones. */
  readonly version: number;
  /** The folder with `content.md`. */
  readonly folder: string;
  /** Folders of earlier versions by their id (`v1`), oldest first. */
  readonly versions: ReadonlyMap<string, string>;
}

export interface EarlierStore {
  readonly files: readonly EarlierFile[];
  readonly documents: ReadonlyMap<string, EarlierDocument>;
}

/** Reads a store of an earlier layout. BadInputError if it is none. */
export async function readEarlierStore(folder: string): Promise<EarlierStore> {
  const files = await readEarlierManifest(join(folder, MANIFEST_FILE));
  const documents = new Map<string, EarlierDocument>();
  for (const base of [folder, join(folder, "knowledge_base")]) {
    for (const name of await foldersIn(join(base, "documents"))) {
      const document = join(base, "documents", name);
      if (!(await pathExists(join(document, "content.md")))) continue;
      const metadata = await readEarlierMetadata(join(document, "metadata.json"));
      const versions = await versionsIn(join(base, "versions", name));
      const latest = Number([...versions.keys()].at(-1)?.slice(1) ?? 0);
      const version = Math.max(metadata.version, latest + 1);
      documents.set(name, { ...metadata, version, folder: document, versions });
    }
  }
  return { files, documents };
}

async function versionsIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await namesIn(folder)).filter(isVersionId).sort(byAge);
  const versions = new Map<string, string>();
  for (const name of names) {
    if (await pathExists(join(folder, name, "content.md"))) versions.set(name, join(folder, name));
  }
  return versions;
}

/** A file in a manifest without a layout: keyed by absolute path. */
export interface EarlierFile {
  readonly path: string;
  /** "" when it was never ingested. */
  readonly docId: string;
  /** SHA-256, or "" when it is none. */
  readonly contentHash: string;
  readonly size: number;
  /** ISO 8601 UTC; "" if unknown. */
  readonly modifiedAt: string;
  readonly status: FileStatus;
  readonly retryCount: number;
}

const HEAD = /^\s*\{\s*"layout"\s*:\s*(\d+)/;

/** ConflictError for a later layout. */
export async function layoutOf(path: string): Promise<"none" | "earlier" | "current"> {
  const head = await readHead(path);
  if (head === undefined) return "none";
  const layout = Number(HEAD.exec(head)?.[1] ?? 1);
  if (layout > MANIFEST_LAYOUT) throw new ConflictError(`${path} was written by a later release of lockstep.`);
  return layout === MANIFEST_LAYOUT ? "current" : "earlier";
}

async function readHead(path: string): Promise<string | undefined> {
  await using file = await openIfExists(path);
  if (!file) return undefined;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(100), 0, 100, 0);
  return buffer.toString("utf8", 0, bytesRead);
}

/** BadInputError if it is not a manifest. */
export async function readEarlierManifest(path: string): Promise<readonly EarlierFile[]> {
  const manifest = parseJsonObject((await readFileIfExists(path))?.toString("utf8") ?? "");
  const files = manifest?.["files"];
  if (!isJsonObject(files)) {
    throw new BadInputError(`${path} is no manifest: it should be a JSON object with 'files', one entry a path.`);
  }
  return Object.entries(files).map(([path, value]) => decodeFile(path, isJsonObject(value) ? value : {}));
}

function decodeFile(path: string, value: JsonObject): EarlierFile {
  const text = (field: string): string => (typeof value[field] === "string" ? value[field] : "");
  const number = (field: string): number => (typeof value[field] === "number" ? value[field] : 0);
  const hash = (text("content_hash") || text("hash")).toLowerCase();
  return {
    path,
    docId: text("doc_id"),
    contentHash: /^[0-9a-f]{64}$/.test(hash) ? hash : "",
    size: number("size_bytes") || number("size"),
    modifiedAt: toInstant(text("modified_time")),
    status: (["missing", "error", "deleted"] as const).find((status) => status === value["status"]) ?? "active",
    retryCount: number("retry_count"),
  };
}

/** The `metadata.json` of an ingested document. */
interface EarlierMetadata {
  readonly sourcePath: string;
  readonly title: string;
  readonly version: number;
  readonly createdAt: string;
  readonly modifiedAt: string;
}

/** All fields are optional. */
async function readEarlierMetadata(path: string): Promise<EarlierMetadata> {
  const value = parseJsonObject((await readFileIfExists(path))?.toString("utf8") ?? "") ?? {};
  const text = (field: string): string => (typeof value[field] === "string" ? value[field] : "");
  const version = Number(value["version"]);
  return {
    sourcePath: text("source_path"),
    title: text("title"),
    version: Number.isSafeInteger(version) && version > 0 && version < 1e9 ? version : 1,
    createdAt: toInstant(text("created_at")),
    modifiedAt: toInstant(text("modified_at")),
  };
}

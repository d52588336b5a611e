import { extname } from "node:path";
import { ExtractError } from "../../contracts/document.ts";
import { explain } from "../../contracts/errors.ts";
import type { ItemId } from "../../contracts/ids.ts";
import type { Attributes } from "../../contracts/search-index.ts";
import { findBody, insertBody, type PreparedBody } from "../../index/sqlite/bodies.ts";
import {
  activeDocument,
  type DocumentRow,
  deleteDocumentsOfFile,
  insertDocument,
  updateAttributes,
} from "../../index/sqlite/documents.ts";
import { bumpVisibleRevision } from "../../index/sqlite/generations.ts";
import type { Store } from "../../index/sqlite/open-store.ts";
import {
  type BodyParts,
  bodyKey,
  type Chunking,
  chunkingKey,
  DEFAULT_CHUNKING,
  prepareBody,
} from "../../index/sqlite/prepare-body.ts";
import { DIRECT_GENERATION, DIRECT_SOURCE } from "../../index/sqlite/store-schema.ts";
import type { WireFile } from "./file-shelf.ts";

export interface Attachment {
  readonly file: WireFile;
  /** undefined: none given, so a file that is attached already keeps its own. */
  readonly attributes: Attributes | undefined;
  readonly chunking: Chunking | undefined;
}

interface Failure {
  readonly code: "unsupported_file" | "invalid_file" | "server_error";
  readonly message: string;
}

/**
 * Makes a file searchable in a store at once, in every generation. Attaching it again is no second document; what a crawl
 * brought stays the crawl's, whatever chunking is asked for.
 */
export async function attachFile(
  store: Store,
  parts: BodyParts,
  attachment: Attachment,
  signal: AbortSignal,
): Promise<DocumentRow> {
  const { file, attributes } = attachment;
  const held = activeDocument(store.db, file.id);
  const chunking = attachment.chunking ?? DEFAULT_CHUNKING;
  const same =
    attachment.chunking === undefined ||
    held?.chunking === chunkingKey(chunking) ||
    (held !== undefined && held.sourceId !== DIRECT_SOURCE);
  if (held?.status === "completed" && same) {
    if (!attributes) return held;
    changeAttributes(store, file.id, attributes);
    return { ...held, attributes: JSON.stringify(attributes) };
  }
  const fileType = extname(file.filename).slice(1).toLowerCase();
  const source = { path: file.path, sha256: file.sha256, fileType, chunking };
  const key = bodyKey(parts, source);
  const known = findBody(store.db, key) !== undefined;
  const body = known ? undefined : await prepare(parts, source, signal);
  const written = store.db.write(() => {
    const failure = body && "code" in body ? body : undefined;
    const prepared = body && !("code" in body) ? body : undefined;
    const found = failure ? null : (findBody(store.db, key) ?? (prepared && insertBody(store.db, key, prepared)));
    if (found === undefined) return undefined;
    const kept = attributes ?? (held ? (JSON.parse(held.attributes) as Attributes) : {});
    const row = directRow(file, { attributes: kept, chunking, fileType, bodyId: found?.id ?? null, failure });
    deleteDocumentsOfFile(store.db, file.id);
    insertDocument(store.db, row, { born: DIRECT_GENERATION, title: found?.title ?? "" });
    bumpVisibleRevision(store.db);
    return activeDocument(store.db, file.id);
  });
  // The body was there a moment ago and has been cleaned up since: once more, this time with the work.
  return written ?? attachFile(store, parts, attachment, signal);
}

export function changeAttributes(store: Store, fileId: string, attributes: Attributes): void {
  store.db.write(() => {
    updateAttributes(store.db, fileId, attributes);
    bumpVisibleRevision(store.db);
  });
}

async function prepare(
  parts: BodyParts,
  source: Parameters<typeof prepareBody>[1],
  signal: AbortSignal,
): Promise<PreparedBody | Failure> {
  try {
    return await prepareBody(parts, source, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ExtractError) return { code: error.code, message: error.message };
    return { code: "server_error", message: explain(error) };
  }
}

function directRow(
  file: WireFile,
  how: {
    readonly attributes: Attributes;
    readonly chunking: Chunking;
    readonly fileType: string;
    readonly bodyId: number | null;
    readonly failure: Failure | undefined;
  },
): Omit<DocumentRow, "id"> {
  const nowSeconds = Math.floor(Date.now() / 1000);
  return {
    sourceId: DIRECT_SOURCE,
    itemId: file.id as string as ItemId,
    fileId: file.id,
    name: file.filename,
    path: "",
    url: "",
    fileType: how.fileType,
    attributes: JSON.stringify(how.attributes),
    file: file.path,
    sha256: file.sha256,
    bytes: file.bytes,
    chunking: chunkingKey(how.chunking),
    bodyId: how.bodyId,
    status: how.failure ? "failed" : "completed",
    errorCode: how.failure?.code ?? null,
    errorMessage: how.failure?.message ?? null,
    uploadedAt: nowSeconds,
    embeddedAt: nowSeconds,
  };
}

import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { APIError, toStreamingFile } from "openai";
import type { FileId } from "../../contracts/ids.ts";
import type { DocumentFile } from "../../contracts/search-index.ts";
import type { UploadJournal } from "../../contracts/uploads.ts";
import { withFileType } from "../../lib/file-type.ts";
import type { Connection } from "./connection.ts";
import { hasStatus } from "./refusal.ts";
import { readUpload } from "./wire-codec.ts";

export interface Upload {
  readonly fileId: FileId;
  readonly uploadedAt: string;
  /** Of the bytes that were sent, which need not be those the caller hashed. */
  readonly sha256: string;
  /** Under which the journal has it. */
  readonly key: number;
}

const LEAST_TIMEOUT_MS = 600_000;
const SLOWEST_BYTES_PER_MS = 50;

/**
 * Streams the file from disk; each try opens it anew and is written down before it is sent. A try that ends without an
 * answer may have left an upload nobody knows the id of: it is in no store, and remove-lost-uploads.ts looks for it.
 */
export function uploadFile(
  connection: Connection,
  journal: UploadJournal,
  file: DocumentFile,
  signal: AbortSignal,
): Promise<Upload> {
  const name = uploadName(file);
  const what = `upload '${name}'`;
  return connection.calls.run(
    what,
    async () => {
      await connection.limits.uploads.pass(1, what, signal);
      const key = await journal.begin({ itemId: file.itemId, name, bytes: file.bytes });
      try {
        const sent = await send(connection, file, signal);
        await journal.answered(key, sent.fileId, sent.sha256);
        return { ...sent, key };
      } catch (error) {
        await (hadNoEffect(error) ? journal.settle(key) : journal.lost(key));
        throw error instanceof CutShort ? error.cause : error;
      }
    },
    signal,
  );
}

/** The service goes by the extension: a page that is called `Home.aspx` is HTML all the same. */
export function uploadName({ label }: Pick<DocumentFile, "label">): string {
  return withFileType(label.name, label.fileType);
}

/** Refused, or not sent to its end: the connection broke before, or the file could not be read. */
function hadNoEffect(error: unknown): boolean {
  return error instanceof CutShort || (isAnswer(error) && (error.status ?? 0) < 500);
}

function isAnswer(error: unknown): error is APIError {
  return error instanceof APIError && error.status !== undefined;
}

/** Ends a try whose body the service cannot have seen whole; the cause is what happened. */
class CutShort extends Error {}

async function send(connection: Connection, file: DocumentFile, signal: AbortSignal): Promise<Omit<Upload, "key">> {
  const timeout = Math.round(LEAST_TIMEOUT_MS + file.bytes / SLOWEST_BYTES_PER_MS);
  const handle = await open(file.path).catch((error: unknown) => {
    throw new CutShort("open", { cause: error });
  });
  const hash = createHash("sha256");
  let unreadable: unknown;
  let isWhole = false;
  async function* bytes(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of handle.createReadStream({ autoClose: false })) {
        hash.update(chunk);
        yield chunk;
      }
      isWhole = true;
    } catch (error) {
      unreadable = error;
      throw error;
    }
  }
  try {
    const body = await connection.client.files.create(
      { file: toStreamingFile(bytes(), uploadName(file)), purpose: "assistants" },
      { signal, timeout },
    );
    return { ...readUpload(body), sha256: hash.digest("hex") };
  } catch (error) {
    // A broken disk looks like a broken connection to the client, and would be tried again as one.
    const cause = unreadable ?? error;
    throw isWhole || isAnswer(error) ? cause : new CutShort("send", { cause });
  } finally {
    await handle.close();
  }
}

/** Deleting what is already gone is a success. */
export async function deleteUpload(connection: Connection, fileId: FileId, signal?: AbortSignal): Promise<void> {
  try {
    await connection.calls.run(
      `delete upload ${fileId}`,
      () => connection.client.files.delete(fileId, { signal }),
      signal,
    );
  } catch (error) {
    if (!hasStatus(error, 404)) throw error;
  }
}

/** undefined: there is no such upload. Asked for by id: lists have been seen to lack what is there. */
export async function findUpload(
  connection: Connection,
  fileId: FileId,
  signal?: AbortSignal,
): Promise<{ readonly fileId: FileId; readonly uploadedAt: string } | undefined> {
  try {
    const body = await connection.calls.run(
      `look for upload ${fileId}`,
      () => connection.client.files.retrieve(fileId, { signal }),
      signal,
    );
    return readUpload(body);
  } catch (error) {
    if (hasStatus(error, 404)) return undefined;
    throw error;
  }
}

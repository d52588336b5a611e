import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { toStreamingFile } from "openai";
import type { FileId } from "../../contracts/ids.ts";
import type { DocumentFile } from "../../contracts/search-index.ts";
import type { Connection } from "./connection.ts";
import { hasStatus } from "./refusal.ts";
import { readUpload } from "./wire-codec.ts";

export interface Upload {
  readonly fileId: FileId;
  readonly uploadedAt: string;
  /** Of the bytes that were sent, which need not be those the caller hashed. */
  readonly sha256: string;
}

const LEAST_TIMEOUT_MS = 600_000;
const SLOWEST_BYTES_PER_MS = 50;

/**
 * Streams the file from disk; each try opens it anew. A try that ends without an answer may have left an upload nobody
 * knows the id of. It is in no store, so no search finds it.
 */
export function uploadFile(connection: Connection, file: DocumentFile, signal: AbortSignal): Promise<Upload> {
  const timeout = Math.round(LEAST_TIMEOUT_MS + file.bytes / SLOWEST_BYTES_PER_MS);
  return connection.calls.run(
    `upload '${file.label.name}'`,
    async () => {
      const handle = await open(file.path);
      const hash = createHash("sha256");
      let unreadable: unknown;
      async function* bytes(): AsyncGenerator<Uint8Array> {
        try {
          for await (const chunk of handle.createReadStream({ autoClose: false })) {
            hash.update(chunk);
            yield chunk;
          }
        } catch (error) {
          unreadable = error;
          throw error;
        }
      }
      try {
        const body = await connection.client.files.create(
          { file: toStreamingFile(bytes(), file.label.name), purpose: "assistants" },
          { signal, timeout },
        );
        return { ...readUpload(body), sha256: hash.digest("hex") };
      } catch (error) {
        // A broken disk looks like a broken connection to the client, and would be tried again as one.
        throw unreadable ?? error;
      } finally {
        await handle.close();
      }
    },
    signal,
  );
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

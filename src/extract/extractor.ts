import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  AlteredError,
  ExtractError,
  type ExtractedDocument,
  type Extractor,
  type TextReader,
} from "../contracts/document.ts";
import { readSmallFile } from "../lib/atomic-file.ts";
import { hashFile, sha256Of } from "../lib/hash.ts";
import { yieldIfDue } from "../lib/time-slice.ts";
import { bytesOf } from "./byte-source.ts";
import { formatOf, READABLE_TYPES } from "./formats.ts";
import { DEFAULT_LIMITS, type ExtractLimits } from "./limits.ts";
import { readDocument } from "./read-document.ts";
import { errorOf, type ReadTask } from "./reader/messages.ts";
import { readers } from "./reader/reader-pool.ts";

/** Raise it with every change that makes any file give other text. */
const REVISION = "3";

export type ExtractorOptions = Partial<ExtractLimits>;

export function createExtractor(options: ExtractorOptions = {}): Extractor {
  const limits: ExtractLimits = { ...DEFAULT_LIMITS, ...options };
  return {
    revision: REVISION,
    types: READABLE_TYPES,
    async extract(path, fileType, signal, sha256) {
      const { maxBytesHere } = formatOf(fileType);
      signal.throwIfAborted();
      await yieldIfDue();
      const small = maxBytesHere > 0 ? readSmallFile(path, maxBytesHere) : undefined;
      if (small) {
        if (sha256 !== undefined && sha256Of(small) !== sha256) throw new AlteredError(path);
        return readDocument(bytesOf(small), fileType, limits);
      }
      const reading = readElsewhere({ kind: "file", path, fileType, limits }, signal);
      const isOfTheBytes = await reading.then(
        () => true,
        (error: unknown) => error instanceof ExtractError,
      );
      if (isOfTheBytes && sha256 !== undefined && (await hashFile(path)) !== sha256) throw new AlteredError(path);
      return reading;
    },
  };
}

async function readElsewhere(task: ReadTask, signal: AbortSignal): Promise<ExtractedDocument> {
  const { outcome } = await readers.read(task, signal);
  if (outcome.status === "read") return outcome.document;
  throw errorOf(outcome);
}

/** Reads bytes as the index will, by way of a file of their own. */
export function createTextReader(extractor: Extractor): TextReader {
  return {
    revision: extractor.revision,
    async read(bytes, fileType, signal) {
      if (!extractor.types.has(fileType)) return undefined;
      const folder = await mkdtemp(join(tmpdir(), "lockstep-text-"));
      try {
        const path = join(folder, `document.${fileType}`);
        await writeFile(path, bytes);
        return await extractor.extract(path, fileType, signal);
      } catch {
        signal.throwIfAborted();
        return undefined;
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

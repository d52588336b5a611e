import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Extractor, TextReader } from "../contracts/document.ts";

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

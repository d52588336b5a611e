import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExtractedDocument } from "../../src/contracts/document.ts";
import { createExtractor, type ExtractorOptions } from "../../src/extract/extractor.ts";

/** Writes the bytes to a file of their own and extracts it as the given type. */
export async function extractFile(
  fileType: string,
  bytes: string | Uint8Array,
  { signal = new AbortController().signal, ...options }: ExtractorOptions & { signal?: AbortSignal } = {},
): Promise<ExtractedDocument> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-extract-"));
  try {
    const path = join(folder, "file");
    await writeFile(path, bytes);
    return await createExtractor(options).extract(path, fileType, signal);
  } finally {
    await rm(folder, { recursive: true });
  }
}

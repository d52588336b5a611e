import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { ItemId } from "../../contracts/ids.ts";
import { writeFileAtomic } from "../../lib/atomic-file.ts";
import { hashFile } from "../../lib/hash-file.ts";
import { CONTENT_FILE, METADATA_FILE } from "./document-folder.ts";
import type { KeptContent, KeptDocument } from "./kept-document.ts";
import { encodeMetadata } from "./metadata-codec.ts";

/** A version whose text somebody else made. */
export interface AdoptedVersion
  extends Omit<KeptContent, "extractor">,
    Pick<KeptDocument, "versionId" | "createdAt" | "title"> {
  /** The file with its text, absolute. */
  readonly textFile: string;
}

/** No revision of our extractor made it, so the next crawl makes it again where it is the current one. */
export async function adoptVersion(folder: string, docId: ItemId, version: AdoptedVersion): Promise<void> {
  const { textFile, ...told } = version;
  const content = join(folder, CONTENT_FILE);
  await mkdir(folder, { recursive: true });
  await copyFile(textFile, content);
  const made = { extractor: "", language: "", wordCount: 0, textHash: await hashFile(content), error: "" };
  await writeFileAtomic(join(folder, METADATA_FILE), encodeMetadata({ ...told, ...made, docId }), { flush: "later" });
}

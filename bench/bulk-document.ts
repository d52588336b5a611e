import type { FileId, ItemId } from "../src/contracts/ids.ts";
import { labelWords } from "../src/index/analyzer.ts";
import type { insertDocuments } from "../src/index/documents.ts";

/** A document as a crawl would leave it, for stores that are filled in bulk. */
export function bulkDocument(
  bodyId: number,
  title: string,
  sha256: string,
  born: number,
): Parameters<typeof insertDocuments>[2][number] {
  const name = `${title.replaceAll(" ", "-")}.md`;
  return {
    domainId: "BENCH",
    sourceId: "bulk",
    itemId: sha256.slice(0, 26) as ItemId,
    fileId: `file-${sha256.slice(0, 24)}` as FileId,
    name,
    path: `Shared/Bulk/${name}`,
    url: `https://t.example/${name}`,
    fileType: "md",
    modifiedAt: "2025-01-01T00:00:00Z",
    attributes: "{}",
    file: name,
    sha256,
    bytes: 1000,
    chunking: "800/400",
    bodyId,
    status: "completed",
    errorCode: null,
    errorMessage: null,
    uploadedAt: 1,
    embeddedAt: 1,
    born,
    words: labelWords({ name, path: `Shared/Bulk/${name}`, title }),
  };
}

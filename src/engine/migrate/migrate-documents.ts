import { join } from "node:path";
import type { JobContext } from "../../contracts/job.ts";
import { fileTypeOf } from "../../lib/file-type.ts";
import { KnowledgeBase } from "../../mirror/knowledge/knowledge-base.ts";
import type { PlannedEntry } from "./plan-entries.ts";

/**
 * Makes `knowledge_base/` below a folder of its own, from documents that stay where they are. The texts are those of another
 * extractor, so the next crawl makes the current ones again; earlier ones stay as they were.
 */
export async function migrateDocuments(
  folder: string,
  entries: readonly PlannedEntry[],
  job: JobContext,
): Promise<{ readonly documents: number; readonly versions: number }> {
  const base = new KnowledgeBase(folder);
  let [documents, versions] = [0, 0];
  for (const { entry, document } of entries) {
    if (!document) continue;
    await job.checkpoint();
    const { docId, path, modifiedAt } = entry;
    const { title } = document;
    const adopted = entry.versions.map(({ versionId, at, hash }) => ({
      ...{
        versionId,
        at,
        hash,
        path,
        fileType: fileTypeOf(path),
        modifiedAt,
        title,
        createdAt: document.createdAt || at,
      },
      textFile: join(document.versions.get(versionId) ?? document.folder, "content.md"),
    }));
    await base.adopt(docId, adopted);
    documents += 1;
    versions += document.versions.size;
  }
  return { documents, versions };
}

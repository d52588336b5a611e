import type { DocumentFile } from "../contracts/search-index.ts";
import type { SourceRun } from "../contracts/source-kind.ts";
import { KnowledgeBase } from "../mirror/knowledge/knowledge-base.ts";
import type { Mirror } from "../mirror/mirror.ts";

/** The text that the process step made of these very bytes need not be made again. */
export function withKeptText(file: DocumentFile, run: SourceRun, mirror: Mirror): DocumentFile {
  if (!run.config.kind.abilities.keepsTexts) return file;
  const base = new KnowledgeBase(mirror.folder);
  return {
    ...file,
    async keptText(extractor) {
      const kept = await base.read(file.itemId);
      const { sha256, label } = file;
      const isOfThese = kept?.hash === sha256 && kept.fileType === label.fileType && kept.extractor === extractor;
      return isOfThese ? kept : undefined;
    },
  };
}

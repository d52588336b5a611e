import type { Section } from "../../src/contracts/document.ts";
import { type Chunk, type ChunkOptions, cutSections } from "../../src/index/chunk-sections.ts";
import { finish } from "../../src/index/markdown-lines.ts";
import { sectionSteps } from "../../src/index/parse-sections.ts";

/** The tree of headings, without pauses and limits. */
export function parseSections(markdown: string): Section {
  return finish(sectionSteps(markdown));
}

/** All chunks of a document, without pauses. */
export function chunkSections(root: Section, options: ChunkOptions): Chunk[] {
  return [...cutSections(root, options)].filter((chunk) => chunk !== undefined);
}

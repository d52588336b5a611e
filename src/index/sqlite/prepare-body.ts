import { ExtractError, type ExtractedDocument, type Extractor, type Section } from "../../contracts/document.ts";
import type { Embedder } from "../../contracts/embedder.ts";
import { hashFile } from "../../lib/hash-file.ts";
import { chunkSections } from "../chunk/chunk-sections.ts";
import { parseSections } from "../chunk/parse-sections.ts";
import { packVector } from "../search/vector-codec.ts";
import type { BodyKey, PreparedBody, SectionRow } from "./bodies.ts";

/** How long chunks are, and how much of its predecessor each repeats. */
export interface Chunking {
  readonly maxTokens: number;
  readonly overlapTokens: number;
}

/** What the wire protocol calls `auto`. */
export const DEFAULT_CHUNKING: Chunking = { maxTokens: 800, overlapTokens: 400 };

/** To be raised whenever sections or chunks of the same text come out differently. */
const CHUNKER_REVISION = "1";

/** What turns bytes into bodies. Each part's revision is in the key of what it made. */
export interface BodyParts {
  readonly extractor: Extractor;
  readonly embedder: Embedder;
}

export interface BodySource {
  readonly path: string;
  readonly sha256: string;
  readonly fileType: string;
  readonly chunking: Chunking;
}

export function bodyKey(parts: BodyParts, source: Omit<BodySource, "path">): BodyKey {
  return {
    sha256: source.sha256,
    fileType: source.fileType,
    extractor: parts.extractor.revision,
    chunking: `${CHUNKER_REVISION}:${chunkingKey(source.chunking)}`,
    embedding: embeddingKey(parts.embedder),
  };
}

export function chunkingKey({ maxTokens, overlapTokens }: Chunking): string {
  return `${maxTokens}/${overlapTokens}`;
}

export function parseChunkingKey(key: string): Chunking {
  const [maxTokens, overlapTokens] = key.split("/").map(Number);
  return { maxTokens: maxTokens ?? 0, overlapTokens: overlapTokens ?? 0 };
}

export function embeddingKey(embedder: Embedder): string {
  return `${embedder.model}@${embedder.revision}`;
}

/**
 * Extracts, cuts and embeds. The only expensive step of a put; touches no database. Throws unless the file is still what
 * `sha256` says: another run may replace it at any moment, and its text must not be kept under a hash it does not have.
 */
export async function prepareBody(parts: BodyParts, source: BodySource, signal: AbortSignal): Promise<PreparedBody> {
  const { title, markdown } = await extractUnchanged(parts.extractor, source, signal);
  const root = parseSections(markdown);
  const chunks = chunkSections(root, source.chunking);
  const vectors = await parts.embedder.embed(chunks.map((chunk) => `${chunk.sectionPath}\n${chunk.text}`));
  return {
    title,
    sections: flattenSections(root),
    chunks: chunks.map((chunk, at) => ({
      position: chunk.position,
      sectionPath: chunk.sectionPath,
      text: chunk.text,
      vector: packVector(vectors[at] ?? new Float32Array(parts.embedder.dimensions)),
    })),
  };
}

/** The hash is taken after reading, so that it also covers a refusal: a file caught half-way says nothing about its bytes. */
async function extractUnchanged(
  extractor: Extractor,
  { path, sha256, fileType }: BodySource,
  signal: AbortSignal,
): Promise<ExtractedDocument> {
  const outcome = await extractor.extract(path, fileType, signal).catch((error: unknown) => {
    if (error instanceof ExtractError) return error;
    throw error;
  });
  if ((await hashFile(path)) !== sha256) throw new Error(`read ${path}: it changed while it was being read`);
  if (outcome instanceof ExtractError) throw outcome;
  return outcome;
}

/** The tree as rows in reading order, each naming the row above it; storage knows no trees. */
export function flattenSections(root: Section): SectionRow[] {
  const rows: SectionRow[] = [];
  const walk = (section: Section, parent: number | null): void => {
    const position = rows.length;
    rows.push({ position, parent, heading: section.heading, level: section.level, content: section.content });
    for (const child of section.children) walk(child, position);
  };
  walk(root, null);
  return rows;
}

import { ExtractError, type ExtractedDocument, type Extractor, type Section } from "../contracts/document.ts";
import type { DocumentFile } from "../contracts/search-index.ts";
import { hashFile } from "../lib/hash-file.ts";
import { Turn } from "../lib/turn.ts";
import { analyze } from "./analyzer.ts";
import type { BodyKey, NewBody, NewChunk, SectionRow } from "./bodies.ts";
import { type Chunking, chunkingKey, cutSections } from "./chunk-sections.ts";
import type { Pause } from "./markdown-lines.ts";
import { sectionSteps } from "./parse-sections.ts";
import type { Words } from "./store.ts";

/** To be raised whenever sections or chunks of the same text come out differently. */
const CHUNKER_REVISION = "2";
/** One document must not fill the store or the memory: this is some 32 MB of prose. */
const MAX_CHUNKS = 20_000;
const MAX_HEADINGS = 100_000;
/** One for all: documents that are prepared side by side share the turns, or the others would wait for each of them. */
const turn = new Turn();

/** Some bytes that are to become a body. */
export interface BodySource {
  readonly path: string;
  readonly sha256: string;
  readonly fileType: string;
  readonly chunking: Chunking;
  /** As that of a DocumentFile. */
  readonly keptText?: DocumentFile["keptText"];
}

/** A body that has everything but its vectors. */
export interface PreparedBody extends Omit<NewBody, "chunks"> {
  readonly chunks: readonly Omit<NewChunk, "vector">[];
}

export function bodyKey(
  { revision }: Pick<Extractor, "revision">,
  source: Omit<BodySource, "path" | "keptText">,
): BodyKey {
  return {
    sha256: source.sha256,
    fileType: source.fileType,
    extractor: revision,
    chunking: `${CHUNKER_REVISION}:${chunkingKey(source.chunking)}`,
  };
}

/**
 * Extracts, cuts and analyses; touches no database. Throws unless the file is still what `sha256` says: another run may
 * replace it at any moment, and its text must not be kept under a hash it does not have.
 */
export async function prepareBody(
  extractor: Extractor,
  source: BodySource,
  signal: AbortSignal,
): Promise<PreparedBody> {
  // Whatever is wrong with what was kept, the file itself is there.
  const kept = await source.keptText?.(extractor.revision).catch(() => undefined);
  const { title, markdown, language } = kept ?? (await extractUnchanged(extractor, source, signal));
  const root = await inTurns(sectionSteps(markdown, MAX_HEADINGS), signal);
  const chunks = await inTurns(analysedChunks(root, source.chunking), signal);
  return { key: bodyKey(extractor, source), title, language, sections: flattenSections(root), chunks };
}

function* analysedChunks(root: Section, chunking: Chunking): Generator<Pause, PreparedBody["chunks"]> {
  const chunks: PreparedBody["chunks"][number][] = [];
  let path = "";
  let headings: Words = [];
  for (const chunk of cutSections(root, chunking)) {
    yield;
    if (!chunk) continue;
    if (chunks.length === MAX_CHUNKS) {
      throw new ExtractError("invalid_file", `The document is too long: it makes more than ${MAX_CHUNKS} passages.`);
    }
    const { position, sectionPath, page, text } = chunk;
    if (sectionPath !== path) headings = analyze(sectionPath);
    path = sectionPath;
    chunks.push({ position, sectionPath, page, text, words: { headings, text: analyze(text) } });
  }
  return chunks;
}

/** Runs it to its end; the rest of the process works in between. */
async function inTurns<T>(steps: Generator<Pause, T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    if (turn.isOver()) {
      await turn.next();
      signal.throwIfAborted();
    }
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** The bytes are not those of the hash: they changed while they were read, or before. */
export class AlteredError extends Error {
  constructor(path: string) {
    super(`read ${path}: it was changed since it came here`);
  }
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
  if ((await hashFile(path)) !== sha256) throw new AlteredError(path);
  if (outcome instanceof ExtractError) throw outcome;
  return outcome;
}

/** The tree as rows in reading order, each naming the row above it by its position; storage knows no trees. */
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

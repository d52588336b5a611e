import { ExtractError, type Extractor, type Section } from "../contracts/document.ts";
import type { DocumentFile } from "../contracts/search-index.ts";
import { TimeSlice } from "../lib/time-slice.ts";
import { analyze } from "./analyzer.ts";
import type { BodyKey, NewBody, NewChunk, SectionRow } from "./bodies.ts";
import { type Chunking, chunkingKey, cutSections } from "./chunk-sections.ts";
import type { Pause } from "./markdown-lines.ts";
import { sectionSteps } from "./parse-sections.ts";
import type { Words } from "./store.ts";

/** Raise whenever the same text gives other sections or chunks. */
const CHUNKER_REVISION = "2";
/** Limits the memory and space of one document: some 32 MB of prose. */
const MAX_CHUNKS = 20_000;
const MAX_HEADINGS = 100_000;
/** Shared by documents that are prepared concurrently, or others would wait for each of them. */
const timeSlice = new TimeSlice();

/** A file to make a body of. */
export interface BodySource {
  readonly path: string;
  readonly sha256: string;
  readonly fileType: string;
  readonly chunking: Chunking;
  /** See DocumentFile.cachedText. */
  readonly cachedText?: DocumentFile["cachedText"];
}

/** A body that has everything but its vectors. */
export interface PreparedBody extends Omit<NewBody, "chunks"> {
  readonly chunks: readonly Omit<NewChunk, "vector">[];
}

export function bodyKey(
  { revision }: Pick<Extractor, "revision">,
  source: Omit<BodySource, "path" | "cachedText">,
): BodyKey {
  return {
    sha256: source.sha256,
    fileType: source.fileType,
    extractor: revision,
    chunking: `${CHUNKER_REVISION}:${chunkingKey(source.chunking)}`,
  };
}

/**
 * Extracts, chunks and analyses a file; uses no database. Throws if the file no longer has the hash `sha256`: another run may
 * replace it at any moment, and its text must not be stored under a wrong hash. `toWords` is for callers that need no words.
 */
export async function prepareBody(
  extractor: Extractor,
  source: BodySource,
  signal: AbortSignal,
  toWords: typeof analyze = analyze,
): Promise<PreparedBody> {
  // If the cached text cannot be read, the file is.
  const cached = await source.cachedText?.(extractor.revision).catch(() => undefined);
  const { path, fileType, sha256 } = source;
  const { title, markdown, language } = cached ?? (await extractor.extract(path, fileType, signal, sha256));
  const root = await runYielding(sectionSteps(markdown, MAX_HEADINGS), signal);
  const chunks = await runYielding(analysedChunks(root, source.chunking, toWords), signal);
  return { key: bodyKey(extractor, source), title, language, sections: flattenSections(root), chunks };
}

function* analysedChunks(
  root: Section,
  chunking: Chunking,
  toWords: typeof analyze,
): Generator<Pause, PreparedBody["chunks"]> {
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
    if (sectionPath !== path) headings = toWords(sectionPath);
    path = sectionPath;
    chunks.push({ position, sectionPath, page, text, words: { headings, text: toWords(text) } });
  }
  return chunks;
}

/** Runs the generator to its end, yielding to the event loop. */
async function runYielding<T>(steps: Generator<Pause, T>, signal: AbortSignal): Promise<T> {
  for (;;) {
    if (timeSlice.isOver()) {
      await timeSlice.next();
      signal.throwIfAborted();
    }
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Returns the tree as rows in reading order, each with the position of its parent. */
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

import type { Section } from "../contracts/document.ts";
import { estimateTokens } from "./estimate-tokens.ts";
import {
  closesFence,
  isBlank,
  isTableRule,
  LINES_PER_PAUSE,
  lineEnd,
  linePrefix,
  openingFence,
  type Pause,
  pageMark,
  startsListItem,
} from "./markdown-lines.ts";
import { FINER, type Grain, segmentSteps, segments } from "./segments.ts";

/** Text that is found, embedded and shown as one. */
export interface Chunk {
  /** The headings above the text and its own, "Travel > Hotels"; "" before the first heading. */
  readonly sectionPath: string;
  /** The last of the path. It is not repeated in `text`, unless several small sections share the chunk. */
  readonly heading: string;
  readonly level: number;
  /** Counts from 0 through the document. */
  readonly position: number;
  /** Page of a paged document on which the text begins that is not repeated, from `<!-- page 3 -->` lines; 0 when unknown. */
  readonly page: number;
  readonly text: string;
}

export interface ChunkOptions {
  readonly maxTokens: number;
  /** How much of the end of a chunk the next one of the same section repeats, at most half of `maxTokens`. */
  readonly overlapTokens: number;
  /** Two texts together must not count more than apart. An estimate by characters when left out. */
  readonly countTokens?: CountTokens;
}

/** Below this a section is a heading with a line or so: too little to be a result of its own. */
const SMALL_TOKENS = 32;

/** Sections that share a chunk, in document order. */
interface Group {
  readonly path: readonly string[];
  readonly heading: string;
  readonly level: number;
  readonly content: string;
}

/**
 * Cuts a document into chunks of at most `maxTokens`, in order, losing no word of it.
 *
 * A chunk never reaches across sections, with one exception: a small section without children is joined with
 * the siblings that follow it until the sum is no longer small. The joined chunk keeps all headings in its text
 * and bears the path of its largest section. Parents and children are never joined. Yields pauses between chunks.
 */
export function* cutSections(root: Section, options: ChunkOptions): Generator<Chunk | Pause> {
  const limit = options.maxTokens;
  if (!(limit >= 1)) throw new RangeError(`cut document: maxTokens must be at least 1, got ${limit}`);
  const overlap = Math.min(Math.max(0, options.overlapTokens), limit / 2);
  const count = options.countTokens ?? estimateTokens;
  let position = 0;
  let page = 0;
  for (const group of groupSections([root], [], limit, count)) {
    const sectionPath = [...group.path, group.heading].filter(Boolean).join(" > ");
    const packer = new Packer(limit, overlap, count);
    const { heading, level } = group;
    const chunkOf = (full: Full): Chunk => ({ sectionPath, heading, level, position: position++, ...full });
    for (const block of parseBlocks(group.content)) {
      page = block?.page ?? page;
      for (const piece of block ? splitBlock({ ...block, page }, limit, count) : [undefined]) {
        const full = piece && packer.put(piece);
        if (full) yield chunkOf(full);
        else if (!piece) yield;
      }
    }
    const rest = packer.finish();
    yield rest && chunkOf(rest);
    page = lastPage(group.content) ?? page;
  }
}

function* groupSections(
  sections: readonly Section[],
  path: readonly string[],
  limit: number,
  count: CountTokens,
): Generator<Group> {
  for (let at = 0; at < sections.length; ) {
    const members = takeGroup(sections, at, limit, count);
    yield toGroup(members, path);
    const section = members[0];
    if (section?.children.length) {
      yield* groupSections(section.children, [...path, section.heading], limit, count);
    }
    at += members.length;
  }
}

function takeGroup(sections: readonly Section[], start: number, limit: number, count: CountTokens): Section[] {
  const first = sections[start];
  if (!first) return [];
  const members = [first];
  const small = Math.min(SMALL_TOKENS, limit / 4);
  let tokens = sizeIn(first, small, count);
  for (let at = start + 1; at < sections.length && tokens < small; at += 1) {
    const previous = members.at(-1);
    const next = sections[at];
    if (!next || next.children.length > 0 || previous?.children.length || next.level !== first.level) break;
    const together = tokens + sizeIn(next, limit, count);
    if (together > limit) break;
    members.push(next);
    tokens = together;
  }
  return members;
}

/** Tokens of the section inside a joined chunk; anything longer than `enough` tokens could be is not counted. */
function sizeIn(section: Section, enough: number, count: CountTokens): number {
  if (section.content.length > enough * 40) return Number.POSITIVE_INFINITY;
  return count(asMarkdown(section)) + count("\n\n");
}

function asMarkdown(section: Section): string {
  return `${"#".repeat(section.level)} ${section.heading}\n\n${section.content}`.trim();
}

function toGroup(all: readonly Section[], path: readonly string[]): Group {
  const members = all.length > 1 ? all.filter(hasText) : all;
  if (members.length === 0) return { path, heading: "", level: 0, content: "" };
  const largest = members.reduce((best, member) => (member.content.length > best.content.length ? member : best));
  const { heading, level, content, children } = largest;
  if (members.length > 1) return { path, heading, level, content: members.map(asMarkdown).join("\n\n") };
  const bare = !hasBlock(content) && !children.some(hasText);
  return { path, heading, level, content: bare ? `${heading}\n\n${content}` : content };
}

/** Whether a section has anything to index. A heading alone counts: otherwise no chunk would contain it. */
function hasText(section: Section): boolean {
  return section.heading !== "" || section.content !== "" || section.children.some(hasText);
}

/** A mark at the very end of a section says where the next section begins. */
function lastPage(content: string): number | undefined {
  const match = /(?:^|\n)<!-- page (\d{1,7}) -->\s*$/.exec(content.slice(-60));
  return match ? Number(match[1]) : undefined;
}

type Full = Pick<Chunk, "text" | "page">;

/** Fills one chunk after the other. */
class Packer {
  readonly #limit: number;
  readonly #overlap: number;
  readonly #count: CountTokens;
  #pieces: Piece[] = [];
  #tokens = 0;
  #page = 0;

  constructor(limit: number, overlap: number, count: CountTokens) {
    this.#limit = limit;
    this.#overlap = overlap;
    this.#count = count;
  }

  /** Adds a piece. If it does not fit, returns the chunk gathered before and begins a new one. */
  put(piece: Piece): Full | undefined {
    let full: Full | undefined;
    if (this.#pieces.length > 0 && this.#tokens + piece.tokens > this.#limit) {
      full = this.finish();
      const repeated = this.#repeat(Math.min(this.#overlap, this.#limit - piece.tokens));
      this.#pieces = repeated;
      this.#tokens = repeated.reduce((sum, part) => sum + part.tokens + this.#count(part.gap), 0);
      this.#page = piece.page ?? 0;
    }
    if (this.#pieces.length === 0) this.#page = piece.page ?? 0;
    this.#pieces.push(piece);
    this.#tokens += piece.tokens + this.#count(piece.gap);
    return full;
  }

  finish(): Full | undefined {
    let text = "";
    for (const [at, piece] of this.#pieces.entries()) {
      text += piece.text + (at < this.#pieces.length - 1 ? piece.gap : "");
    }
    return text.trim() ? { text, page: this.#page } : undefined;
  }

  /** The end of the chunk just finished, whole sentences if any fit into `room`. */
  #repeat(room: number): Piece[] {
    if (room < this.#overlap / 2 || this.#overlap === 0) return [];
    const repeated: Piece[] = [];
    let left = room;
    for (const piece of this.#pieces.toReversed()) {
      if (!piece.flows) break;
      const gapTokens = this.#count(piece.gap);
      if (piece.tokens + gapTokens > left) {
        const text = repeated.length ? "" : this.#tailOf(piece.text, left - gapTokens);
        if (text) repeated.unshift({ ...piece, text, tokens: this.#count(text) });
        break;
      }
      repeated.unshift(piece);
      left -= piece.tokens + gapTokens;
    }
    return repeated.length === this.#pieces.length ? repeated.slice(1) : repeated;
  }

  #tailOf(text: string, room: number): string {
    for (const grain of ["sentences", "words"] as const) {
      let tail = "";
      let left = room;
      for (const segment of [...segments(text, grain)].toReversed()) {
        left -= this.#count(segment);
        if (left < 0) break;
        tail = segment + tail;
      }
      if (tail) return tail;
    }
    return "";
  }
}

type CountTokens = (text: string) => number;

/** What goes into a chunk as a whole. `gap` is put between it and the next piece of the same chunk. */
interface Piece {
  readonly text: string;
  readonly gap: string;
  readonly tokens: number;
  readonly page: number | undefined;
  /** Running text, whose end may be repeated at the start of the next chunk. */
  readonly flows: boolean;
}

interface Wrapping {
  readonly head: string;
  readonly tail: string;
}

/** The block as one piece when it fits, otherwise cut as gently as possible. Lazy: a huge block is never held twice. */
function* splitBlock(block: Block, limit: number, count: CountTokens): Generator<Piece | Pause> {
  const tokens = countUpTo(limit, block.text, count);
  const flows = block.kind === "text";
  if (tokens <= limit) yield { text: block.text, gap: block.gap, tokens, page: block.page, flows };
  else if (block.kind === "table") yield* splitTable(block, limit, count);
  else if (block.kind === "code") yield* splitCode(block, limit, count);
  else yield* splitText(block.text, "sentences", { limit, count, gap: block.gap, page: block.page });
}

/** No tokenizer makes one token of so many characters, so a longer text is over the limit without being counted. */
const CHARACTERS_PER_TOKEN = 40;

function countUpTo(limit: number, text: string, count: CountTokens): number {
  return text.length > limit * CHARACTERS_PER_TOKEN ? Number.POSITIVE_INFINITY : count(text);
}

interface Cut {
  readonly limit: number;
  readonly count: CountTokens;
  /** The separator after the last piece. */
  readonly gap: string;
  readonly page: number | undefined;
}

function* splitText(text: string, grain: Grain, cut: Cut): Generator<Piece | Pause> {
  // A quarter of the limit: even at four tokens a character a run of them still fits.
  const run = Math.min(64, Math.max(1, Math.floor(cut.limit / 4)));
  let left = text.length;
  for (const segment of segmentSteps(text, grain, run)) {
    if (segment === undefined) {
      yield;
      continue;
    }
    left -= segment.length;
    const body = segment.trimEnd();
    if (!body) continue;
    const space = segment.slice(body.length);
    const gap = space === "" && left === 0 ? cut.gap : gapFor(space);
    const tokens = countUpTo(cut.limit, body, cut.count);
    const finer = FINER[grain];
    if (tokens > cut.limit && finer) yield* splitText(body, finer, { ...cut, gap });
    else yield { text: body, gap, tokens, page: cut.page, flows: true };
  }
}

function gapFor(space: string): string {
  if (space.includes("\n")) return "\n";
  return space ? " " : "";
}

/** Every part repeats the header row, so that its cells can still be read. */
function* splitTable(block: Block, limit: number, count: CountTokens): Generator<Piece | Pause> {
  const ruleEnd = lineEnd(block.text, lineEnd(block.text, 0) + 1);
  const head = `${block.text.slice(0, ruleEnd)}\n`;
  yield* splitLines(block, block.text.slice(ruleEnd + 1), { head, tail: "" }, { limit, count });
}

/** Every part is a fenced block of its own. */
function* splitCode(block: Block, limit: number, count: CountTokens): Generator<Piece | Pause> {
  const openEnd = lineEnd(block.text, 0);
  const opening = block.text.slice(0, openEnd);
  const fence = openingFence(opening, Number.POSITIVE_INFINITY);
  const closeStart = block.text.lastIndexOf("\n") + 1;
  const closed = fence !== undefined && closeStart > openEnd && closesFence(block.text.slice(closeStart), fence);
  const body = block.text.slice(openEnd + 1, closed ? Math.max(openEnd + 1, closeStart - 1) : undefined);
  const tail = fence ? `\n${fence.mark.repeat(fence.length)}` : "";
  yield* splitLines(block, body, { head: `${opening}\n`, tail }, { limit, count });
}

function* splitLines(
  block: Block,
  body: string,
  wrapping: Wrapping,
  { limit, count }: { limit: number; count: CountTokens },
): Generator<Piece | Pause> {
  const room = limit - countUpTo(limit, wrapping.head, count) - count(wrapping.tail);
  if (room < limit / 2) {
    // A wrapping this large would be most of every part: the block is cut like text instead.
    yield* splitText(block.text, "lines", { limit, count, gap: block.gap, page: block.page });
    return;
  }
  const wrap = (lines: string): Piece => {
    const text = `${wrapping.head}${lines}${wrapping.tail}`.trimEnd();
    return { text, gap: block.gap, tokens: count(text), page: block.page, flows: false };
  };
  let lines = "";
  let tokens = 0;
  let emptyHanded = true;
  for (const line of segmentsByLine(body)) {
    const lineTokens = countUpTo(room, line, count);
    if (lines && tokens + lineTokens > room) {
      yield wrap(lines.trimEnd());
      emptyHanded = false;
      lines = "";
      tokens = 0;
    }
    if (lineTokens > room) {
      if (emptyHanded) yield wrap("");
      emptyHanded = false;
      yield* splitText(line, "words", { limit, count, gap: "\n", page: block.page });
    } else {
      lines += line;
      tokens += lineTokens;
    }
  }
  if (lines || emptyHanded) yield wrap(lines.trimEnd());
}

/** Lines with their line feeds; unlike `segments`, indentation stays with the line it belongs to. */
function* segmentsByLine(body: string): Generator<string> {
  for (let start = 0; start < body.length; ) {
    const end = lineEnd(body, start) + 1;
    yield body.slice(start, end);
    start = end;
  }
}

/** The smallest things worth keeping whole: a paragraph, one list item, a table, a fenced code block. */
interface Block {
  readonly kind: "text" | "table" | "code";
  readonly text: string;
  /** Between this block and the next: a blank line, or just the end of the line (items of one list). */
  readonly gap: "\n" | "\n\n";
  /** The page it begins on, as far as marks in this text tell; undefined before the first one. */
  readonly page: number | undefined;
}

interface Span {
  readonly kind: Block["kind"];
  readonly end: number;
}

/** Cuts the content of a section into blocks, in order. Page marks are read, not returned. */
function* parseBlocks(content: string): Generator<Block | Pause> {
  let page: number | undefined;
  let read = 0;
  for (let start = 0; start < content.length; ) {
    read += 1;
    if (read % LINES_PER_PAUSE === 0) yield;
    const end = lineEnd(content, start);
    const marked = pageMark(linePrefix(content, start, end));
    if (marked !== undefined) page = marked;
    if (marked !== undefined || isBlank(content, start, end)) {
      start = end + 1;
      continue;
    }
    const span = yield* readBlock(content, start, end);
    const next = span.end + 1;
    const loose = next >= content.length || isBlank(content, next, lineEnd(content, next));
    yield { kind: span.kind, text: content.slice(start, span.end), gap: loose ? "\n\n" : "\n", page };
    start = next;
  }
}

/** Whether parseBlocks would find any. */
function hasBlock(content: string): boolean {
  for (let start = 0; start < content.length; ) {
    const end = lineEnd(content, start);
    if (pageMark(linePrefix(content, start, end)) === undefined && !isBlank(content, start, end)) return true;
    start = end + 1;
  }
  return false;
}

function* readBlock(content: string, start: number, end: number): Generator<Pause, Span> {
  if (opensFence(content, start, end)) return yield* readFence(content, start, end);
  return opensTable(content, start, end) ? yield* readTable(content, end) : yield* readText(content, end);
}

function* readFence(content: string, start: number, end: number): Generator<Pause, Span> {
  const fence = openingFence(content.slice(start, end), Number.POSITIVE_INFINITY);
  let read = 0;
  for (let at = end + 1; fence && at < content.length; ) {
    read += 1;
    if (read % LINES_PER_PAUSE === 0) yield;
    const lineStop = lineEnd(content, at);
    if (closesFence(content.slice(at, lineStop), fence)) return { kind: "code", end: lineStop };
    at = lineStop + 1;
  }
  return { kind: "code", end: content.length };
}

function* readTable(content: string, end: number): Generator<Pause, Span> {
  let last = end;
  let read = 0;
  for (let at = end + 1; at < content.length; ) {
    read += 1;
    if (read % LINES_PER_PAUSE === 0) yield;
    const lineStop = lineEnd(content, at);
    if (!content.slice(at, lineStop).includes("|")) break;
    last = lineStop;
    at = lineStop + 1;
  }
  return { kind: "table", end: last };
}

function* readText(content: string, firstEnd: number): Generator<Pause, Span> {
  let last = firstEnd;
  let read = 0;
  for (let at = firstEnd + 1; at < content.length; ) {
    read += 1;
    if (read % LINES_PER_PAUSE === 0) yield;
    const lineStop = lineEnd(content, at);
    if (isBlank(content, at, lineStop) || opensBlock(content, at, lineStop)) break;
    last = lineStop;
    at = lineStop + 1;
  }
  return { kind: "text", end: last };
}

function opensBlock(content: string, start: number, end: number): boolean {
  const prefix = linePrefix(content, start, end);
  return (
    startsListItem(prefix) ||
    pageMark(prefix) !== undefined ||
    opensFence(content, start, end) ||
    opensTable(content, start, end)
  );
}

function opensFence(content: string, start: number, end: number): boolean {
  if (!/^[ \t]*(?:```|~~~)/.test(linePrefix(content, start, end))) return false;
  return openingFence(content.slice(start, end), Number.POSITIVE_INFINITY) !== undefined;
}

function opensTable(content: string, start: number, end: number): boolean {
  const next = end + 1;
  if (next >= content.length) return false;
  const first = linePrefix(content, next, lineEnd(content, next)).trimStart()[0];
  if (first !== "|" && first !== ":" && first !== "-") return false;
  return isTableRule(content.slice(next, lineEnd(content, next))) && content.slice(start, end).includes("|");
}

/** How long chunks are, and how much of its predecessor each repeats. */
export interface Chunking {
  readonly maxTokens: number;
  readonly overlapTokens: number;
}

/** What the wire protocol calls `auto`. */
export const DEFAULT_CHUNKING: Chunking = { maxTokens: 800, overlapTokens: 400 };

/** As the column `chunking` of a document has it: `800/400`. */
export function chunkingKey({ maxTokens, overlapTokens }: Chunking): string {
  return `${maxTokens}/${overlapTokens}`;
}

export function parseChunkingKey(key: string): Chunking {
  const [maxTokens, overlapTokens] = key.split("/").map(Number);
  return { maxTokens: maxTokens ?? 0, overlapTokens: overlapTokens ?? 0 };
}

import type { Section } from "../../contracts/document.ts";
import { estimateTokens } from "./estimate-tokens.ts";
import { hasBlock, parseBlocks } from "./parse-blocks.ts";
import type { Pause } from "./pause.ts";
import { segments } from "./segments.ts";
import { type CountTokens, type Piece, splitBlock } from "./split-block.ts";

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
 * and bears the path of its largest section. Parents and children are never joined.
 */
export function chunkSections(root: Section, options: ChunkOptions): Chunk[] {
  return [...cutSections(root, options)].filter((chunk) => chunk !== undefined);
}

/** The same, one chunk after the other, with pauses. */
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

/** Otherwise no chunk would tell of it or of anything below it. */
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

  /** What was gathered before, when the piece does not fit in with it any more. */
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

import { closesFence, lineEnd, openingFence } from "./markdown-lines.ts";
import type { Block } from "./parse-blocks.ts";
import type { Pause } from "./pause.ts";
import { FINER, type Grain, segmentSteps } from "./segments.ts";

export type CountTokens = (text: string) => number;

/** What goes into a chunk as a whole. `gap` is put between it and the next piece of the same chunk. */
export interface Piece {
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
export function* splitBlock(block: Block, limit: number, count: CountTokens): Generator<Piece | Pause> {
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
  /** What follows the last piece. */
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

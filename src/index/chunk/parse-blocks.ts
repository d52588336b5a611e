import {
  closesFence,
  isBlank,
  isTableRule,
  lineEnd,
  linePrefix,
  openingFence,
  pageMark,
  startsListItem,
} from "./markdown-lines.ts";
import { LINES_PER_PAUSE, type Pause } from "./pause.ts";

/** The smallest things worth keeping whole: a paragraph, one list item, a table, a fenced code block. */
export interface Block {
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
export function* parseBlocks(content: string): Generator<Block | Pause> {
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
export function hasBlock(content: string): boolean {
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

/** A range of a text, as offsets. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A text with marked ranges: in order, not overlapping. */
export interface Marked {
  readonly text: string;
  readonly marks: readonly Span[];
}

/** A range of markup, which is left out or replaced. */
interface Markup extends Span {
  readonly instead?: string;
}

/** Returns a passage as plain text, without Markdown and template tags. The marks move along. */
export function withoutMarkup({ text, marks }: Marked): Marked {
  const signs: Markup[] = [];
  for (const sign of [...signsIn(text)].sort((a, b) => a.start - b.start)) {
    if (sign.start >= (signs.at(-1)?.end ?? 0)) signs.push(sign);
  }
  let plain = "";
  let at = 0;
  const moved = (offset: number): number =>
    signs.reduce((sum, { start, end, instead = "" }) => {
      if (offset <= start) return sum;
      return sum - (Math.min(offset, end) - start) + (offset >= end ? instead.length : 0);
    }, offset);
  for (const { start, end, instead = "" } of signs) {
    plain += text.slice(at, start) + instead;
    at = end;
  }
  const movedMarks = marks.map(({ start, end }) => ({ start: moved(start), end: moved(end) }));
  return { text: plain + text.slice(at), marks: movedMarks.filter(({ start, end }) => start < end) };
}

/** Inline markup; the first group is the text inside, which is shown. */
const AROUND: readonly RegExp[] = [
  /!?\[([^[\]\n]{0,300})\]\([^()\s]{0,2000}(?:\([^()\s]{0,300}\)[^()\s]{0,300}){0,3}(?:\s+"[^"\n]{0,300}")?\)/g,
  /<((?:https?:|mailto:)[^<>\s]+|[^<>@\s]{1,100}@[^<>\s]+)>/g,
  /\*\*([^\s*](?:[^\n]{0,500}?\S)?)\*\*/g,
  /~~([^\s~](?:[^\n]{0,500}?\S)?)~~/g,
  /(?<![\p{L}\p{N}*\\])\*([^\s*](?:[^*\n]{0,500}[^\s*\\])?)\*(?![\p{L}\p{N}*])/gu,
  /(?<![\p{L}\p{N}_\\])_([^\s_](?:[^_\n]{0,500}[^\s_\\])?)_(?![\p{L}\p{N}_])/gu,
  /(?<!`)`([^`\n]{1,500})`(?!`)/g,
];

/** Markup that is left out: template tags, `#` of headings, `>` of quotations, the backslash of escapes, table rules, blank lines. */
const ALONE: readonly RegExp[] = [
  /\{\{[<%][^{}]*[>%]\}\}|\{%[^{}]*%\}/g,
  /^#{1,6}[ \t]+/gm,
  /^(?:[ \t]{0,3}>)+[ \t]?/gm,
  /\\(?=[!-/:-@[-`{-~])/g,
  /^\|?[ \t]*:?-{3,}:?[ \t]*\|[-:| \t]*(?:\n|$)/gm,
  /(?<=\n)\n+/g,
];

/** Yields the bars of a table row: those between cells become a dot. */
function* cellSigns(line: string, from: number): Generator<Markup> {
  const last = line.trimEnd().length - 1;
  for (const { index, 0: bar } of line.matchAll(/[ \t]{0,99}(?<!\\)\|[ \t]*/g)) {
    const isEdge = index === 0 || index + bar.trimEnd().length > last;
    yield { start: from + index, end: from + index + bar.length, ...(isEdge ? {} : { instead: " · " }) };
  }
}

/** Yields all markup; ranges may overlap. Inside code there is none: `# comment` is no heading there. */
function* signsIn(text: string): Generator<Markup> {
  const fences = fencesIn(text);
  for (const { signs } of fences) yield* signs;
  const isCode = (at: number): boolean => fences.some(({ inside }) => at >= inside.start && at < inside.end);
  for (const sign of ALONE) {
    for (const { index, 0: found } of text.matchAll(sign)) {
      if (!isCode(index)) yield { start: index, end: index + found.length };
    }
  }
  for (const { index, 0: line } of text.matchAll(/^\|.*\|[ \t]*$/gm)) {
    if (!isCode(index)) yield* cellSigns(line, index);
  }
  for (const around of AROUND) {
    for (const { index, 0: found, 1: words = "" } of text.matchAll(around)) {
      const end = index + found.length;
      if (isCode(index) || isCode(end - 1)) continue;
      const from = found.indexOf(words, found.startsWith("!") ? 2 : 1);
      yield { start: index, end: index + from };
      yield { start: index + from + words.length, end };
    }
  }
}

interface Fence {
  readonly inside: Span;
  /** Its first and last line, with the backticks. */
  readonly signs: readonly Span[];
}

/** Returns the blocks of code. A passage may begin or end within one. */
function fencesIn(text: string): Fence[] {
  const lines = [...text.matchAll(/^ {0,3}(?:`{3,}|~{3,})[^`\n]*(?:\n|$)/gm)].map(({ index, 0: line }) => {
    return { start: index, end: index + line.length, isNamed: /[^`~\s]/.test(line) };
  });
  // With an odd number of fences, a first one without a language closes a block that began before the passage.
  const opening = lines.length % 2 === 1 && lines[0]?.isNamed === false ? [undefined, ...lines] : lines;
  return Array.from({ length: Math.ceil(opening.length / 2) }, (_, at) => {
    const [first, last] = [opening[at * 2], opening[at * 2 + 1]];
    const inside = { start: first?.end ?? 0, end: last?.start ?? text.length };
    return { inside, signs: [first, last].filter((line) => line !== undefined) };
  });
}

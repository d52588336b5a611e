import { plainText } from "../lib/text.ts";

/** Prints a result as JSON, or as lines for people. */
export function printResult<T>(result: T, isJson: boolean, format: (result: T) => readonly string[]): void {
  const lines = isJson ? [JSON.stringify(result, null, 2)] : format(result);
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

/** plainText for one line of a text, keeping its indentation. */
export function plainLine(text: string): string {
  return `${/^[ \t]*/.exec(text)?.[0] ?? ""}${plainText(text)}`;
}

/** Characters as people count them: a letter with its accents, a family emoji. */
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const INVISIBLE = /^[\p{M}\p{Cf}]+$/u;
/** Scripts and signs that take two columns on terminals. */
const WIDE =
  /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u3000-\u303e\u30fc\uff01-\uff60\uffe0-\uffe6]|\ufe0f/u;

/** Returns the columns that the text takes on a terminal. */
export function textWidth(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += columnsOf(segment);
  return width;
}

/** Returns the longest beginning of the text that fits into the columns. */
export function cutToWidth(text: string, columns: number): string {
  let width = 0;
  for (const { segment, index } of graphemes.segment(text)) {
    width += columnsOf(segment);
    if (width > columns) return text.slice(0, index);
  }
  return text;
}

function columnsOf(grapheme: string): number {
  if (WIDE.test(grapheme)) return 2;
  return INVISIBLE.test(grapheme) ? 0 : 1;
}

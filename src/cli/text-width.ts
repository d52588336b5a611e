/** Characters as people count them: a letter with its accents, a family emoji. */
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const INVISIBLE = /^[\p{M}\p{Cf}]+$/u;
/** Scripts and signs that terminals give two columns. */
const WIDE =
  /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Emoji_Presentation}\u3000-\u303e\u30fc\uff01-\uff60\uffe0-\uffe6]|\ufe0f/u;

/** Columns that the text takes on a terminal. */
export function textWidth(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += columnsOf(segment);
  return width;
}

/** The longest beginning of the text that takes no more than so many columns. */
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

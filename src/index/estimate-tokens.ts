/**
 * How many tokens characters cost in the tokenizers of current embedding models, by script: from where on, and how much.
 * Powers of two and their sums only, so that adding them up never rounds.
 */
const COSTS: readonly (readonly [from: number, tokens: number])[] = [
  [0x0000, 0.25], // blanks; what else ASCII has is set below
  [0x0080, 1], // accented Latin
  [0x0370, 1], // Greek
  [0x0400, 0.625], // Cyrillic
  [0x0530, 2], // Armenian
  [0x0590, 1], // Hebrew, Arabic
  [0x0700, 2],
  [0x0900, 1.25], // Devanagari
  [0x0980, 1.75], // the other scripts of India
  [0x0e00, 1], // Thai
  [0x0e80, 2], // Lao, Tibetan, Burmese, Georgian, Ethiopic, Khmer, …
  [0x1e00, 1], // Vietnamese, polytonic Greek
  [0x2000, 1], // punctuation, symbols
  [0x2c00, 2],
  [0x2e80, 1], // kana, ideographs
  [0xa000, 2],
  [0xac00, 1], // hangul
  [0xd7b0, 1], // halves of what lies beyond: emoji, rare ideographs
  [0xe000, 2],
  [0xf900, 1], // compatibility ideographs
  [0xfb00, 2],
  [0xff00, 1], // full-width forms
];
const LETTER = 0.25;
const DIGIT = 0.375;
const PUNCTUATION = 0.5;

const tokensOf = new Float32Array(0x10000);
for (const [at, [from, tokens]] of COSTS.entries()) tokensOf.fill(tokens, from, COSTS[at + 1]?.[0]);
tokensOf.fill(PUNCTUATION, 0x21, 0x7f);
tokensOf.fill(DIGIT, 0x30, 0x3a);
tokensOf.fill(LETTER, 0x41, 0x5b);
tokensOf.fill(LETTER, 0x61, 0x7b);

/** Additive and fractional: the parts of a text weigh exactly as much as the whole, however it is cut. */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (let at = 0; at < text.length; at += 1) tokens += tokensOf[text.charCodeAt(at)] ?? 0;
  return tokens;
}
